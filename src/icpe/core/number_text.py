"""Numbers as files have them: decimal commas, thousands, negatives in parentheses.

Some can be read in two ways: 1,234 and 1.234. How the others of a column, or of a file,
are written tells how.
"""

import itertools
import re
from collections.abc import Iterable, Sequence

from icpe.portable.numbers import plain_digits, split_unit
from icpe.portable.reading import DECIMAL_COMMA, THOUSANDS

EITHER = ",."
"""Either mark stands before decimals, where it could divide thousands as well."""
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_NEGATIVE = re.compile(r"\(\s*(\d[\d.,]*)\s*\)")
_MOST_LOOKED_AT = 20_000


def as_number(text: str, decimal: str = ".") -> float:
    """A text as a number: 1234.5, 1,234.5, 1.234,5, 1 234,5 or (1234.5).

    Args:
        text: what is written.
        decimal: the mark before decimals, where a number can be read in two ways: a
            comma, a point, or `EITHER`.

    Raises:
        ValueError: it is none.
    """
    plain = _plain(text)
    comma, thousands = DECIMAL_COMMA.fullmatch(plain), THOUSANDS.fullmatch(plain)
    if comma and thousands:
        comma = "," in decimal
    if comma:
        return float(plain.replace(".", "").replace(",", "."))
    if thousands:
        return float(plain.replace(",", ""))
    if _POINTS.fullmatch(plain) and (plain.count(".") > 1 or "." not in decimal):
        return float(plain.replace(".", ""))
    if not _PLAIN.fullmatch(plain):
        raise ValueError(f"{text!r} is no number")
    return float(plain)


def all_numbers(texts: Sequence[str], decimal: str = ".") -> list[float] | None:
    """Texts of one column as numbers, None unless all are.

    A column is written in one way: where one number has a decimal comma, points divide
    thousands in all others, and the other way round. Where every number is in
    parentheses, these are no minus signs.

    Args:
        texts: of the column.
        decimal: of the file; see `as_number`.
    """
    marks = set(map(_mark, texts)) - {""}
    if len(marks) == 1:
        decimal = marks.pop()
    elif marks and any(map(may_be_two, texts)):
        return None
    if texts and all(text.startswith("(") for text in texts):
        return None
    try:
        return [as_number(text, decimal) for text in texts]
    except ValueError:
        return None


def decimal_mark(texts: Iterable[str], delimiter: str) -> str:
    """The mark before decimals of a file, by those numbers that have one reading.

    Without any, commas divide thousands, unless semicolons separate values: whoever
    writes those has decimal commas.
    """
    votes = {",": 0, ".": 0, "": 0}
    marked = (text for text in texts if "," in text or "." in text)
    for text in itertools.islice(marked, _MOST_LOOKED_AT):
        found = split_unit(text)
        votes[_mark(text if found is None else found[0])] += 1
    if votes[","] != votes["."]:
        return max(",.", key=votes.__getitem__)
    return EITHER if delimiter == ";" else "."


def may_be_two(text: str) -> bool:
    """Whether a number can be read in two ways: 1,234 and 1.234 can."""
    plain = _plain(text)
    if _POINTS.fullmatch(plain):
        return plain.count(".") == 1
    return bool(THOUSANDS.fullmatch(plain) and DECIMAL_COMMA.fullmatch(plain))


def _plain(text: str) -> str:
    """With a plain minus sign, also in the place of parentheses."""
    plain = plain_digits(text)
    return _NEGATIVE.sub(r"-\1", plain) if plain.startswith("(") else plain


def _mark(text: str) -> str:
    """What a number shows to stand before decimals; empty if it shows nothing."""
    if may_be_two(text):
        return ""
    plain = _plain(text)
    if DECIMAL_COMMA.fullmatch(plain) or _POINTS.fullmatch(plain):
        return ","
    has_mark = "." in plain and _PLAIN.fullmatch(plain)
    return "." if has_mark or THOUSANDS.fullmatch(plain) else ""
