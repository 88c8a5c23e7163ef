"""Numbers as files have them: decimal commas, thousands, negatives in parentheses.

Some can be read in two ways: 1,234 and 1.234. How the others of a column, or of a file,
are written tells how.
"""

import itertools
from collections.abc import Iterable, Sequence

from icpe.portable.decimals import PLAIN_NUMBER, POINTS, as_number, may_be_two
from icpe.portable.decimals import plain_number as _plain
from icpe.portable.numbers import split_unit
from icpe.portable.reading import DECIMAL_COMMA, THOUSANDS

EITHER = ",."
"""Either mark stands before decimals, where it could divide thousands as well."""
_MOST_LOOKED_AT = 20_000


def all_numbers(texts: Sequence[str], decimal: str = ".") -> list[float] | None:
    """Texts of one column as numbers, None unless all are.

    A column is written in one way: where one number has a decimal comma, points divide
    thousands in all others, and the other way round. Where every number is in
    parentheses, these are no minus signs.

    Args:
        texts: of the column.
        decimal: of the file; see `icpe.portable.decimals.as_number`.
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


def marks_of(texts: Iterable[str], decimal: str) -> str:
    """The marks of a column: before decimals, and then between thousands.

    As far as its numbers tell, or the file where these can be read in two ways; see
    `icpe.portable.decimals.as_in_column`.

    Args:
        texts: numbers of the column.
        decimal: of the file; see `icpe.portable.decimals.as_number`.
    """
    texts = list(texts)
    marks = set(map(_mark, texts)) - {""}
    if not marks:
        two = [text for text in texts if may_be_two(text)]
        if decimal == EITHER:  # each mark that is there stands before decimals
            there = {mark for text in two for mark in EITHER if mark in text}
            return there.pop() if len(there) == 1 else ""
        marks = {decimal} if two else set()
    if len(marks) != 1:
        return ""
    mark = marks.pop()
    return mark + EITHER.replace(mark, "")


def _mark(text: str) -> str:
    """What a number shows to stand before decimals; empty if it shows nothing."""
    if may_be_two(text):
        return ""
    plain = _plain(text)
    if DECIMAL_COMMA.fullmatch(plain) or POINTS.fullmatch(plain):
        return ","
    has_mark = "." in plain and PLAIN_NUMBER.fullmatch(plain)
    return "." if has_mark or THOUSANDS.fullmatch(plain) else ""
