"""What a family says about itself must be what its simulator does."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.conformance.episodes import Episodes
from icpe.core.errors import ConformanceError
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.likelihood import has_likelihood
from icpe.core.simulate import first_answers

_NUM_TASKS = 4096
_LARGEST_DEVIATION = 6.0
"""Standard deviations of a frequency: the false alarm of one hypothesis is 2e-9."""


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
            history = History(
                jnp.asarray(episodes.queries[i, :length]),
                jnp.asarray(episodes.outcomes[i, : length + 1]),
                jnp.asarray(length, jnp.int32),
            )
            if family.contradicts(history):
                raise ConformanceError(
                    "contradicts says that outcomes of the simulator are impossible; "
                    "let it be False for all that a task can give."
                )
            mask = family.query_mask(history.outcomes[0], history)
            if mask is None:
                continue
            if np.any(np.asarray(mask) != episodes.masks[i, length]):
                raise ConformanceError(
                    "query_mask(first_outcome, history) is not the mask that step "
                    "returned; make them equal."
                )


def _check_likelihood(family: AbstractTaskFamily) -> None:
    """The prior fits the tasks, and what happened was possible."""
    spec = family.spec
    answers = first_answers(family, _NUM_TASKS)
    hypotheses = np.asarray(answers.hypothesis)
    prior = np.exp(np.asarray(family.log_prior(), float))
    if prior.shape != (spec.num_hypotheses,) or abs(prior.sum() - 1.0) > 1e-3:
        raise ConformanceError(
            f"log_prior must be {spec.num_hypotheses} log-probabilities; their sum is "
            f"{prior.sum():.4g}."
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
    queries = jr.randint(jr.key(0), (_NUM_TASKS,), 0, spec.num_queries)
    outcomes = answers.outcomes[:, 0][jnp.arange(_NUM_TASKS), queries]
    logs = jax.vmap(family.log_likelihood)(answers.hypothesis, queries, outcomes)
    if not np.all(np.isfinite(np.asarray(logs))):
        raise ConformanceError(
            "log_likelihood of an outcome that happened is infinite or NaN; give every "
            "possible outcome a positive probability."
        )
