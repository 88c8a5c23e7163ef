"""Checks of single values; each complaint is one sentence."""

import numbers
from collections.abc import Sequence
from typing import Any

from icpe.core.errors import InvalidParameterError

_LARGEST_SEED = 2**32 - 1
_MOST_EPISODES = 2**31 - 1


def is_whole(value: Any) -> bool:
    """Whether it is a whole number; neither a truth value nor 2.0 is one."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_seed(name: str, seed: Any) -> None:
    """Raises one sentence unless the seed is a 32-bit unsigned number."""
    if not is_whole(seed):
        raise InvalidParameterError(
            f"{name} must be a whole number from 0 to {_LARGEST_SEED}; got {seed!r}."
        )
    check_between(name, seed, 0, _LARGEST_SEED)


def check_num_episodes(name: str, number: int, fewest: int = 1) -> None:
    """Raises one sentence unless so many episodes can be numbered by 32 bits."""
    check_at_least(name, number, fewest)
    if not number <= _MOST_EPISODES:
        raise InvalidParameterError(
            f"{name} must be at most {_MOST_EPISODES}; got {number}."
        )


def check_at_least(name: str, value: float, lowest: float) -> None:
    """Raises one sentence unless `value >= lowest` (NaN fails)."""
    if not value >= lowest:
        raise InvalidParameterError(f"{name} must be at least {lowest}; got {value}.")


def check_positive(name: str, value: float) -> None:
    """Raises one sentence unless `0 < value < inf` (NaN fails)."""
    if not 0.0 < value < float("inf"):
        raise InvalidParameterError(
            f"{name} must be a positive finite number; got {value}."
        )


def check_one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    """Checks that a named value is one of a few words.

    Raises:
        InvalidParameterError: it is not.
    """
    if value not in allowed:
        words = ", ".join(map(repr, allowed))
        raise InvalidParameterError(f"{name} must be one of {words}; got {value!r}.")


def check_between(name: str, value: float, lowest: float, highest: float) -> None:
    """Raises one sentence unless `lowest <= value <= highest` (NaN fails)."""
    if not lowest <= value <= highest:
        raise InvalidParameterError(
            f"{name} must be between {lowest} and {highest}; got {value}."
        )


def check_share_of_rows(name: str, share: float) -> None:
    """Raises one sentence unless `0 <= share < 1` (NaN fails)."""
    if not 0.0 <= share < 1.0:
        raise InvalidParameterError(
            f"{name} must be a share of the rows, at least 0 and below 1; got {share}."
        )


def check_within(
    name: str,
    value: Any,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    positive: bool = False,
    one_of: Sequence[str] | None = None,
) -> None:
    """Raises one sentence unless the value lies where those given say (NaN fails)."""
    if one_of is not None:
        check_one_of(name, value, one_of)
    elif positive:
        check_positive(name, value)
    elif at_least is not None and at_most is not None:
        check_between(name, value, at_least, at_most)
    elif at_least is not None:
        check_at_least(name, value, at_least)


def check_confidence(confidence: float, name: str = "confidence") -> None:
    """Raises one sentence unless the confidence lies strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise InvalidParameterError(
            f"{name} must lie strictly between 0 and 1; got {confidence}."
        )
