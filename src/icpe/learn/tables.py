"""Tables of predictions, counted from simulated answers.

Every query is put to many tasks right after their reset. Where tasks of one hypothesis
differ in their answers by more than noise, they are clustered into several classes.
"""

import numpy as np
from jaxtyping import Int

from icpe.learn.answers import Answers
from icpe.learn.tally import Kind, Tally
from icpe.nets.predictions import Predictions

_NUM_DIRECTIONS = 48
_NUM_ROUNDS = 12


def cluster(answers: Answers, num_each: int, seed: int) -> Int[np.ndarray, "tasks"]:
    """A class for each task: `num_each` for every hypothesis, by their mean answers."""
    random = np.random.default_rng(seed)
    hypothesis = answers.hypothesis
    if num_each == 1:
        return hypothesis
    points = np.concatenate([answers.means(), _scaled_first(answers)], axis=1)
    if points.shape[1] > _NUM_DIRECTIONS:
        directions = random.standard_normal((points.shape[1], _NUM_DIRECTIONS))
        points = points @ directions.astype(np.float32)
    classes = np.zeros(len(points), np.int64)
    for h in range(answers.spec.num_hypotheses):
        members = np.flatnonzero(hypothesis == h)
        if len(members):
            found = _k_means(points[members], num_each, random)
            classes[members] = h * num_each + found
    return classes


def fit_classes(
    answers: Answers,
    classes: Int[np.ndarray, "tasks"],
    num_each: int,
    kind: Kind = "moments",
) -> Predictions:
    """The tables of given classes of tasks."""
    num_classes = answers.spec.num_hypotheses * num_each
    tally = Tally.of(answers, classes, num_classes)
    return tally.predictions(answers, kind)


def _scaled_first(answers: Answers):
    """What is revealed at reset, in units that keep tasks apart that differ in it."""
    first = answers.first - answers.first.mean(axis=0)
    spread = first.std(axis=0)
    scale = 10.0 * np.sqrt(np.square(answers.means()).sum(axis=1).mean() + 1e-9)
    return (scale * first / np.maximum(spread, 1e-9)).astype(np.float32)


def _k_means(points, number: int, random: np.random.Generator):
    """Lloyd's algorithm from random points."""
    if len(points) <= number:
        return np.arange(len(points))
    centers = points[random.choice(len(points), number, replace=False)]
    for _ in range(_NUM_ROUNDS):
        nearest = _closest(points, centers)
        sums = np.zeros_like(centers)
        np.add.at(sums, nearest, points)
        sizes = np.bincount(nearest, minlength=number)[:, None]
        centers = np.where(sizes > 0, sums / np.maximum(sizes, 1), centers)
    return _closest(points, centers)


def _closest(points, centers):
    squares = np.square(centers).sum(axis=1) - 2 * points @ centers.T
    return np.argmin(squares, axis=1)
