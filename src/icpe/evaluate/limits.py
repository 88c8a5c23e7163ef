"""What is the best that any explorer could do on a family, where it is known."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.checks import check_positive
from icpe.core.errors import (
    InvalidParameterError,
    OperatingPointError,
    UnsupportedError,
)
from icpe.core.family import AbstractTaskFamily, Limits
from icpe.core.likelihood import has_likelihood, resolved_outcomes
from icpe.core.simulate import reveals_something
from icpe.explorers.classical.served import has_arms, known_arms
from icpe.explorers.registry import families_that
from icpe.families.bandit.family import AbstractBandit
from icpe.families.bandit.varying import ArmNumbers, numbers_of_arms
from icpe.families.finite import AbstractFiniteFamily, bayes_optimum
from icpe.families.registry import family_name
from icpe.theory.divergences import kl_error_prob
from icpe.theory.fano import fano_mean_cost

_NOTHING_NEEDED = 0.5
"""From this error probability on, naming any arm is enough."""


def limits(
    family: AbstractTaskFamily,
    error_prob: float | None = None,
    *,
    price: float | None = None,
    seed: int = 0,
) -> Limits:
    """The exact optimum of a family and its named bounds (`docs/bounds.md`).

    `mean_queries` and `max_queries` are the fewest queries of an explorer that never
    errs, where they are known exactly, else None. Further keys are bounds whose names
    say what they hold for; those that begin with `correct_on_every_task` or
    `characteristic_time` do not hold for explorers that know the prior.

    Args:
        family: the family.
        error_prob: the error probability allowed, for the bounds that depend on it;
            they are left out without it.
        price: the price of a unit of cost, for the optimum at it; error_prob is None
            then.
        seed: for bounds that are averaged over tasks.

    Raises:
        OperatingPointError: error_prob does not lie strictly between 0 and 1, or a
            price is given beside it.
        InvalidParameterError: the price is not positive.
    """
    return limits_and_reason(family, error_prob, price=price, seed=seed)[0]


def limits_and_reason(
    family: AbstractTaskFamily,
    error_prob: float | None = None,
    *,
    price: float | None = None,
    seed: int = 0,
) -> tuple[Limits, str]:
    """The same, and in words why the exact optimum is not among them, if it is not."""
    _check_request(error_prob, price)
    optimum = bayes_optimum(family, error_prob=error_prob, price=price)
    known = family.known_limits(error_prob, key=jr.key(seed))
    found = {"mean_queries": None, "max_queries": None, **optimum.limits, **known}
    if error_prob is not None and not any(name.startswith("fano") for name in found):
        found |= _fano(family, error_prob)
    # Some families know their optimum without a dynamic program.
    is_known = any(name.startswith("bayes") for name in found)
    return found, "" if is_known or known.get("mean_queries") else optimum.reason


_LARGEST_TABLE = 2**24
_GRID_SLACK = 0.99
"""Cells of a grid may hide about a hundredth of what a continuous outcome tells."""


def _fano(family: AbstractTaskFamily, error_prob: float) -> Limits:
    """Fano's lower bound, where the law of outcomes is a table or fits a grid."""
    spec = family.spec
    if spec.may_end or reveals_something(family):
        return {}
    slack = 1.0
    if isinstance(family, AbstractFiniteFamily):
        model = family.finite_belief().model
        channels = np.exp(np.asarray(model.log_likelihood, float))
        weights = np.exp(np.asarray(model.log_prior, float))
        truths = np.asarray(model.hypotheses)
        prior = np.bincount(truths, weights, minlength=spec.num_hypotheses)
    elif has_likelihood(family):
        outcomes = resolved_outcomes(family)
        if outcomes is None:
            return {}
        channels = np.asarray(outcomes.probability, float)
        prior = np.exp(np.asarray(family.log_prior(), float))
        slack = _GRID_SLACK
    else:
        return {}
    if channels.size > _LARGEST_TABLE:
        return {}
    channels = channels / channels.sum(axis=2, keepdims=True)
    costs = np.asarray(spec.cost_array, float)
    bound = slack * fano_mean_cost(prior / prior.sum(), channels, costs, error_prob)
    name = "fano_mean_cost" if spec.costs else "fano_mean_queries"
    return {name: bound if np.isfinite(bound) else None}


