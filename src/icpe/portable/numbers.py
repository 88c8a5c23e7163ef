"""Numbers with a unit, as people write them."""

import re

_NUMBER = r"[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?"
_UNIT = r"[^\d\s.,;:+\-<>=/()\[\]?!*_#&|\\][^\d,;:<>=?!|]{0,15}[23]?"
_BEHIND = re.compile(rf"({_NUMBER})\s*({_UNIT})")
_BEFORE = re.compile(rf"([$€£¥%]|(?:EUR|USD|GBP|CHF|JPY)(?=\s))\s*({_NUMBER})")
_LETTERS_ALIKE = 2
"""Units up to that length must be typed with their capitals: mW is not MW."""


def split_unit(text: str) -> tuple[str, str] | None:
    """A number as it is written, and its unit; None unless it has one."""
    text = text.replace("−", "-")
    if found := _BEHIND.fullmatch(text):
        return found[1], found[2].strip()
    if found := _BEFORE.fullmatch(text):
        return found[2], found[1]
    return None


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
