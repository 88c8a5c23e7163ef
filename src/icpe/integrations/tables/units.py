"""Columns of a file that are numbers, with or without a unit behind them."""

import collections
import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from icpe.core.csv_text import all_numbers
from icpe.portable.numbers import split_unit

_FEW_WORDS = 0.1
"""Share of words up to which a column is one of numbers, of which there must be .."""
_MANY_NUMBERS = 20
""".. so many different ones."""
_NO_VALUE = ("-", "--", "–", "—", "k.a.", "n.a.")
"""What stands in columns of numbers where there is none; elsewhere these are words."""


@dataclasses.dataclass(frozen=True)
class Numbers:
    """What a column was read as.

    Attributes:
        values: NaN where not known; None if it is a column of words.
        unit: of all of them, or empty.
        remark: what its owner should know, or empty.
        unknown: words that were read as not known, as often as they stand there.
    """

    values: Float[np.ndarray, "rows"] | None
    unit: str = ""
    remark: str = ""
    unknown: tuple[str, ...] = ()


def read_numbers(
    name: str, words: Sequence[str | None], delimiter: str = ","
) -> Numbers:
    """Reads a column as numbers, if it is one of numbers.

    All that is known must be a number, with or without one and the same unit. A few
    words among many different numbers are taken as not known, with a remark.
    """
    known = [word for word in words if word is not None]
    unit = _usual_unit(known)
    bare = {word: _bare(word, unit) for word in set(known)}
    strange = {
        word for word, text in bare.items() if all_numbers([text], delimiter) is None
    }
    blank = {word for word in strange if word.lower() in _NO_VALUE}
    strange -= blank
    numbers = bare.keys() - strange - blank
    if not numbers and known:
        return Numbers(None)
    count = sum(word in strange for word in known)
    remark = ""
    if strange:
        shown = ", ".join(map(repr, sorted(strange)[:3]))
        what = f"numbers in {unit}" if unit else "numbers"
        if count > _FEW_WORDS * len(known) or len(numbers) < _MANY_NUMBERS:
            mixed = sum(word in numbers for word in known) >= len(known) / 2
            if not mixed and len(numbers) < _MANY_NUMBERS:
                return Numbers(None)
            return Numbers(
                None,
                remark=f"Column {name!r} has {what}, and {count} values that are none, "
                f"such as {shown}: so all are taken as words. Write numbers in one "
                "unit, and leave cells empty where there is none.",
            )
        remark = (
            f"Column {name!r} has {what}, and {count} values that are none, such as "
            f"{shown}; these are taken as not known."
        )
    places = [i for i, word in enumerate(words) if word in numbers]
    found = all_numbers([bare[str(words[i])] for i in places], delimiter)
    if found is None:  # each is a number, written in another way than the others
        return Numbers(None)
    values = np.full(len(words), np.nan)
    values[places] = found
    without = sum(word in numbers and bare[word] == word for word in known)
    if unit and without:
        remark += (" " if remark else "") + (
            f"Column {name!r} has {without} numbers without the unit {unit}; they are "
            "taken to be in it."
        )
    unknown = tuple(word for word in known if word in blank)
    return Numbers(values, unit, remark, unknown)


def _usual_unit(words: Sequence[str]) -> str:
    """The most common unit, empty if there is none."""
    found = (split_unit(word) for word in words)
    units = collections.Counter(it[1] for it in found if it is not None)
    return units.most_common(1)[0][0] if units else ""


def _bare(word: str, unit: str) -> str:
    """A number without that unit, all else as it is."""
    found = split_unit(word)
    return found[0] if found is not None and found[1] == unit else word
