"""The answers of a session as a table for spreadsheets and programs."""

import csv
import datetime
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from icpe.deploy.events import Event, Kind, effective
from icpe.deploy.session_rules import SessionRules

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?")


def answers_csv(rules: SessionRules, events: Sequence[Event]) -> str:
    """All answers as a table, one row each, as the user told them.

    Those that were taken back are there as well, and do not count.
    """
    counts = {event.number for event in effective(events)}
    answers = [event for event in events if event.kind is Kind.TOLD]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(
        ["answer", "time", "query", "name", "asked", "counts", *_columns(rules)]
    )
    for i, event in enumerate(answers, 1):
        body = event.body
        moment = datetime.datetime.fromtimestamp(event.time, datetime.UTC)
        writer.writerow(
            [
                i,
                moment.isoformat(timespec="milliseconds"),
                body["query"],
                _safe(rules.setup.words.query_name(body["query"])),
                "yes" if body["asked"] else "no",
                "yes" if event.number in counts else "no",
                *_told(rules, body),
            ]
        )
    return text.getvalue()


def _columns(rules: SessionRules) -> list[str]:
    """What is told of each answer: its numbers by their names, or all in words."""
    setup, spec = rules.setup, rules.setup.family.spec
    if setup.reading is not None:
        unit = setup.reading.units.unit
        return [_safe(f"outcome ({unit})" if unit else "outcome")]
    if setup.has_words:
        return ["outcome"]
    return [_safe(spec.outcome_name(i)) for i in _shown_entries(rules)]


def _told(rules: SessionRules, body: dict[str, Any]) -> list[Any]:
    setup, spec = rules.setup, rules.setup.family.spec
    if setup.reading is not None:
        return [body["told"]]
    query, outcome = body["query"], np.asarray(body["outcome"], np.float32)
    if setup.has_words:
        return [_safe(setup.in_words(query, outcome))]
    half = spec.outcome_size // 2
    return [
        "" if spec.outcome_flags and not outcome[half + i] else str(outcome[i])
        for i in _shown_entries(rules)
    ]


def _shown_entries(rules: SessionRules) -> list[int]:
    """Entries of an outcome that are told after a query."""
    spec = rules.setup.family.spec
    size = spec.outcome_size // 2 if spec.outcome_flags else spec.outcome_size
    return [i for i in range(size) if i not in spec.reset_entries]


def _safe(word: str) -> str:
    """A word that no spreadsheet takes for a formula; numbers stay what they are."""
    is_formula = word[:1] in ("=", "+", "-", "@", "\t", "\r", "\n")
    return f"'{word}" if is_formula and not _NUMBER.fullmatch(word) else word
