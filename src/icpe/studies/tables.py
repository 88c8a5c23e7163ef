"""Tables of results, and the numbers in them, for people and for other programs."""

import csv
import dataclasses
import fnmatch
import html
import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from icpe.theory.intervals import mean_interval

NOT_RUN = "not run"
"""Stands wherever a cell has no result yet."""
NOT_SERVED = "not served"
"""Stands where an explorer cannot serve what it is asked for."""
ABSENT = "–"
"""Stands where there is nothing to say, such as a number the paper does not print."""
MET, MISSED = "met", "**missed**"
_NO_REMARK = "Nothing was noted about it yet."


@dataclasses.dataclass(frozen=True)
class Table:
    """A table with a caption and remarks below it.

    Attributes:
        name: for the CSV file, words joined by hyphens.
        caption: what it shows.
        headings: of the columns; the first names the rows.
        rows: as text, as long as the headings.
        notes: sentences below the table.
    """

    name: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        assert all(len(row) == len(self.headings) for row in self.rows)

    def markdown(self) -> str:
        """Caption, table and remarks as Markdown."""
        rules = ("---", *("---:" for _ in self.headings[1:]))
        lines = [self.headings, rules, *self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([f"**{self.caption}**", table, *self.notes])

    def csv(self) -> str:
        """Headings and rows as comma-separated values."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.headings)
        writer.writerows([entry.replace("**", "") for entry in r] for r in self.rows)
        return text.getvalue()

    def html(self) -> str:
        """Caption, table and remarks as HTML."""
        head = "".join(f"<th>{html.escape(word)}</th>" for word in self.headings)
        body = "".join(
            "<tr>" + "".join(_html_entry(entry) for entry in row) + "</tr>"
            for row in self.rows
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        caption = f"<caption>{html.escape(self.caption)}</caption>"
        return f"<table>{caption}<tr>{head}</tr>{body}</table>{notes}"


def _html_entry(entry: str) -> str:
    marked = ' class="missed"' if MISSED in entry else ""
    quiet = ' class="quiet"' if entry in (NOT_RUN, ABSENT) else ""
    text = html.escape(entry.replace("**", ""))
    return f"<td{marked}{quiet}>{text}</td>"


class Estimate(NamedTuple):
    """A number with its 95 % interval, None where there is none."""

    value: float
    interval: tuple[float, float] | None = None

    def text(self, digits: int) -> str:
        """The number, and the interval in brackets."""
        if self.interval is None:
            return f"{self.value:.{digits}f}"
        low, high = self.interval
        return f"{self.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


UNSERVED = Estimate(math.nan)
"""Of what cannot be served there is no number, and it meets no target."""


def estimate(found: Sequence[Mapping[str, Any] | None], name: str) -> Estimate | None:
    """One measured quantity over training seeds, None if there is none.

    The interval is that of the measurement if there is one seed, else Student's t of
    the seeds' values, so that it covers what a training varies.
    """
    if any(one is not None and "unserved" in one for one in found):
        return UNSERVED
    known = [one for one in found if one is not None and one.get(name) is not None]
    if not known:
        return None
    if len(known) == 1:
        interval = known[0].get(f"{name}_interval")
        return Estimate(known[0][name], None if interval is None else tuple(interval))
    return average([one[name] for one in known])


def average(values: Sequence[float | None]) -> Estimate | None:
    """The mean over seeds with Student's interval; None if any value is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    if len(known) == 1:
        return Estimate(known[0])
    low, high = mean_interval(np.asarray(known), 0.95)
    return Estimate(float(np.mean(known)), (float(low), float(high)))


def shown(value: Estimate | float | None, digits: int, absent: str = NOT_RUN) -> str:
    """A number as text, or why there is none."""
    if value is None:
        return absent
    if not isinstance(value, Estimate):
        value = Estimate(float(value))
    return NOT_SERVED if math.isnan(value.value) else value.text(digits)


def pair(queries: Estimate | None, accuracy: Estimate | None) -> str:
    """Queries at an accuracy, as in "7.76 at 0.910"."""
    if queries is None or accuracy is None:
        return NOT_RUN
    if math.isnan(queries.value):
        return NOT_SERVED
    return f"{queries.value:.2f} at {accuracy.value:.3f}"


def verdict(met: bool | None) -> str:
    """Whether a target was reached; None if that is not known yet."""
    if met is None:
        return NOT_RUN
    return MET if met else MISSED


def queries_at(curve: Sequence[Mapping[str, Any]], accuracy: float) -> float | None:
    """Mean queries at an accuracy, between the points of a measured curve.

    Accuracies are first made to grow with the queries (isotonic regression), then
    joined by straight lines, which drawing at random between two points attains.
    None where the curve does not reach that far.
    """
    if not curve:
        return None
    chain = sorted(curve, key=lambda point: point["mean_queries"])
    queries = np.array([point["mean_queries"] for point in chain])
    measured = np.array([point["accuracy"] for point in chain])
    smooth = scipy.optimize.isotonic_regression(measured).x
    if not smooth[0] <= accuracy <= smooth[-1]:
        return None
    reached = int(np.argmax(smooth >= accuracy))
    if reached == 0 or smooth[reached] == smooth[reached - 1]:
        return float(queries[reached])
    ends = slice(reached - 1, reached + 1)
    return float(np.interp(accuracy, smooth[ends], queries[ends]))


def misses(
    rows: Sequence[str],
    is_met: Callable[[str], bool | None],
    notes: Mapping[str, str],
) -> tuple[str, ...]:
    """A sentence for the rows that miss their target, with the remark on them.

    Remarks are found by the name of a row, or else by the first pattern that fits, such
    as "K=14*"; rows with the same remark are named together.
    """
    found: dict[str, list[str]] = {}
    for row in rows:
        if is_met(row) is False:
            fits = (notes[name] for name in notes if fnmatch.fnmatchcase(row, name))
            remark = notes.get(row) or next(fits, _NO_REMARK)
            found.setdefault(remark, []).append(row)
    verbs = {remark: "miss" if who[1:] else "misses" for remark, who in found.items()}
    return tuple(
        f"{'; '.join(who)} {verbs[remark]} the target. {remark}"
        for remark, who in found.items()
    )


def is_at_most(value: Estimate | float | None, limit: float | None) -> bool | None:
    """Whether a number is at most a limit; None if one of them is not known."""
    if value is None or limit is None:
        return None
    number = value.value if isinstance(value, Estimate) else value
    return bool(number <= limit + 1e-12)  # nothing holds of what is not a number


def is_at_least(value: Estimate | float | None, limit: float | None) -> bool | None:
    """Whether a number is at least a limit; None if one of them is not known."""
    if value is None or limit is None:
        return None
    number = value.value if isinstance(value, Estimate) else value
    return bool(number >= limit - 1e-12)


def all_of(*parts: bool | None) -> bool | None:
    """False if any part is, else None if any is not known, else True."""
    if any(part is False for part in parts):
        return False
    return None if any(part is None for part in parts) else True
