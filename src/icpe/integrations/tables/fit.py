"""From rows and their classes to a family of cases like them.

What is learned is how far cases lie from rows (`Smoothing`): the values with the least
log loss when every row is asked about, feature by feature, with itself left out.
"""

import dataclasses
import warnings
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from icpe.core.errors import InvalidParameterError
from icpe.core.progress import AbstractProgress
from icpe.families.table import CaseTable
from icpe.families.table.columns import is_missing
from icpe.integrations.tables.asked import Costs, Groups, Measurement, measurements
from icpe.integrations.tables.encoding import (
    Feature,
    make_feature,
    padded_edges,
    padded_values,
    range_of,
)
from icpe.integrations.tables.giveaways import warn_of_giveaways
from icpe.integrations.tables.kernels import (
    Smoothing,
    codes_of,
    feature_kernels,
    representatives_of,
    telling_gaps,
)
from icpe.integrations.tables.left_out import Plays, play
from icpe.integrations.tables.rare import warn_of_rare_classes
from icpe.integrations.tables.reading import Column
from icpe.integrations.tables.related_rows import copies, subject_columns
from icpe.integrations.tables.rows import Prototypes, prototypes, split_rows

USUAL_HORIZON = 32
"""Queries for a case at most, if nobody says otherwise."""
_START = Smoothing(width=0.15, floor=0.05)
_WIDTHS = (0.06, 0.09, 0.15, 0.22, 0.32, 0.5)
_FLOORS = (0.02, 0.05, 0.12, 0.25)
_NUM_TRIED = 320
_TRIED_STEPS = 12
_NO_ROW = -1e9
_MANY_CLASSES = 0.3
"""Of the rows; with so many, and more than a few, the target is a number or a name."""
_FEW_CLASSES = 10


@dataclasses.dataclass(frozen=True)
class FittedTable:
    """A family that was made of a table, and what was found on the way.

    Attributes:
        family: cases like the rows.
        features: how the columns that count are cut into cells.
        columns: where each of these stands in the table.
        smoothing: how far cases lie from rows.
        plays: every judged row asked about with itself left out.
        labels: the classes of the judged rows.
        rows_by_class: how many rows of each class there are, held-out ones included.
        rows_compared: how many rows cases are compared with, or one that stands for
            several.
    """

    family: CaseTable
    features: tuple[Feature, ...]
    columns: tuple[int, ...]
    smoothing: Smoothing
    plays: Plays
    labels: Int[np.ndarray, "judged"]
    rows_by_class: tuple[int, ...]
    rows_compared: int

    def cells(self, columns: Sequence[Column]) -> Int[np.ndarray, "rows features"]:
        """New rows as cells."""
        return _encode(self.features, [columns[place] for place in self.columns])