def _check_request(error_prob: float | None, price: float | None) -> None:
    _check_error_prob(error_prob)
    if price is not None:
        check_positive("price", price)
        if error_prob is not None:
            raise OperatingPointError(
                f"error_prob {error_prob} and price {price} are two requests; give "
                "one of them."
            )


def is_every_task(name: str) -> bool:
    """Whether a bound holds only for methods that are correct on every task."""
    return name.startswith(("correct_on_every_task", "characteristic_time"))


@dataclasses.dataclass(frozen=True)
class InstanceLimits:
    """What one bandit of given means asks of methods that are correct on every one.

    A method that errs with probability at most `error_prob` on every bandit with such
    rewards makes on this one at least kl(delta, 1 - delta) T* queries on average, and
    `optimal_proportions` of queries attain this as delta falls (Garivier and Kaufmann
    2016, Theorem 1; for feedback graphs Russo, Song and Pacchiano 2025). Who knows
    more than the law of the rewards, such as a prior or a minimum gap, may need fewer.
    """

    means: tuple[float, ...]
    error_prob: float
    best: int
    characteristic_time: float
    correct_on_every_task_mean_queries: float
    optimal_proportions: tuple[float, ...]


def instance_limits(
    family: AbstractTaskFamily, means: Sequence[float], error_prob: float
) -> InstanceLimits:
    """T*, its optimal proportions and the lower bound, for arms of given means.

    The law of the rewards is the family's: its noise, batch or graph.

    Raises:
        UnsupportedError: the family has no arms of a known law.
        InvalidParameterError: the means do not fit the family, or two are the best.
        OperatingPointError: error_prob does not lie strictly between 0 and 1.
    """
    _check_error_prob(error_prob)
    arms = known_arms(family)
    if arms is None:
        raise UnsupportedError(
            f"means are given, but the family {family_name(family)!r} has no arms "
            f"whose rewards have a known law; those of "
            f"{', '.join(families_that(has_arms))} have one."
        )
    assert isinstance(family, AbstractBandit)
    _check_number(family, len(means), arms.num_arms)
    family.check_means(means)
    best = int(np.argmax(means))
    for arm, mean in enumerate(means):
        if arm != best and mean == means[best]:
            raise InvalidParameterError(
                f"means must have one largest; arms {best} and {arm} both have "
                f"{mean:g}, and no number of queries tells which is best."
            )
    with jax.enable_x64(True):
        found = arms.characteristic_time(jnp.asarray(means, jnp.float64))
        factor = kl_error_prob(min(error_prob, _NOTHING_NEEDED))
        time, factor = float(found.time), float(factor)
        proportions = np.asarray(found.proportions, float).tolist()
    return InstanceLimits(
        means=tuple(map(float, means)),
        error_prob=error_prob,
        best=best,
        characteristic_time=time,
        correct_on_every_task_mean_queries=factor * time,
        optimal_proportions=tuple(proportions),
    )


def _check_number(family: AbstractBandit, number: int, num_arms: int) -> None:
    allowed = range(num_arms, num_arms + 1)
    if isinstance(family, ArmNumbers):
        allowed = numbers_of_arms(family)
    if number not in allowed:
        words = " to ".join(map(str, sorted({allowed[0], allowed[-1]})))
        raise InvalidParameterError(
            f"means must be {words} numbers, one for each arm; got {number}."
        )


def _check_error_prob(error_prob: float | None) -> None:
    if error_prob is not None and not 0.0 < error_prob < 1.0:
        raise OperatingPointError(
            f"error_prob must lie strictly between 0 and 1; got {error_prob}."
        )
