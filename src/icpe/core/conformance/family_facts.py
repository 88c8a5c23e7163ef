"""What a family says about itself must be what its simulator does."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from icpe.core.conformance import compare
from icpe.core.conformance.calibration import check_belief, check_outcomes
from icpe.core.conformance.episodes import Episodes
from icpe.core.errors import ConformanceError, UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.likelihood import bare_belief, has_likelihood
from icpe.core.simulate import distinct_outcomes, first_answers

_NUM_TASKS = 4096
_LARGEST_DEVIATION = 6.0
"""Standard deviations of a frequency: the false alarm of one hypothesis is 2e-9."""
_SLACK = 1e-3


def check_facts(family: AbstractTaskFamily, episodes: Episodes) -> None:
    """Raises ConformanceError where the spec or a fact disagrees with episodes."""
    spec = family.spec
    first_outcomes = episodes.outcomes[:, 0]
    if spec.reveals is False and np.any(first_outcomes):
        raise ConformanceError(
            "reset reveals something although spec.reveals is False; set reveals=True "
            "in the spec, or return zeros at reset."
        )
    if spec.may_end is False and np.any(episodes.terminated):
        raise ConformanceError(
            "the family ends an episode although spec.may_end is False; set "
            "may_end=True in the spec."
        )
    _check_masks(family, episodes)
    if has_likelihood(family):
        _check_likelihood(family)


def _check_masks(family: AbstractTaskFamily, episodes: Episodes) -> None:
    """The masks that follow from histories are those that the simulator gave."""
    for i in range(len(episodes.queries)):
        for length in range(episodes.queries.shape[1] + 1):
            if np.any(episodes.terminated[i, : length + 1]):
                break
            history = _history(episodes, i, length)
            if _called("contradicts", family.contradicts, history):
                raise ConformanceError(
                    "contradicts says that outcomes of the simulator are impossible; "
                    "let it be False for all that a task can give."
                )
            first = history.outcomes[0]
            mask = _called("query_mask", family.query_mask, first, history)
            if mask is None:
                continue
            if not np.array_equal(np.asarray(mask), episodes.masks[i, length]):
                raise ConformanceError(
                    f"query_mask(first_outcome, history) is {np.asarray(mask).tolist()}"
                    f" after {length} queries, and {'step' if length else 'reset'} "
                    f"returned {episodes.masks[i, length].tolist()}; make them equal."
                )


def _called(name: str, method: Callable, *arguments: Any) -> Any:
    try:
        return method(*arguments)
    except Exception as error:
        raise ConformanceError(
            f"{name} raised {compare.in_short(error)} on an episode so far; let it "
            "serve every history, of no queries too."
        ) from error


def _history(episodes: Episodes, number: int, length: int) -> History:
    return History(
        jnp.asarray(episodes.queries[number, :length]),
        jnp.asarray(episodes.outcomes[number, : length + 1]),
        jnp.asarray(length, jnp.int32),
    )


def _check_shape(family: AbstractTaskFamily) -> None:
    """The likelihood of one outcome is one number."""
    number = jax.ShapeDtypeStruct((), jnp.int32)
    outcome = jax.ShapeDtypeStruct((family.spec.outcome_size,), jnp.float32)
    found = compare.trace(
        "log_likelihood", family.log_likelihood, number, number, outcome
    )
    is_number = getattr(found, "shape", None) == ()
    if not is_number or not jnp.issubdtype(found.dtype, jnp.floating):
        raise ConformanceError(
            f"log_likelihood returns {compare.layout(found)}; return one float, for "
            "example of outcome[0] in place of outcome."
        )


def _check_likelihood(family: AbstractTaskFamily) -> None:
    """The prior fits the tasks, and the likelihood the outcomes."""
    spec = family.spec
    _check_shape(family)
    answers = first_answers(family, _NUM_TASKS)
    hypotheses = np.asarray(answers.hypothesis)
    prior = np.exp(np.asarray(family.log_prior(), float))
    if prior.shape != (spec.num_hypotheses,) or not abs(prior.sum() - 1.0) <= 1e-3:
        raise ConformanceError(
            f"log_prior gives numbers of shape {prior.shape} whose exponentials sum to "
            f"{prior.sum():.4g}; return the logarithms of {spec.num_hypotheses} "
            "probabilities."
        )
    counts = np.bincount(hypotheses, minlength=spec.num_hypotheses)
    error = np.sqrt(_NUM_TASKS * prior * (1.0 - prior)) + 1.0
    worst = int(np.argmax(np.abs(counts - _NUM_TASKS * prior) / error))
    if (
        abs(counts[worst] - _NUM_TASKS * prior[worst])
        > _LARGEST_DEVIATION * error[worst]
    ):
        raise ConformanceError(
            f"hypothesis {worst} was true in {counts[worst]} of {_NUM_TASKS} tasks and "
            f"log_prior says {prior[worst]:.4g}; define log_prior as sample_task draws."
        )
    outcomes = answers.outcomes[:, 0]
    queries = jnp.arange(spec.num_queries, dtype=jnp.int32)
    of_task = jax.vmap(family.log_likelihood, in_axes=(None, 0, 0))
    every = jax.vmap(of_task, in_axes=(0, None, 0))
    logs = np.asarray(every(answers.hypothesis, queries, outcomes))
    if not np.all(np.isfinite(logs)):
        raise ConformanceError(
            "log_likelihood of an outcome that happened is infinite or NaN; give every "
            "possible outcome a positive probability."
        )
    if distinct_outcomes(np.asarray(outcomes)) is not None:
        if logs.max() > _SLACK:
            raise ConformanceError(
                f"log_likelihood gives one of few outcomes {logs.max():.3g}, which is "
                "no logarithm of a probability; return numbers up to 0, by jnp.log."
            )
        flat = np.asarray(outcomes).reshape(-1, spec.outcome_size)
        kinds = np.unique(flat, axis=0, return_inverse=True)[1].reshape(logs.shape)
        check_outcomes(hypotheses, kinds, logs)


def check_beliefs(family: AbstractTaskFamily) -> None:
    """The posteriors by the likelihood, and by a belief of its own, are the true ones.

    Not where the family ends episodes, or forbids queries by more than the history
    shows: both may tell something that no outcome does.
    """
    spec = family.spec
    first = jnp.zeros(spec.outcome_size)
    start = History(jnp.zeros(0, jnp.int32), first[None], jnp.asarray(0, jnp.int32))
    if spec.masks_queries and family.query_mask(first, start) is None:
        return
    if has_likelihood(family):
        check_belief(family, bare_belief(family), "log_likelihood")
    try:
        belief = family.exact_belief()
    except UnsupportedError:  # not with these parameters
        return
    if belief is not None:
        check_belief(family, belief, "exact_belief")
