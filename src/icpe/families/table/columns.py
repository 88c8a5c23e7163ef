"""Answers about the features of a table: numbers, words, or nothing at all."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icpe.core.answers import AbstractAnswers
from icpe.core.errors import InvalidOutcomeError, suggesting

MISSING = -1e30
"""The outcome of a feature whose value is not known; no measurement is that small."""
OTHER = "(other)"
"""The level of all values of a column that are rare, or that were never seen."""
_NOTHING = ("", "missing", "unknown", "na", "n/a", "nan", "none", "?")
_MOST_LISTED = 12


class TableAnswers(AbstractAnswers):
    """Reads what is measured of a case, in the words and units of the table.

    Args:
        features: the names of the features.
        levels: the words that each feature can be, none for a number; level i is the
            number i + 1.
        groups: the features that each query reveals.
        size: numbers in an outcome.
    """

    def __init__(
        self,
        features: Sequence[str],
        levels: Sequence[Sequence[str]],
        groups: Sequence[Sequence[int]],
        size: int,
    ):
        self._features, self._levels = tuple(features), tuple(levels)
        self._groups, self._size = tuple(groups), size

    def read(self, query: int, answer: Any) -> tuple[float, ...]:
        """One value, or a value for each feature of a group, by name or in order.

        An array of the family's own numbers, such as the outcome in the history of a
        session, is taken as it is.
        """
        if isinstance(answer, np.ndarray) and answer.shape == (self._size,):
            return tuple(map(float, answer))
        members = self._groups[query]
        values = [
            self._value(feature, value)
            for feature, value in zip(
                members, self._apart(members, answer), strict=True
            )
        ]
        return (*values, *(0.0,) * (self._size - len(values)))

    def hint(self, query: int) -> str:
        members = self._groups[query]
        parts = [self._hint(feature) for feature in members]
        if len(members) == 1:
            return f"{parts[0]}; leave it empty if it is not known"
        named = (
            f"{self._features[feature]}: {part}"
            for feature, part in zip(members, parts, strict=True)
        )
        return f"{'; '.join(named)}; with commas between, empty if it is not known"

    def words(self, query: int, outcome: Any) -> str:
        members = self._groups[query]
        shown = [
            self._word(feature, float(value))
            for feature, value in zip(members, outcome, strict=False)
        ]
        if len(members) == 1:
            return shown[0]
        named = zip((self._features[it] for it in members), shown, strict=True)
        return ", ".join(f"{name} {word}" for name, word in named)

    def _apart(self, members: Sequence[int], answer: Any) -> list[Any]:
        """The values of the features of a query, in their order."""
        names = [self._features[feature] for feature in members]
        if isinstance(answer, Mapping):
            for name in answer:
                if name not in names:
                    raise InvalidOutcomeError(
                        suggesting(
                            f"There is no {name!r} to be told here",
                            str(name),
                            names,
                            f"tell {', '.join(names)}.",
                        )
                    )
            return [answer.get(name) for name in names]
        if len(members) == 1:
            several = isinstance(answer, Sequence | np.ndarray)
            if several and not isinstance(answer, str) and len(answer) == 1:
                return [answer[0]]
            return [answer]
        if isinstance(answer, str):
            answer = [part.strip() for part in answer.split(",")]
        try:
            given = list(answer)
        except TypeError:
            given = [answer]
        if len(given) != len(names):
            raise InvalidOutcomeError(
                f"Please give {len(names)} values, for {', '.join(names)}; got "
                f"{answer!r}."
            )
        return given

    def _value(self, feature: int, value: Any) -> float:
        if is_missing(value):
            return MISSING
        if self._levels[feature]:
            return float(self._level(feature, value))
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.inf
        if not abs(number) < -MISSING:
            raise InvalidOutcomeError(
                f"{self._features[feature]} must be a number, or empty if it is not "
                f"known; got {value!r}."
            )
        return number

    def _level(self, feature: int, value: Any) -> int:
        levels = self._levels[feature]
        word = as_word(value)
        if word in levels:
            return 1 + levels.index(word)
        folded = [level.casefold() for level in levels]
        if folded.count(word.casefold()) == 1:
            return 1 + folded.index(word.casefold())
        if OTHER in levels:
            return 1 + levels.index(OTHER)
        raise InvalidOutcomeError(
            suggesting(
                f"{self._features[feature]} cannot be {value!r}",
                word,
                levels,
                f"it must be {self._hint(feature)}.",
            )
        )

    def _hint(self, feature: int) -> str:
        levels = self._levels[feature]
        if not levels:
            return "a number"
        shown = ", ".join(levels[:_MOST_LISTED])
        more = len(levels) - _MOST_LISTED
        return f"one of {shown}" + (f" and {more} more" if more > 0 else "")

    def _word(self, feature: int, value: float) -> str:
        if value <= MISSING / 2:
            return "not known"
        levels = self._levels[feature]
        if levels and 1 <= round(value) <= len(levels):
            return levels[round(value) - 1]
        return f"{value:.6g}"


def is_missing(value: Any) -> bool:
    """Whether an answer says that the value is not known."""
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    try:
        return bool(np.isnan(value))
    except (TypeError, ValueError):
        # pandas.NA and its like are equal to nothing, not even to themselves
        return type(value).__name__ in ("NAType", "NaTType")


def as_word(value: Any) -> str:
    """How a value of a column of words is written: 1.0 as 1, all else as it is."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()
