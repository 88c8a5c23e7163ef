"""Numbers as people write them: with units, blanks between thousands, or limits."""

import re

_NUMBER = r"[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?"
_UNIT = r"[^\d\s.,;:+\-<>=/()\[\]?!*_#&|\\][^\d,;:<>=?!|]{0,15}[23]?"
_BEHIND = re.compile(rf"({_NUMBER})\s*({_UNIT})")
_BEFORE = re.compile(rf"([$€£¥%]|(?:EUR|USD|GBP|CHF|JPY)(?=\s))\s*({_NUMBER})")
_LETTERS_ALIKE = 2
"""Units up to that length must be typed with their capitals: mW is not MW."""
_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:[ \u00a0\u2009\u202f'’]\d{3})+(?!\d)")
_DASH = re.compile(r"^\N{EN DASH}(?=[.,]?\d)")
_LIMIT = re.compile(rf"([<>≤≥]=?)\s*({_NUMBER}.*)")
_OR_MORE = re.compile(rf"({_NUMBER})\s*\+")
_NEAR = 1e-6
"""How far beyond a limit a value is taken to lie, as a share of it."""


def plain_digits(text: str) -> str:
    """A text with a plain minus sign, and with nothing between thousands: 1 234 is
    1234."""
    if text.isascii() and " " not in text and "'" not in text:
        return text  # most of them, at once
    text = _DASH.sub("-", text.strip().replace("\N{MINUS SIGN}", "-"))
    return _GROUPED.sub(lambda it: re.sub(r"\D", "", it[0]), text)


def split_unit(text: str) -> tuple[str, str] | None:
    """A number as it is written, and its unit; None unless it has one."""
    text = plain_digits(text)
    if re.fullmatch(_NUMBER, text):  # 1E3 is no unit behind a number
        return None
    if found := _BEHIND.fullmatch(text):
        return found[1], found[2].strip()
    if found := _BEFORE.fullmatch(text):
        return found[2], found[1]
    return None


def split_limit(text: str) -> tuple[str, int] | None:
    """The number of a limit such as <0.5 as it is written; None unless it is one.

    And the side of it on which the value lies: -1 below, 1 above, 0 if it may be the
    number itself, as with ≥ 5 and 5+.
    """
    text = plain_digits(text)
    if found := _LIMIT.fullmatch(text):
        side = {"<": -1, ">": 1}.get(found[1], 0)
        return found[2], side
    found = _OR_MORE.fullmatch(text)
    return None if found is None else (found[1], 0)


def beyond(limit: float, side: int) -> float:
    """The number that a value beyond a limit is taken for: one next to it."""
    return limit + side * _NEAR * (abs(limit) or 1.0)


def without_unit(text: str, unit: str) -> str:
    """What was typed, less its unit before or behind it."""
    text = text.strip()
    if not unit:
        return text
    if len(unit) > _LETTERS_ALIKE:
        unit, folded = unit.casefold(), text.casefold()
    else:
        folded = text
    if folded.endswith(unit):
        return text[: len(folded) - len(unit)].strip()
    return text[len(unit) :].strip() if folded.startswith(unit) else text
