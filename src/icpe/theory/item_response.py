"""Item response models: how probable each answer is at an ability.

The models are the two- and three-parameter logistic (Birnbaum 1968) and the graded
response model (Samejima 1969). With thresholds b_1 < .. < b_K,

    P(answer >= k | ability) = c + (1 - c) / (1 + exp(-a (ability - b_k))),

where c is 0 unless K = 1. Items with fewer thresholds have infinite ones at the end.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, ndtr

_LEAST = 1e-12


class Items(NamedTuple):
    """Slope a, thresholds b and guessing c of each item."""

    slope: Float[np.ndarray, "items"]
    thresholds: Float[np.ndarray, "items thresholds"]
    guess: Float[np.ndarray, "items"]


class Quadrature(NamedTuple):
    """Abilities in cells: their middles, probabilities and bands."""

    nodes: Float[np.ndarray, "nodes"]
    mass: Float[np.ndarray, "nodes"]
    bands: np.ndarray


def quadrature(
    cuts: Float[np.ndarray, "cuts"],
    mean: float,
    deviation: float,
    *,
    cells: int = 181,
    widest: float = 4.5,
) -> Quadrature:
    """Cells of a normal ability, none of which a cut divides.

    Abilities beyond `widest` standard deviations belong to the outermost cells.
    """
    inner = np.linspace(-widest, widest, cells + 1)[1:-1]
    standard = (np.asarray(cuts, float) - mean) / deviation
    low, high = min(-widest, standard[0] - 0.5), max(widest, standard[-1] + 0.5)
    edges = np.unique(np.concatenate([[low], inner, standard, [high]]))
    middles = (edges[1:] + edges[:-1]) / 2
    outer = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    mass = np.where(
        outer[1:] > 0,
        ndtr(-outer[:-1]) - ndtr(-outer[1:]),
        ndtr(outer[1:]) - ndtr(outer[:-1]),
    )
    nodes = mean + deviation * middles
    bands = (nodes[:, None] > np.asarray(cuts)).sum(axis=1)
    return Quadrature(nodes, mass / mass.sum(), bands)


def at_least(
    items: Items, abilities: Float[np.ndarray, "n"]
) -> Float[np.ndarray, "n items thresholds"]:
    """P(answer >= k) for k = 1, 2, .. at each ability."""
    rise = items.slope[:, None] * (abilities[:, None, None] - items.thresholds)
    guess = items.guess[:, None]
    return np.where(
        np.isfinite(items.thresholds), guess + (1.0 - guess) * expit(rise), 0.0
    )


def answer_probabilities(
    items: Items, abilities: Float[np.ndarray, "n"]
) -> Float[np.ndarray, "n items answers"]:
    """P(answer = k) for k = 0, 1, .. at each ability."""
    above = at_least(items, abilities)
    ends = np.ones_like(above[..., :1])
    steps = np.concatenate([ends, above, 0 * ends], axis=-1)
    return np.maximum(steps[..., :-1] - steps[..., 1:], 0.0)


def fisher_information(
    items: Items, abilities: Float[np.ndarray, "n"]
) -> Float[np.ndarray, "n items"]:
    """Of one answer to each item about the ability: the sum of P'(k)^2 / P(k)."""
    rise = items.slope[:, None] * (abilities[:, None, None] - items.thresholds)
    bell = expit(rise) * expit(-rise)
    slopes = (1.0 - items.guess[:, None]) * items.slope[:, None] * bell
    slopes = np.where(np.isfinite(items.thresholds), slopes, 0.0)
    ends = np.zeros_like(slopes[..., :1])
    steps = np.concatenate([ends, slopes, ends], axis=-1)
    change = steps[..., :-1] - steps[..., 1:]
    chances = np.maximum(answer_probabilities(items, abilities), _LEAST)
    return np.sum(np.square(change) / chances, axis=-1)
