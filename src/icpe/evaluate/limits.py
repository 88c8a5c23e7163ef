"""What is the best that any explorer could do on a family, where it is known."""

from collections.abc import Callable

import jax.random as jr
import numpy as np

from icpe.core.arrays import PRNGKey
from icpe.core.errors import OperatingPointError
from icpe.core.family import AbstractTaskFamily
from icpe.evaluate.every_task import (
    bernoulli_bounds,
    feedback_graph_bounds,
    gaussian_bounds,
    magic_action_bounds,
)
from icpe.families.bandits import DeterministicBandit, GaussianBandit, numbers_of_arms
from icpe.families.bernoulli_bandit import BernoulliBandit
from icpe.families.feedback_graph.law import FeedbackGraph
from icpe.families.magic_action.law import MagicAction
from icpe.families.magic_chain.law import MagicChain
from icpe.families.search import BinarySearch, NoisyBinarySearch
from icpe.families.shifted_gaussian_bandit import ShiftedGaussianBandit
from icpe.families.two_pull_bandit import TwoPullBandit
from icpe.theory.binary_search import search_optimum
from icpe.theory.frontier import Frontier
from icpe.theory.information_directed import two_pull_queries_without_arm_zero
from icpe.theory.magic_chain import magic_chain_bound, magic_chain_zero_error
from icpe.theory.magic_chain_frontier import magic_chain_frontier
from icpe.theory.noisy_search import noisy_search_least_queries

Limits = dict[str, float | int | None]

_MOST_CHAIN_ARMS = 24
"""The dynamic program of a longer chain takes too long for a table."""


def limits(
    family: AbstractTaskFamily, error_prob: float | None = None, *, seed: int = 0
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
        seed: for bounds that are averaged over tasks.

    Raises:
        OperatingPointError: error_prob does not lie strictly between 0 and 1.
    """
    if error_prob is not None and not 0.0 < error_prob < 1.0:
        raise OperatingPointError(
            f"error_prob must lie strictly between 0 and 1; got {error_prob}."
        )
    known = _LIMITS.get(type(family), _unknown)(family, error_prob, key=jr.key(seed))
    return {"mean_queries": None, "max_queries": None, **known}


def register_limits(
    family_class: type[AbstractTaskFamily], function: Callable[..., Limits]
) -> None:
    """Makes `function(family, error_prob, key=key)` the limits of a class of families.

    The key is for what it averages over tasks.
    """
    _LIMITS[family_class] = function


def is_every_task(name: str) -> bool:
    """Whether a bound holds only for methods that are correct on every task."""
    return name.startswith(("correct_on_every_task", "characteristic_time"))


def _unknown(
    family: AbstractTaskFamily, error_prob: float | None, *, key: PRNGKey
) -> Limits:
    return {}


def _binary_search(
    family: BinarySearch, error_prob: float | None, *, key: PRNGKey
) -> Limits:
    return _search_optimum(family.size)


def _noisy_binary_search(
    family: NoisyBinarySearch, error_prob: float | None, *, key: PRNGKey
) -> Limits:
    """Without noise the optimum; with it, what Fano's inequality says."""
    known = {} if family.noise else _search_optimum(family.size)
    if error_prob is not None:
        least = noisy_search_least_queries(family.size, family.noise, error_prob)
        known["fano_mean_queries"] = least
    return known


def _search_optimum(size: int) -> Limits:
    optimum = search_optimum(size)
    return {
        "mean_queries": optimum.mean_queries,
        "max_queries": optimum.max_queries,
    }


def _deterministic_bandit(
    family: DeterministicBandit, error_prob: float | None, *, key: PRNGKey
) -> Limits:
    """An arm that was never tried may be the best, so all of them must be."""
    numbers = numbers_of_arms(family)
    return {"mean_queries": float(np.mean(numbers)), "max_queries": numbers[-1]}


def _magic_action(
    family: MagicAction, error_prob: float | None, *, key: PRNGKey
) -> Limits:
    """Exact at both ends: a clear pointer, or clear means behind a noisy one."""
    noises = {family.magic_noise}
    if family.vary_noise:
        noises = {family.lowest_noise, family.highest_noise}
    exact: Limits = {}
    if noises == {0.0}:
        exact = _always(1)
    elif noises == {1.0}:
        exact = _always(family.num_arms - 1)
    return exact | magic_action_bounds(family, error_prob, key=key)


def _magic_chain(
    family: MagicChain, error_prob: float | None, *, key: PRNGKey
) -> Limits:
    """Both optima of the chain without noise, averaged over its length if it varies."""
    if family.noise:
        return {}
    lengths = [family.num_magic]
    if family.vary_magic:
        most = family.most_magic or family.num_arms - 1
        lengths = list(range(family.fewest_magic, most + 1))
    size = family.num_arms
    known: Limits = {
        "mean_queries": _average(magic_chain_zero_error, size, lengths),
        "paper_expression": _average(magic_chain_bound, size, lengths),
    }
    if error_prob is not None and size <= _MOST_CHAIN_ARMS:
        frontier = _chain_frontier(size, lengths)
        known["bayes_mean_queries"] = frontier.mean_cost_at(1.0 - error_prob)
    return known


def _average(function, size: int, lengths: list[int]) -> float:
    return float(np.mean([function(size, length) for length in lengths]))


def _chain_frontier(size: int, lengths: list[int]) -> Frontier:
    """The Bayes optimum of a known length, averaged at equal price."""
    prices = np.append(np.geomspace(1.0, 1e-4, 96), 1e-9)
    each = [magic_chain_frontier(size, length, prices) for length in lengths]
    return Frontier(
        prices=prices,
        mean_cost=np.mean([one.mean_cost for one in each], axis=0),
        accuracy=np.mean([one.accuracy for one in each], axis=0),
    )


def _two_pull_bandit(
    family: TwoPullBandit, error_prob: float | None, *, key: PRNGKey
) -> Limits:
    """Two pulls of arm 0; and what is needed without any."""
    known = _always(2)
    if error_prob is not None:
        known["without_arm_zero_mean_queries"] = two_pull_queries_without_arm_zero(
            family.num_arms, error_prob, family.noise
        )
    return known


def _always(queries: int) -> Limits:
    return {"mean_queries": float(queries), "max_queries": queries}


_LIMITS: dict[type[AbstractTaskFamily], Callable[..., Limits]] = {
    BernoulliBandit: bernoulli_bounds,
    BinarySearch: _binary_search,
    DeterministicBandit: _deterministic_bandit,
    FeedbackGraph: feedback_graph_bounds,
    GaussianBandit: gaussian_bounds,
    MagicAction: _magic_action,
    MagicChain: _magic_chain,
    NoisyBinarySearch: _noisy_binary_search,
    ShiftedGaussianBandit: gaussian_bounds,
    TwoPullBandit: _two_pull_bandit,
}
