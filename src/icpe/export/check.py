"""Whether an exported step does what the original does."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.errors import DataError, IcpeError, UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.spec import TaskSpec
from icpe.export.step import Step
from icpe.export.told import NOTHING

_CLOSE = 1e-4
"""How far posteriors may be apart; conversion errors are far larger."""
_STEPS = 4


History = list[list[np.ndarray]]
"""What is told to the steps of one episode: the values of `INPUTS` of each."""


def check_same(step: Step, model: bytes, histories: Sequence[History]) -> None:
    """Compares an exported step with the original on a few histories.

    Raises:
        UnsupportedError: they differ, or the runtime does not run it.
    """
    try:
        _compare_histories(step, model, histories)
    except IcpeError:
        raise
    except Exception as error:  # whatever the runtime has to complain about
        problem = " ".join(str(error).split())[:200] or type(error).__name__
        raise UnsupportedError(
            "This explorer cannot be exported, since onnxruntime does not run its "
            f"step: {problem.rstrip('.')}."
        ) from error


def _compare_histories(step: Step, model: bytes, histories: Sequence[History]) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    providers = ["CPUExecutionProvider"]
    runtime = onnxruntime.InferenceSession(model, options, providers=providers)
    original = jax.jit(step.function)
    number = len(step.output_names) - len(step.start)
    masks: list[Any] = []
    if step.reads_mask:
        masks = [np.ones(step.num_queries, bool), np.array(False)]
    for history in histories:
        state: list[Any] = list(step.start)
        other: list[Any] = list(step.start)
        for told in history:
            fed = dict(zip(step.input_names, [*told, *masks, *state], strict=True))
            found: list[Any] = list(runtime.run(None, fed))
            wanted = original(*told, *masks, *other)
            _compare(step, found, wanted)
            state, other = found[number:], wanted[number:]


def _compare(step: Step, found, wanted) -> None:
    worst = np.max(np.abs(np.exp(found[0]) - np.exp(np.asarray(wanted[0]))))
    if not worst <= _CLOSE:
        raise UnsupportedError(
            "This explorer cannot be exported, since its posterior would differ by "
            f"{worst:.2g} from the original's."
        )
    if step.gives_mask and not np.array_equal(found[3], wanted[3]):
        raise UnsupportedError(
            "This explorer cannot be exported, since other queries would be allowed "
            "than the family allows."
        )


def histories_of(family: AbstractTaskFamily) -> list[History]:
    """Queries at random, at a price and at a budget."""
    spec = family.spec
    length = min(_STEPS, spec.horizon)
    found = []
    for number, price in enumerate((0.01, 0.0)):
        draw = np.random.default_rng(number)
        try:
            told = _played(family.with_data(), draw, number)
        except DataError:
            told = _made_up(spec, draw)
        asked = (np.array(price, np.float32), np.array(length, np.int32))
        steps = [
            [np.array(query, np.int32), outcome, *asked, np.array(i, np.int32)]
            for i, (query, outcome) in enumerate(told)
        ]
        found.append(steps)
    return found


def _played(
    family: AbstractTaskFamily, draw: np.random.Generator, seed: int
) -> list[tuple[int, np.ndarray]]:
    """A task of the family, with allowed queries at random."""
    spec = family.spec
    task_key, *keys = jr.split(jr.key(seed), 2 + min(_STEPS, spec.horizon))
    task = family.sample_task(key=task_key)
    now = family.reset(task, key=keys[0])
    told = [(NOTHING, np.asarray(now.outcome, np.float32))]
    asked = np.zeros(spec.num_queries, bool)
    for key in keys[1:]:
        allowed = np.flatnonzero(np.asarray(now.query_mask) & ~asked)
        if now.terminated or not len(allowed):
            break
        query = int(draw.choice(allowed))
        now = family.step(now.state, jnp.asarray(query, jnp.int32), task, key=key)
        told.append((query, np.asarray(now.outcome, np.float32)))
        asked[query] = spec.ask_once
    return told


def _made_up(spec: TaskSpec, draw: np.random.Generator) -> list[tuple[int, np.ndarray]]:
    """Outcomes that could be, where the data of the family is not here."""
    length = min(_STEPS, spec.horizon)
    queries = [NOTHING, *draw.integers(spec.num_queries, size=length).tolist()]
    return [(query, _outcome(spec, query, draw)) for query in queries]


def _outcome(spec: TaskSpec, query: int, draw: np.random.Generator) -> np.ndarray:
    labels = spec.labels(max(int(query), 0))
    if labels:
        _, value = labels[draw.integers(len(labels))]
        return np.array(value, np.float32)
    size = spec.outcome_size
    outcome = np.array(spec.outcome_shift or 0.0) + draw.normal(size=size) * (
        np.array(spec.outcome_scale or 1.0)
    )
    if spec.outcome_flags:
        outcome[size // 2 :] = draw.integers(2, size=size // 2)
    return outcome.astype(np.float32)
