"""How an outcome is asked for on the page, and read from what was entered."""

import dataclasses
from typing import Any, Literal

from icpe.core.errors import InvalidOutcomeError
from icpe.core.family import AbstractTaskFamily
from icpe.core.spec import TaskSpec
from icpe.service.page.forms import Form

Kind = Literal["labels", "pixels", "numbers", "some numbers", "values"]
NOT_KNOWN = "not known"
_MOST_BUTTONS = 9


@dataclasses.dataclass(frozen=True)
class Field:
    """A field for one outcome entry; `words` are to choose from, none for a number."""

    name: str
    label: str
    entry: int
    words: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Entry:
    """What is to be entered for an outcome.

    `kind` is "labels" for one button each, "pixels" for a picture, "some numbers"
    where those that were not revealed are left empty, "values" where those that are
    not known are, else "numbers".
    """

    kind: Kind
    labels: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    shape: tuple[int, ...] = ()


def entry_of(family: AbstractTaskFamily, query: int | None) -> Entry:
    """What is entered for the outcome of a query."""
    spec, answers = family.spec, family.answers()
    if answers is not None and query is not None:
        parts = answers.parts(query)
        if len(parts) == 1 and 0 < len(parts[0].words) < _MOST_BUTTONS:
            return Entry("labels", (*parts[0].words, NOT_KNOWN))
        fields = [
            Field(
                f"value-{i}",
                f"{it.name} in {it.unit}" if it.unit else it.name,
                i,
                it.words,
            )
            for i, it in enumerate(parts)
        ]
        return Entry("values", fields=tuple(fields))
    named = spec.labels(query)
    if named:
        return Entry("labels", tuple(word for word, _ in named))
    shown = range(spec.outcome_size)
    if spec.outcome_flags:
        return Entry("some numbers", fields=_fields(spec, shown[: len(shown) // 2]))
    if spec.outcome_shape:
        return Entry("pixels", fields=_fields(spec, shown), shape=spec.outcome_shape)
    kept = [entry for entry in shown if entry not in spec.reset_entries]
    return Entry("numbers", fields=_fields(spec, kept))


def first_entry_of(spec: TaskSpec) -> Entry:
    """What is entered for what the task reveals before any query."""
    entries = spec.reset_entries or range(spec.outcome_size)
    return Entry("numbers", fields=_fields(spec, entries))


def read_entry(form: Form, family: AbstractTaskFamily, query: int | None) -> list[Any]:
    """The outcome that was entered, or an answer that the family reads.

    Raises:
        InvalidOutcomeError: something is missing, or there is no such label.
        InvalidParameterError: something is no number.
    """
    spec, entry = family.spec, entry_of(family, query)
    if entry.kind == "values":
        return [form.text(field.name) for field in entry.fields]
    if entry.kind == "labels":
        label = form.whole("label")
        if label is None or not 0 <= label < len(entry.labels):
            raise InvalidOutcomeError(
                f"Choose one of the answers: {', '.join(entry.labels)}."
            )
        if family.answers() is not None:
            word = entry.labels[label]
            return [word if label < len(entry.labels) - 1 else None]
        return list(spec.labels(query)[label][1])
    outcome = [0.0] * spec.outcome_size
    half = spec.outcome_size // 2
    for field in entry.fields:
        value = form.number(field.name)
        if entry.kind == "some numbers":
            outcome[half + field.entry] = float(value is not None)
        elif value is None:
            raise InvalidOutcomeError(f"{field.label} is missing; enter a number.")
        outcome[field.entry] = value or 0.0
    if entry.kind == "some numbers" and not any(outcome[half:]):
        raise InvalidOutcomeError("Enter at least one of the numbers.")
    return outcome


def read_first_entry(form: Form, spec: TaskSpec) -> list[float] | None:
    """What was revealed before any query, None if nothing was entered."""
    outcome = [0.0] * spec.outcome_size
    values = [
        (it, form.number(f"first-{it.name}")) for it in first_entry_of(spec).fields
    ]
    if all(value is None for _, value in values):
        return None
    for field, value in values:
        if value is None:
            raise InvalidOutcomeError(f"{field.label} is missing; enter a number.")
        outcome[field.entry] = value
    return outcome


def _fields(spec: TaskSpec, entries) -> tuple[Field, ...]:
    return tuple(Field(f"value-{i}", spec.outcome_name(i), i) for i in entries)
