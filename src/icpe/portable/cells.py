"""Reads answers about the features of a table: numbers, words, or nothing at all."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icpe.portable.decimals import as_in_column
from icpe.portable.errors import InvalidOutcomeError, suggesting
from icpe.portable.numbers import beyond, split_limit, without_unit
from icpe.portable.reading import listed, position

MISSING = -1e30
"""The outcome of a feature whose value is not known; no measurement is that small."""
OTHER = "(other)"
"""The level of all values of a column that are rare, or that were never seen."""
_NOTHING = ("", "missing", "unknown", "na", "n/a", "nan", "null", "?", "<na>")
_SAID = (
    "don't know",
    "do not know",
    "not known",
    "not measured",
    "unbekannt",
    "nicht bekannt",
    "keine angabe",
    "k.a.",
)
"""What people write where there is no value. Not among them: what may be a finding,
such as n.d. (not detected), or not done beside done."""
_ERRORS = ("#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!")
"""What a spreadsheet has where a formula found nothing."""
UNKNOWN = (*_NOTHING, *_SAID, *_ERRORS)
"""All words that say that a value is not known, in any column; see `is_missing`."""
NO_ANSWER = ("none", "-")
"""Words that may be answers; where they are none, they say that there is no answer."""


@dataclasses.dataclass(frozen=True)
class Cells:
    """Reads what is measured of a case, in the words and units of its table.

    Attributes:
        features: the names of the features.
        levels: the words that each feature can be, none for a number; level i is the
            number i + 1.
        groups: the features that each query reveals.
        size: numbers in an outcome.
        always_known: the features that are known in every row of the table.
        units: of each feature, empty where it has none; none for all if empty.
        marks: how the numbers of each feature were written; see `as_in_column`.
        ranges: the smallest and largest number of each feature in the table, empty for
            words; none are known if empty.
    """

    features: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    size: int
    always_known: tuple[int, ...] = ()
    units: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    ranges: tuple[tuple[float, ...], ...] = ()

    def read(self, query: int, answer: Any) -> tuple[float, ...]:
        """One value, or a value for each feature of a group, by name or in order.

        An array of the family's own numbers, such as the outcome in the history of a
        session, is taken as it is.
        """
        if isinstance(answer, np.ndarray) and answer.shape == (self.size,):
            return tuple(map(float, answer))
        members = self.groups[query]
        given = self._apart([self.features[it] for it in members], answer)
        values = [self._value(*pair) for pair in zip(members, given, strict=True)]
        return (*values, *(0.0,) * (self.size - len(values)))

    def why_strange(self, query: int, outcome: Any) -> str | None:
        """Why no case of the table is like that; None where one may be."""
        for feature, value in zip(self.groups[query], outcome, strict=False):
            if feature in self.always_known and value <= MISSING / 2:
                return (
                    f"{self.features[feature]} was not known; every row of the table "
                    "has a value for it"
                )
            if self.ranges and _is_far(float(value), self.ranges[feature]):
                low, high = self.ranges[feature]
                return (
                    f"{self.features[feature]} was {value:.6g}, where the rows of the "
                    f"table have {low:.6g} to {high:.6g}"
                )
        return None

    def expected(self, feature: int) -> str:
        """What a feature can be, in a few words."""
        if self.levels[feature]:
            return f"one of {listed(self.levels[feature])}"
        unit = self.unit(feature)
        return f"a number in {unit}" if unit else "a number"

    def is_unknown(self, query: int, outcome: Any) -> bool:
        """Whether an outcome says that nothing of what was asked is known."""
        own = outcome[: len(self.groups[query])]
        return all(value <= MISSING / 2 for value in own)

    def unit(self, feature: int) -> str:
        """The unit of a feature, empty if it has none."""
        return self.units[feature] if self.units else ""

    def _apart(self, names: list[str], answer: Any) -> list[Any]:
        """The values of the features of a query, in their order."""
        if isinstance(answer, Mapping):
            for name in answer:
                if name not in names:
                    complaint = f"There is no {name!r} to be told here"
                    listing = f"tell {', '.join(names)}."
                    raise InvalidOutcomeError(
                        suggesting(complaint, str(name), names, listing)
                    )
            return [answer.get(name) for name in names]
        several = isinstance(answer, Sequence | np.ndarray)
        if len(names) == 1:
            alone = several and not isinstance(answer, str) and len(answer) == 1
            return [answer[0]] if alone else [answer]
        if isinstance(answer, str):
            separator = ";" if ";" in answer else ","
            answer = [part.strip() for part in answer.split(separator)]
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
        levels = self.levels[feature]
        if levels and position(as_word(value), levels) >= 0:
            return 1.0 + self._level(feature, value)
        if is_missing(value) or self._is_no_answer(feature, value):
            return MISSING
        if levels:
            return 1.0 + self._level(feature, value)
        number, why = math.inf, ""
        marks = self.marks[feature] if self.marks else ""
        try:
            number = (
                typed_measurement(value, self.unit(feature), marks)
                if isinstance(value, str)
                else float(value)
            )
        except TypeError:
            pass
        except ValueError as error:
            why = f", and {error}" if " may be " in str(error) else ""
        if not abs(number) < -MISSING:
            raise InvalidOutcomeError(
                f"{self.features[feature]} must be {self.expected(feature)}, or empty "
                f"if it is not known; got {value!r}{why}."
            )
        return number

    def _is_no_answer(self, feature: int, value: Any) -> bool:
        """Whether a word that could have been an answer cannot be one here."""
        is_word = isinstance(value, str) and value.strip().lower() in NO_ANSWER
        return is_word and OTHER not in self.levels[feature]

    def _level(self, feature: int, value: Any) -> int:
        levels, word = self.levels[feature], as_word(value)
        place = position(word, levels)
        if place >= 0 or OTHER in levels:
            return place if place >= 0 else levels.index(OTHER)
        raise InvalidOutcomeError(
            suggesting(
                f"{self.features[feature]} cannot be {value!r}",
                word,
                levels,
                f"it must be {self.expected(feature)}.",
            )
        )


def typed_measurement(text: str, unit: str, marks: str) -> float:
    """A number with or without its unit, or one next to a limit such as <0.5.

    Raises:
        ValueError: it is none, or may be two; see `as_in_column`.
    """
    text = without_unit(text, unit)
    limit = split_limit(text)
    if limit is None:
        return as_in_column(text, marks)
    return beyond(as_in_column(limit[0], marks), limit[1])


def _is_far(value: float, seen: Sequence[float]) -> bool:
    """Whether a number is unlike those seen: negative where none is, or farther from
    all of them than they are from each other."""
    if not seen or value <= MISSING / 2:
        return False
    low, high = seen
    width = (high - low) or abs(high)
    return (low >= 0 > value) or not low - width <= value <= high + width


def is_missing(value: Any) -> bool:
    """Whether an answer says that the value is not known.

    Capitals and blanks make no difference, and neither does the kind of apostrophe.
    """
    if value is None:
        return True
    if isinstance(value, str):
        words = " ".join(value.lower().replace("\u2019", "'").split())
        return words.replace(". ", ".") in UNKNOWN
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
