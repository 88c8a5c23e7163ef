"""Which rows are for what: to be like, to measure with, and to be judged on.

The rows to be judged on are taken away before anything else looks at the table.
"""

import dataclasses

import numpy as np
from jaxtyping import Int

from icpe.core.checks import check_share_of_rows
from icpe.core.errors import InvalidParameterError
from icpe.integrations.tables.related_rows import one_of_each

MOST_ROWS = 2048
"""Rows that a family is made of; of more, one stands for several like it."""
_MOST_BYTES = 3 * 2**20
_MOST_LEFT_OUT = 2000


@dataclasses.dataclass(frozen=True)
class Split:
    """Numbers of rows, for the fit and for certificates."""

    fit: Int[np.ndarray, "fit"]
    held_out: Int[np.ndarray, "cases"]


def split_rows(
    labels: Int[np.ndarray, "rows"],
    share: float,
    random: np.random.Generator,
    subjects: Int[np.ndarray, "rows"] | None = None,
) -> Split:
    """Takes a share of every class away; at least two rows of each stay.

    Rows of one subject are taken away together, and a random one of them is kept to be
    judged on: those of one subject do not count as several cases.

    Raises:
        InvalidParameterError: the share is not one.
    """
    check_share_of_rows("held_out", share)
    single = np.arange(len(labels))
    if subjects is not None:
        single = one_of_each(subjects, random)
    away = []
    for label in np.unique(labels):
        rows = random.permutation(single[labels[single] == label])
        number = min(round(share * len(rows)), max(0, len(rows) - 2))
        away.append(rows[:number])
    held_out = np.sort(np.concatenate(away))
    gone = held_out
    if subjects is not None:
        gone = np.flatnonzero(np.isin(subjects, subjects[held_out]))
    return Split(np.setdiff1d(np.arange(len(labels)), gone), held_out)


@dataclasses.dataclass(frozen=True)
class Prototypes:
    """The rows that cases are like, class by class, all classes padded to one length.

    Attributes:
        rows: numbers of rows; -1 where there is none.
        weight: how many rows each stands for; 0 where there is none.
        judged: rows on which smoothing and thresholds are measured.
        own: which prototype each of these is, counted class by class; -1 if none.
    """

    rows: Int[np.ndarray, "classes rows"]
    weight: Int[np.ndarray, "classes rows"]
    judged: Int[np.ndarray, "judged"]
    own: Int[np.ndarray, "judged"]


def prototypes(
    cells: Int[np.ndarray, "rows features"],
    labels: Int[np.ndarray, "rows"],
    num_classes: int,
    num_queries: int,
    random: np.random.Generator,
    subjects: Int[np.ndarray, "rows"] | None = None,
) -> Prototypes:
    """All rows where they are few; else the middles of clusters of most of them.

    All rows can be judged, each with itself left out. Where one row stands for many, or
    several are about one subject, leaving it out would not leave out those that it
    stands for, or its siblings: so the rows that are judged are then others than those
    that prototypes were made of.
    """
    bytes_each = cells.shape[1] + num_queries
    largest = min(MOST_ROWS, _MOST_BYTES // bytes_each)
    counts = np.bincount(labels, minlength=num_classes)
    limit = _rows_each(counts, largest)
    everything = np.arange(len(labels))
    judged = random.permutation(everything)[:_MOST_LEFT_OUT]
    source = everything
    if counts.max() > limit:
        judged = random.permutation(everything)[: min(_MOST_LEFT_OUT, len(labels) // 4)]
        source = np.setdiff1d(everything, judged)
    if subjects is not None:
        judged = _one_each_to_judge(labels, subjects, random)
        source = np.flatnonzero(~np.isin(subjects, subjects[judged]))
    chosen, sizes = [], []
    for label in range(num_classes):
        rows = source[labels[source] == label]
        if not len(rows):  # all rows of a rare class were to be judged
            rows = everything[labels == label]
            judged = np.setdiff1d(judged, rows)
        middles, weights = _middles(cells, rows, limit)
        chosen.append(middles)
        sizes.append(weights)
    length = max(map(len, chosen))
    table = np.full((num_classes, length), -1)
    weight = np.zeros((num_classes, length), int)
    for label, (rows, weights) in enumerate(zip(chosen, sizes, strict=True)):
        table[label, : len(rows)] = rows
        weight[label, : len(rows)] = weights
    place = np.full(len(labels), -1)
    flat = table.reshape(-1)
    place[flat[flat >= 0]] = np.flatnonzero(flat >= 0)
    judged = np.sort(judged)
    return Prototypes(table, weight, judged, place[judged])


def _one_each_to_judge(
    labels: Int[np.ndarray, "rows"],
    subjects: Int[np.ndarray, "rows"],
    random: np.random.Generator,
) -> Int[np.ndarray, "judged"]:
    """A row each of a quarter of the subjects; of every class some subject is left.

    Raises:
        InvalidParameterError: there is no subject that could be spared.
    """
    single = random.permutation(one_of_each(subjects, random))
    has = np.zeros((subjects.max() + 1, labels.max() + 1), int)
    has[subjects, labels] = 1
    left, chosen = has.sum(axis=0), []
    for row in single:
        own = has[subjects[row]]
        if np.all(left[own > 0] > 1):
            left = left - own
            chosen.append(row)
        if len(chosen) >= min(_MOST_LEFT_OUT, max(1, len(single) // 4)):
            break
    if not chosen:
        raise InvalidParameterError(
            "Every subject is the only one of some class, so nothing can be measured "
            "without it; give several subjects of each class."
        )
    return np.array(chosen)


def _rows_each(counts: Int[np.ndarray, "classes"], largest: int) -> int:
    """The most rows of a class, so that all classes, padded, are no more than that."""
    return max(2, min(int(counts.max()), largest // len(counts)))


def _middles(
    cells: Int[np.ndarray, "rows features"], rows: Int[np.ndarray, "own"], limit: int
) -> tuple[Int[np.ndarray, "middles"], Int[np.ndarray, "middles"]]:
    """The rows themselves, or those nearest to the middles of clusters."""
    if len(rows) <= limit:
        return rows, np.ones(len(rows), int)
    from sklearn.cluster import MiniBatchKMeans

    own = cells[rows].astype(np.float32)
    spread = np.maximum(own.std(axis=0), 1e-6)
    scaled = own / spread
    clusters = MiniBatchKMeans(limit, n_init="auto", random_state=0, max_iter=20)
    clusters.fit(scaled)
    members = clusters.predict(scaled)
    middles, weights = [], []
    for cluster in np.unique(members):
        inside = np.flatnonzero(members == cluster)
        away = np.square(scaled[inside] - clusters.cluster_centers_[cluster]).sum(1)
        middles.append(rows[inside[np.argmin(away)]])
        weights.append(len(inside))
    return np.array(middles), np.array(weights)
