"""Whether an exported step does what the original does."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from icpe.core.errors import IcpeError, UnsupportedError
from icpe.core.spec import TaskSpec
from icpe.export.step import Step

_CLOSE = 1e-4
"""How far posteriors may be apart; conversion errors are far larger."""
_STEPS = 4


def check_same(step: Step, model: bytes, spec: TaskSpec) -> None:
    """Compares an exported step with the original on made-up histories.

    Raises:
        UnsupportedError: they differ, or the runtime does not run it.
    """
    try:
        _compare_histories(step, model, spec)
    except IcpeError:
        raise
    except Exception as error:  # whatever the runtime has to complain about
        problem = " ".join(str(error).split())[:200] or type(error).__name__
        raise UnsupportedError(
            "This explorer cannot be exported, since onnxruntime does not run its "
            f"step: {problem.rstrip('.')}."
        ) from error


def _compare_histories(step: Step, model: bytes, spec: TaskSpec) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    providers = ["CPUExecutionProvider"]
    runtime = onnxruntime.InferenceSession(model, options, providers=providers)
    original = jax.jit(step.function)
    number = len(step.output_names) - len(step.start)
    for history in _histories(spec):
        state: list[Any] = list(step.start)
        other: list[Any] = list(step.start)
        for told in history:
            fed = dict(zip(step.input_names, [*told, *state], strict=True))
            found: list[Any] = list(runtime.run(None, fed))
            wanted = original(*told, *other)
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


def _histories(spec: TaskSpec) -> Iterator[list[list[np.ndarray]]]:
    """Queries at random with outcomes that could be, at a price and at a budget."""
    length = min(_STEPS, spec.horizon)
    for price in (0.01, 0.0):
        draw = np.random.default_rng(0 if price else 1)
        queries = [-1, *draw.integers(spec.num_queries, size=length).tolist()]
        yield [
            [
                np.array(query, np.int32),
                _outcome(spec, query, draw),
                np.array(price, np.float32),
                np.array(length, np.int32),
                np.array(position, np.int32),
            ]
            for position, query in enumerate(queries)
        ]


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
