"""What is the best that any explorer could do on a family, where it is known."""

from collections.abc import Callable
from typing import Any

from icpe.exceptions import OperatingPointError
from icpe.tasks.bandits import DeterministicBandit
from icpe.tasks.base import AbstractTaskFamily
from icpe.tasks.search import BinarySearch
from icpe.theory.binary_search import search_optimum

Limits = dict[str, float | int | None]


def limits(family: AbstractTaskFamily, error_prob: float | None = None) -> Limits:
    """The exact optimum of a family and its named bounds.

    `mean_queries` and `max_queries` are the fewest queries of an explorer that never
    errs, where a dynamic program gives them exactly, else None. Further keys are
    bounds whose names say what they hold for.

    Args:
        family: the family.
        error_prob: the error probability allowed, for the bounds that depend on it;
            they are left out without it.

    Raises:
        OperatingPointError: error_prob does not lie strictly between 0 and 1.
    """
    if error_prob is not None and not 0.0 < error_prob < 1.0:
        raise OperatingPointError(
            f"error_prob must lie strictly between 0 and 1; got {error_prob}."
        )
    known = _LIMITS.get(type(family), _unknown)
    return {"mean_queries": None, "max_queries": None, **known(family, error_prob)}


def register_limits(
    family_class: type[AbstractTaskFamily],
    function: Callable[[Any, float | None], Limits],
) -> None:
    """Makes `function(family, error_prob)` the limits of all families of a class."""
    _LIMITS[family_class] = function


def _unknown(family: AbstractTaskFamily, error_prob: float | None) -> Limits:
    return {}


def _binary_search(family: BinarySearch, error_prob: float | None) -> Limits:
    optimum = search_optimum(family.size)
    return {
        "mean_queries": optimum.mean_queries,
        "max_queries": optimum.max_queries,
    }


def _deterministic_bandit(
    family: DeterministicBandit, error_prob: float | None
) -> Limits:
    """An arm that was never tried may be the best, so all of them must be."""
    return {"zero_error_queries": family.num_arms}


_LIMITS: dict[type[AbstractTaskFamily], Callable[[Any, float | None], Limits]] = {
    BinarySearch: _binary_search,
    DeterministicBandit: _deterministic_bandit,
}
