"""How far a case may lie from the row that it is like, feature by feature."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import chi2

from icpe.integrations.tables.encoding import Feature

_SELDOM = 1e-3
"""Probability that what was always known is not."""
_GAP_LEVEL = 0.01
"""Probability that gaps without meaning are taken for telling ones in any column."""
_MOST_REPRESENTATIVES = 24
_MOST_COMPARED = 512


@dataclasses.dataclass(frozen=True)
class Smoothing:
    """How much rows are smeared.

    Attributes:
        width: standard deviation of the move between ordered cells, as a share of
            their number; words change with 1.5 times that probability.
        floor: probability that a feature is drawn from all rows instead, which bounds
            how much one answer can say against a row.
    """

    width: float
    floor: float


def feature_kernels(
    features: Sequence[Feature],
    cells: Int[np.ndarray, "rows features"],
    how: Smoothing,
    telling: Sequence[bool],
) -> Float[np.ndarray, "features cells cells"]:
    """Probability of each cell in a case, given the cell of its row.

    Args:
        features: how columns are cut into cells.
        cells: of the rows, 0 where a value is not known.
        how: how much rows are smeared.
        telling: of which features a gap says something; of the others it is as probable
            in every row, and a row with a gap may be like any case.
    """
    width = 1 + max(it.num_cells for it in features)
    tables = np.zeros((len(features), width, width), np.float32)
    for index, feature in enumerate(features):
        own = cells[:, index]
        number = feature.num_cells
        counts = np.bincount(own, minlength=number + 1)[: number + 1]
        marginal = (counts[1:] + 0.5) / (counts[1:] + 0.5).sum()
        table = tables[index]
        table[1 : number + 1, 1 : number + 1] = _moves(feature, marginal, how)
        table[0, 1 : number + 1] = marginal
        share = counts[0] / len(own)
        if telling[index]:
            unknown = _unknown(share, number + 1, how)
        else:
            unknown = np.full(number + 1, np.clip(share, _SELDOM, 1 - _SELDOM))
        table[: number + 1, 1:] *= 1.0 - unknown[:, None]
        table[: number + 1, 0] = unknown
        table[number + 1 :] = table[0]  # no row is there
    return tables


def _moves(
    feature: Feature, marginal: Float[np.ndarray, "cells"], how: Smoothing
) -> Float[np.ndarray, "cells cells"]:
    number = feature.num_cells
    if feature.is_ordered:
        steps = np.arange(number)
        apart = np.square(steps[:, None] - steps[None])
        near = np.exp(-apart / (2 * np.square(how.width * number)))
        near /= near.sum(axis=1, keepdims=True)
    else:
        changed = min(0.9, 1.5 * how.width)
        near = (1 - changed) * np.eye(number) + changed * marginal
    return (1 - how.floor) * near + how.floor * marginal


def telling_gaps(
    features: Sequence[Feature],
    cells: Int[np.ndarray, "rows features"],
    labels: Int[np.ndarray, "rows"],
) -> tuple[bool, ...]:
    """Of which features the gaps depend on the class.

    Pearson's test of independence of gap and class, at a level for all features
    together. Elsewhere a gap is taken to say nothing: few rows have one, and by chance
    they may be of one class. A column of a single value says something by its gaps or
    not at all.
    """
    level = _GAP_LEVEL / max(1, len(features))
    return tuple(
        feature.num_cells == 1 or _depends(cells[:, index] == 0, labels, level)
        for index, feature in enumerate(features)
    )


def _depends(
    gap: Bool[np.ndarray, "rows"], labels: Int[np.ndarray, "rows"], level: float
) -> bool:
    if not gap.any() or gap.all():
        return False
    counts = np.zeros((2, labels.max() + 1))
    np.add.at(counts, (gap.astype(int), labels), 1)
    # Classes of so few rows that less than one gap is expected are one class here.
    small = counts.sum(axis=0) * gap.mean() < 1
    counts = np.column_stack([counts[:, ~small], counts[:, small].sum(axis=1)])
    counts = counts[:, counts.any(axis=0)]
    if counts.shape[1] < 2:
        return False
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic = np.sum(np.square(counts - expected) / expected)
    return bool(chi2.sf(statistic, counts.shape[1] - 1) < level)


def _unknown(share: float, number: int, how: Smoothing) -> Float[np.ndarray, "cells"]:
    """Probability that a telling feature is not known, by the cell of its row."""
    alike = np.clip(1.0 - 1.5 * how.width - how.floor, 0.1, 0.95)
    chances = np.full(number, (1 - alike) * share)
    chances[0] += alike
    return np.clip(chances, _SELDOM, 1 - _SELDOM)


def codes_of(
    groups: Sequence[Sequence[int]],
    cells: Int[np.ndarray, "rows features"],
    kernels: Float[np.ndarray, "features cells cells"],
    representatives: Sequence[Int[np.ndarray, "codes"] | None],
) -> tuple[Int[np.ndarray, "rows queries"], Float[np.ndarray, "queries codes codes"]]:
    """What each query shows of each row as a code, and how codes move.

    Of a single feature the code is the cell. Of a group it is the number of the
    representative that the row is most like.
    """
    sizes = [len(it) for it in representatives if it is not None]
    width = max(kernels.shape[1], *sizes) if sizes else kernels.shape[1]
    codes = np.zeros((len(cells), len(groups)), np.int64)
    tables = np.zeros((len(groups), width, width), np.float32)
    for query, (group, chosen) in enumerate(zip(groups, representatives, strict=True)):
        if chosen is None:
            size = kernels.shape[1]
            codes[:, query] = cells[:, group[0]]
            tables[query, :size, :size] = kernels[group[0]]
            continue
        likeness = _likeness(group, cells, cells[chosen], kernels)
        own = np.argmax(likeness, axis=1)
        codes[:, query] = own
        shares = np.bincount(own, minlength=len(chosen)) / len(own)
        moved = likeness + np.log(np.maximum(shares, 1e-9))
        moved = np.exp(moved - moved.max(axis=1, keepdims=True))
        moved /= moved.sum(axis=1, keepdims=True)
        for code in range(len(chosen)):
            rows = moved[own == code] if (own == code).any() else moved
            tables[query, code, : len(chosen)] = rows.mean(axis=0)
    return codes, tables


def representatives_of(
    groups: Sequence[Sequence[int]],
    cells: Int[np.ndarray, "rows features"],
    kernels: Float[np.ndarray, "features cells cells"],
    random: np.random.Generator,
) -> list[Int[np.ndarray, "codes"] | None]:
    """For each group of several features a few rows that are unlike each other."""
    found: list[Int[np.ndarray, "codes"] | None] = []
    for group in groups:
        if len(group) == 1:
            found.append(None)
            continue
        _, distinct = np.unique(cells[:, list(group)], axis=0, return_index=True)
        distinct = random.permutation(distinct)[:_MOST_COMPARED]
        likeness = _likeness(group, cells[distinct], cells[distinct], kernels)
        away = np.diag(likeness)[None] - likeness
        chosen = [0]
        nearest = away[:, 0]
        while len(chosen) < min(_MOST_REPRESENTATIVES, len(distinct)):
            chosen.append(int(np.argmax(nearest)))
            nearest = np.minimum(nearest, away[:, chosen[-1]])
        found.append(distinct[chosen])
    return found


def _likeness(
    group: Sequence[int],
    rows: Int[np.ndarray, "rows features"],
    others: Int[np.ndarray, "others features"],
    kernels: Float[np.ndarray, "features cells cells"],
) -> Float[np.ndarray, "rows others"]:
    """Log-probability that each row becomes each of the others, in a group."""
    total = np.zeros((len(rows), len(others)))
    for feature in group:
        chances = kernels[feature][rows[:, feature][:, None], others[:, feature][None]]
        total += np.log(np.maximum(chances, 1e-12))
    return total