def fit_table(
    columns: Sequence[Column],
    labels: Int[np.ndarray, "rows"],
    classes: Sequence[str],
    *,
    groups: Groups = None,
    costs: Costs = None,
    max_queries: int | None = None,
    held_out: float = 0.2,
    subjects: Sequence[object] | np.ndarray | None = None,
    beside: Sequence[Column] = (),
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> FittedTable:
    """Makes a family of a table.

    Args:
        columns: the features.
        labels: the class of each row, counted from 0.
        classes: their names.
        groups: features that are measured together; see `measurements`.
        costs: of the measurements.
        max_queries: the most queries for a case; 32 or as many as there are, if None.
        held_out: share of the rows that nothing is made of, for certificates.
        subjects: what each row is about, such as a patient, where several rows may be
            about one; these are held out together, and count as one.
        beside: columns that are never asked for, such as dates, which tell copies of
            rows from cases that are alike.
        seed: of the choice of these rows.
        progress: receives the rows that are played.

    Raises:
        InvalidParameterError: there is but one class, a class has one row, or no column
            has two values.
    """
    labels = np.asarray(labels)
    owners = None if subjects is None else _numbered(subjects, len(labels))
    columns, labels, owners = _without_copies(columns, labels, owners, beside)
    _check_classes(labels, classes)
    if owners is None:
        _warn_of_subjects(subject_columns(columns, labels))
    asked = measurements([it.name for it in columns], groups, costs)
    random = np.random.default_rng(seed)
    split = split_rows(labels, held_out, random, owners)
    seen = [column.rows(split.fit) for column in columns]
    made = [make_feature(column) for column in seen]
    kept = [
        i
        for i, it in enumerate(made)
        if it.num_cells > 1 or _is_known_at_times(it, seen[i])
    ]
    _say_constant([columns[i].name for i in range(len(columns)) if i not in kept])
    if not kept:
        raise InvalidParameterError(
            "There is no column with two different values, so no question can tell "
            "classes apart; add a feature."
        )
    features = tuple(
        dataclasses.replace(made[i], range=range_of(columns[i])) for i in kept
    )
    asked = _without_constant(asked, kept)
    cells = _encode(features, [seen[i] for i in kept])
    own = labels[split.fit]
    if owners is not None:
        _check_classes(own, classes, "Without the subjects put aside, the")
        owners = owners[split.fit]
    warn_of_giveaways(features, cells, own)
    warn_of_rare_classes(labels, classes)
    rows = prototypes(cells, own, len(classes), len(asked), random, owners)
    horizon = max_queries or min(USUAL_HORIZON, len(asked))
    telling = telling_gaps(features, cells, own)
    maker = _Maker(
        features, tuple(classes), asked, horizon, cells, telling, rows, random
    )
    smoothing = _best_smoothing(maker, own, random, progress)
    away = [column.rows(split.held_out) for column in columns]
    family = maker(
        smoothing,
        held_out=_encode(features, [away[i] for i in kept]),
        held_out_labels=labels[split.held_out],
    )
    plays = play(family, cells[rows.judged], rows.own, progress=progress)
    counts = tuple(map(int, np.bincount(labels, minlength=len(classes))))
    return FittedTable(
        family,
        features,
        tuple(kept),
        smoothing,
        plays,
        own[rows.judged],
        counts,
        int(rows.weight.sum()),
    )


class _Maker:
    """Makes the family for a smoothing; all else stays the same."""

    def __init__(
        self,
        features: tuple[Feature, ...],
        classes: tuple[str, ...],
        asked: list[Measurement],
        horizon: int,
        cells: Int[np.ndarray, "rows features"],
        telling: tuple[bool, ...],
        rows: Prototypes,
        random: np.random.Generator,
    ):
        self.features, self.cells, self.rows = features, cells, rows
        self._telling = telling
        flat = rows.rows.reshape(-1)
        self._there = flat >= 0
        self._own = cells[flat[self._there]]
        self._shape = rows.rows.shape
        groups = tuple(it.features for it in asked)
        kernels = feature_kernels(features, self._own, _START, telling)
        self._chosen = representatives_of(groups, self._own, kernels, random)
        costs = tuple(it.cost for it in asked)
        units = tuple(it.unit for it in features)
        weight = rows.weight / rows.weight.sum()
        self._fixed = {
            "features": tuple(it.name for it in features),
            "classes": classes,
            "groups": groups,
            "query_names": tuple(it.name for it in asked),
            "levels": tuple(it.levels for it in features),
            "units": units if any(units) else (),
            "marks": tuple(it.marks for it in features),
            "ranges": tuple(it.range for it in features),
            "costs": () if set(costs) == {1.0} else costs,
            "horizon": horizon,
            "cells": self._padded(self._own),
            "log_weight": np.where(
                weight > 0, np.log(np.maximum(weight, 1e-30)), _NO_ROW
            ),
            "edges": padded_edges(list(features)),
            "values": padded_values(list(features)),
        }

    def __call__(
        self,
        how: Smoothing,
        held_out: Int[np.ndarray, "cases features"] | None = None,
        held_out_labels: Int[np.ndarray, "cases"] | None = None,
    ) -> CaseTable:
        kernel = feature_kernels(self.features, self._own, how, self._telling)
        groups = self._fixed["groups"]
        codes, code_kernel = codes_of(groups, self._own, kernel, self._chosen)
        nobody = np.zeros((0, len(self.features)), int)
        return CaseTable(
            **self._fixed,
            kernel=jnp.asarray(kernel),
            codes=jnp.asarray(self._padded(codes)),
            code_kernel=jnp.asarray(code_kernel),
            held_out=jnp.asarray(nobody if held_out is None else held_out),
            held_out_labels=jnp.asarray(
                np.zeros(0, int) if held_out_labels is None else held_out_labels
            ),
        )

    def _padded(self, values: np.ndarray) -> np.ndarray:
        table = np.zeros((self._there.size, values.shape[1]), int)
        table[self._there] = values
        return table.reshape(*self._shape, values.shape[1])


def _best_smoothing(
    maker: _Maker,
    labels: Int[np.ndarray, "rows"],
    random: np.random.Generator,
    progress: AbstractProgress | None,
) -> Smoothing:
    """The width, then the floor, of the least log loss on rows left out."""
    rows = maker.rows
    tried = random.permutation(len(rows.judged))[:_NUM_TRIED]
    cells, own = maker.cells[rows.judged[tried]], rows.own[tried]
    truth = labels[rows.judged[tried]]
    losses: dict[Smoothing, float] = {}

    def loss(how: Smoothing) -> float:
        if how not in losses:
            steps = min(_TRIED_STEPS, maker(how).spec.num_queries)
            losses[how] = play(maker(how), cells, own, steps=steps).log_loss(truth)
        return losses[how]

    best = _START
    for name, values in (("width", _WIDTHS), ("floor", _FLOORS)):
        place = values.index(getattr(best, name))
        for step in (1, -1):  # downhill on each side, as far as it goes down
            at = place + step
            while 0 <= at < len(values):
                other = dataclasses.replace(best, **{name: values[at]})
                if loss(other) >= loss(best):
                    break
                best, at = other, at + step
    return best


def _encode(
    features: Sequence[Feature], columns: Sequence[Column]
) -> Int[np.ndarray, "rows features"]:
    pairs = zip(features, columns, strict=True)
    return np.stack([feature.cells(column) for feature, column in pairs], axis=1)


def _is_known_at_times(feature: Feature, column: Column) -> bool:
    """Whether a column of one value tells something by being empty."""
    unknown = np.sum(feature.cells(column) == 0)
    return feature.num_cells == 1 and bool(0 < unknown < len(column))


def _without_constant(asked: list[Measurement], kept: list[int]) -> list[Measurement]:
    """The queries with their features counted among those that were kept."""
    place = {feature: i for i, feature in enumerate(kept)}
    found = []
    for it in asked:
        own = tuple(place[feature] for feature in it.features if feature in place)
        if own:
            found.append(it._replace(features=own))
    return found


def _numbered(subjects: Sequence[object] | np.ndarray, number: int) -> np.ndarray:
    """A number for each subject."""
    if len(subjects) != number:
        raise InvalidParameterError(
            f"subjects must name one subject for each of the {number} rows; got "
            f"{len(subjects)}."
        )
    if any(map(is_missing, subjects)):
        raise InvalidParameterError(
            "subjects must name one subject for each row; some are missing."
        )
    return np.unique([str(it) for it in subjects], return_inverse=True)[1].reshape(-1)


def _without_copies(
    columns: Sequence[Column],
    labels: Int[np.ndarray, "rows"],
    owners: Int[np.ndarray, "rows"] | None,
    beside: Sequence[Column],
) -> tuple[Sequence[Column], np.ndarray, np.ndarray | None]:
    """Each row once, since a copy might be held out and learned from."""
    twice = copies(columns, labels) | copies(columns, labels, beside)
    if not twice.any():
        return columns, labels, owners
    warnings.warn(
        f"{twice.sum()} of {len(labels)} rows are copies of others, and are left out: "
        "a certificate must not count cases that were learned from.",
        stacklevel=4,
    )
    kept = np.flatnonzero(~twice)
    owners = None if owners is None else owners[kept]
    return [column.rows(kept) for column in columns], labels[kept], owners


def _warn_of_subjects(names: Sequence[str]) -> None:
    for name in names:
        warnings.warn(
            f"Column {name!r} seems to identify the subject of a row: rows with the "
            "same value are of one class. If so, name it as the subject (--subject, or "
            "subjects= in Python), so that no row about a subject is held out while "
            "another is learned from; if it is a finding, leave it as it is.",
            stacklevel=4,
        )


def _check_classes(
    labels: Int[np.ndarray, "rows"], classes: Sequence[str], what: str = "The"
) -> None:
    if len(classes) < 2:
        raise InvalidParameterError(
            f"The target must have at least two classes; got one class, {classes[0]!r}."
        )
    counts = np.bincount(labels, minlength=len(classes))
    for name, count in zip(classes, counts, strict=True):
        many = max(_FEW_CLASSES, _MANY_CLASSES * len(labels))
        if count < 2 and len(classes) > many:
            raise InvalidParameterError(
                f"The target has {len(classes)} different values in {len(labels)} "
                "rows; classes must be few, so cut a number into ranges, or choose "
                "another column."
            )
        if count < 2:
            raise InvalidParameterError(
                f"{what} target has {'no' if count == 0 else count} row of class "
                f"{name!r}; a class needs at least two rows, so add some, or leave the "
                "class out."
            )


def _say_constant(names: list[str]) -> None:
    if names:
        shown = ", ".join(map(repr, names[:8])) + (" .." if len(names) > 8 else "")
        what = "Column" if len(names) == 1 else "Columns"
        warnings.warn(
            f"{what} {shown} with a single value will never be asked for.",
            stacklevel=4,
        )
