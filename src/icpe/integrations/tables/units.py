"""Columns of a file that are numbers: with or without a unit, or a limit such as <5."""

import collections
import dataclasses
from collections.abc import Collection, Container, Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from icpe.core.number_text import EITHER, all_numbers, marks_of
from icpe.portable.decimals import as_number, may_be_two
from icpe.portable.numbers import beyond, split_limit, split_unit

_FEW_WORDS = 0.1
"""Share of words up to which a column is one of numbers, of which there must be .."""
_MANY_NUMBERS = 20
""".. so many different ones."""
_SOME_NUMBERS = 3
"""Different numbers from which a column seems to be one of numbers."""
_NO_VALUE = (".", "-", "--", "–", "—", "k.a.", "n.a.", "n.d.", "nd")
"""What stands in columns of numbers where there is none; elsewhere these are words."""


@dataclasses.dataclass(frozen=True)
class Numbers:
    """What a column was read as.

    Attributes:
        values: NaN where not known; None if it is a column of words.
        unit: of all of them, or empty.
        remark: what its owner should know, or empty.
        unknown: words that were read as not known, as often as they stand there.
        marks: how the numbers are written; see `marks_of`.
    """

    values: Float[np.ndarray, "rows"] | None
    unit: str = ""
    remark: str = ""
    unknown: tuple[str, ...] = ()
    marks: str = ""


def read_numbers(name: str, words: Sequence[str | None], decimal: str = ".") -> Numbers:
    """Reads a column as numbers, if it is one of numbers.

    All that is known must be a number, with or without one and the same unit. Limits
    among numbers, such as <5, are taken for a number next to them. A few words among
    many different numbers are taken as not known, with a remark.

    Args:
        name: of the column, for remarks.
        words: its values; None where not known.
        decimal: of the file; see `icpe.portable.decimals.as_number`.
    """
    known = [word for word in words if word is not None]
    unit = _usual_unit(known)
    bare = {word: _bare(word, unit) for word in dict.fromkeys(known)}
    numbers = {word: text for word, text in bare.items() if _is_number(text)}
    limits = _limits(bare, unit, known, numbers)
    rest = bare.keys() - numbers.keys() - limits.keys()
    blank = {word for word in rest if word.lower() in _NO_VALUE}
    strange = rest - blank
    if not numbers and known:
        return Numbers(None)
    remarks = []
    if strange:
        remark, are_few = _about_words(name, unit, known, numbers, strange)
        if not are_few:
            return Numbers(None, remark=remark)
        remarks.append(remark)
    texts = numbers | {word: text for word, (text, _) in limits.items()}
    found = all_numbers(list(texts.values()), decimal)
    if found is None:
        return Numbers(None, remark=_about_two_ways(name, texts.values()))
    value = dict(zip(texts, found, strict=True))
    for word, (_, side) in limits.items():
        value[word] = beyond(value[word], side)
    remarks += _about_limits(name, known, limits)
    remarks += _about_units(name, unit, known, numbers)
    remarks += _about_commas(name, decimal, texts)
    values = np.array([np.nan if it is None else value.get(it, np.nan) for it in words])
    unknown = tuple(word for word in known if word in blank)
    marks = marks_of(texts.values(), decimal)
    return Numbers(values, unit, " ".join(remarks), unknown, marks)


def _usual_unit(words: Sequence[str]) -> str:
    """The most common unit, empty if there is none."""
    units: collections.Counter[str] = collections.Counter()
    for word, count in collections.Counter(words).items():
        if (found := split_unit(word)) is not None:
            units[found[1]] += count
    return units.most_common(1)[0][0] if units else ""


def _bare(word: str, unit: str) -> str:
    """A number without that unit, all else as it is."""
    found = split_unit(word)
    return found[0] if found is not None and found[1] == unit else word


def _is_number(text: str) -> bool:
    try:
        as_number(text)
    except ValueError:
        return False
    return True


def _limits(
    words: Iterable[str], unit: str, known: Sequence[str], numbers: Container[str]
) -> dict[str, tuple[str, int]]:
    """The limits in a column that is one of numbers otherwise, as written, and their
    sides."""
    split = {word: found for word in words if (found := split_limit(word)) is not None}
    split = {word: (_bare(text, unit), side) for word, (text, side) in split.items()}
    limits = {word: it for word, it in split.items() if _is_number(it[0])}
    different = {word for word in known if word in numbers}
    count = sum(word in numbers or word in limits for word in known)
    enough = len(different) >= _SOME_NUMBERS and 2 * count >= len(known)
    return limits if enough else {}


def _about_words(
    name: str,
    unit: str,
    known: Sequence[str],
    numbers: Collection[str],
    strange: Collection[str],
) -> tuple[str, bool]:
    """What is said of words among numbers, and whether they are few."""
    count = sum(word in strange for word in known)
    shown = ", ".join(map(repr, sorted(strange)[:3]))
    what = f"numbers in {unit}" if unit else "numbers"
    both = f"Column {name!r} has {what}, and {_number(count, 'value')} that "
    both += f"{'is' if count == 1 else 'are'} not, such as {shown}"
    many = len(numbers) >= _MANY_NUMBERS
    if many and count <= _FEW_WORDS * len(known):
        return f"{both}; {_this(count)} taken as not known.", True
    usual = 2 * sum(word in numbers for word in known) >= len(known)
    if len(numbers) < _SOME_NUMBERS or not (usual or many):
        return "", False
    return (
        f"{both}: so all are taken as words. Write numbers in one unit, and leave "
        "cells empty where there is none.",
        False,
    )


def _about_two_ways(name: str, texts: Iterable[str]) -> str:
    two = [text for text in texts if may_be_two(text)]
    if not two:
        return ""
    return (
        f"Column {name!r} has numbers that can be read in two ways, such as "
        f"{two[0]!r}: so all are taken as words. Write a point before decimals, and "
        "nothing between thousands."
    )


def _about_limits(
    name: str, known: Sequence[str], limits: Mapping[str, tuple[str, int]]
) -> list[str]:
    if not limits:
        return []
    count = sum(word in limits for word in known)
    word = min(limits)
    where = {-1: "just below", 0: "at", 1: "just above"}[limits[word][1]]
    return [
        f"Column {name!r} has {_number(count, 'limit')} such as {word!r}, taken as a "
        f"number {where} {limits[word][0]}."
    ]


def _about_units(
    name: str, unit: str, known: Sequence[str], numbers: Mapping[str, str]
) -> list[str]:
    without = sum(numbers.get(word) == word for word in known)
    if not unit or not without:
        return []
    return [
        f"Column {name!r} has {_number(without, 'number')} without the unit {unit}; "
        f"{_this(without)} taken to be in it."
    ]


def _about_commas(name: str, decimal: str, texts: Mapping[str, str]) -> list[str]:
    """Where nothing in the file tells what a comma is, what it was taken for."""
    two = [text for text in texts.values() if may_be_two(text) and "," in text]
    marked = [text for text in texts.values() if "," in text or "." in text]
    if decimal != EITHER or not two or len(two) < len(marked):
        return []
    return [
        f"Column {name!r}: {two[0]} is taken as {two[0].replace(',', '.')}; if it is "
        f"{two[0].replace(',', '')}, write nothing between thousands."
    ]


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _this(count: int) -> str:
    return "it is" if count == 1 else "they are"
