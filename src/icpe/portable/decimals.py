"""Numbers that can be read in two ways, 1,234 and 1.234, as their column has them."""

import re

from icpe.portable.numbers import plain_digits
from icpe.portable.reading import DECIMAL_COMMA, THOUSANDS

POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
"""A whole number with points between thousands, or one with three decimals."""
PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NEGATIVE = re.compile(r"\(\s*(\d[\d.,]*)\s*\)")


def as_number(text: str, decimal: str = ".") -> float:
    """A text as a number: 1234.5, 1,234.5, 1.234,5, 1 234,5 or (1234.5).

    Args:
        text: what is written.
        decimal: the mark before decimals, where a number can be read in two ways: a
            comma, a point, or both.

    Raises:
        ValueError: it is none.
    """
    plain = plain_number(text)
    comma, thousands = DECIMAL_COMMA.fullmatch(plain), THOUSANDS.fullmatch(plain)
    if comma and thousands:
        comma = "," in decimal
    if comma:
        return float(plain.replace(".", "").replace(",", "."))
    if thousands:
        return float(plain.replace(",", ""))
    if POINTS.fullmatch(plain) and (plain.count(".") > 1 or "." not in decimal):
        return float(plain.replace(".", ""))
    if not PLAIN_NUMBER.fullmatch(plain):
        raise ValueError(f"{text!r} is no number")
    return float(plain)


def as_in_column(text: str, marks: str = "") -> float:
    """A text as a number, read as the numbers of its column were.

    Args:
        text: what is written.
        marks: the mark before decimals in the column, and after it the one between
            thousands, as far as the column tells.

    Raises:
        ValueError: it is none, or may be two and the column does not tell which.
    """
    if not may_be_two(text):
        return as_number(text)
    plain = plain_number(text)
    mark = "," if "," in plain else "."
    if mark not in marks:
        decimal, whole = plain.replace(",", "."), plain.replace(mark, "")
        raise ValueError(f"{plain} may be {decimal}0 or {whole}; write one of these")
    return as_number(text, mark if marks[0] == mark else marks[0])


def may_be_two(text: str) -> bool:
    """Whether a number can be read in two ways: 1,234 and 1.234 can."""
    plain = plain_number(text)
    if POINTS.fullmatch(plain):
        return plain.count(".") == 1
    return bool(THOUSANDS.fullmatch(plain) and DECIMAL_COMMA.fullmatch(plain))


def plain_number(text: str) -> str:
    """With a plain minus sign, also in the place of parentheses."""
    plain = plain_digits(text)
    return _NEGATIVE.sub(r"-\1", plain) if plain.startswith("(") else plain
