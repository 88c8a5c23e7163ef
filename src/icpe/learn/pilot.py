"""How far a greedy rule with the tables gets, before anything is learned."""

import dataclasses
import math

import jax
import numpy as np

from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.predicted import greedy_rule
from icpe.nets.evidence import AbstractPredictions
from icpe.play.rollout import Transcript, rollout

LONGEST_PILOT = 128
"""Queries of the greedy rule at most."""
_LEAST_TRUE = 0.6
"""Share of what is believed that must be true."""
_SHORT_OF_BEST = 0.003
_LEAST_PRICE = 2e-5
"""Of a query of mean cost."""
_SHORT = (0.01, 0.003)
"""Of the belief at the horizon: between them, the last queries are looked at."""


@dataclasses.dataclass(frozen=True)
class Pilot:
    """How far the greedy rule with the tables gets, threshold by threshold.

    Attributes:
        thresholds: of the posterior at which it stops.
        accuracy: share of right answers.
        mean_cost: of the queries made.
        mean_queries: number of queries made.
        at_horizon: accuracy after all queries that the horizon allows.
        sure_at_horizon: what the tables believe of that, which they may be wrong about.
        before: accuracy of the best guess before any query.
        last_slope: what the last queries add to the probability of being right, by
            their cost, shortly before the horizon adds nothing more.
    """

    thresholds: tuple[float, ...]
    accuracy: tuple[float, ...]
    mean_cost: tuple[float, ...]
    mean_queries: tuple[float, ...]
    at_horizon: float
    before: float
    sure_at_horizon: float = 1.0
    last_slope: float = math.inf

    @property
    def is_misled(self) -> bool:
        """Whether the tables believe much more than is true when they are acted on."""
        return self.at_horizon < _LEAST_TRUE * self.sure_at_horizon


def play_greedy(
    family: AbstractTaskFamily, predictions: AbstractPredictions, keys
) -> Transcript:
    """Episodes of the greedy rule with the tables, which never stops by itself."""
    spec = family.spec
    steps = min(spec.horizon, LONGEST_PILOT)
    explorer = greedy_rule(predictions, spec)
    point = OperatingPoint.at(spec.horizon, budget=steps)
    transcript = jit_program(rollout)(explorer, family, point, keys=keys)
    history = dataclasses.replace(
        transcript.history,
        queries=transcript.history.queries[:, :steps],
        outcomes=transcript.history.outcomes[:, : steps + 1],
    )
    return dataclasses.replace(transcript, history=history)


def fly_pilot(
    spec: TaskSpec,
    predictions: AbstractPredictions,
    trust: float,
    transcript: Transcript,
) -> Pilot:
    """What the greedy rule would have got, had it stopped at each threshold."""
    history = transcript.history
    steps = history.queries.shape[1]
    log_posterior = np.asarray(posteriors(predictions, history), float)
    prior = log_posterior[:, :1]
    logits = prior + trust * (log_posterior - prior)
    logits = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    length = np.asarray(history.length)
    last = np.minimum(np.arange(steps + 1)[None], length[:, None])
    rows = np.arange(len(length))[:, None]
    sure = np.exp(logits.max(axis=-1))[rows, last]
    truth = np.asarray(transcript.ending.hypothesis)[:, None]
    right = (logits.argmax(axis=-1) == truth)[rows, last]
    costs = np.asarray(spec.costs or (1.0,) * spec.num_queries)
    queries = np.asarray(history.queries)
    paid = np.where(queries >= 0, costs[np.maximum(queries, 0)], 0.0).cumsum(axis=1)
    paid = np.concatenate([np.zeros((len(paid), 1)), paid], axis=1)
    thresholds = 1.0 - np.geomspace(1.0 - sure[:, 0].mean() + 1e-9, 1e-4, 40)
    points = [_stop_at(threshold, sure, right, paid, last) for threshold in thresholds]
    accuracy, cost, made, sureness = np.array(points).T
    at_last = float(sure[:, -1].mean())
    return Pilot(
        thresholds=tuple(thresholds.tolist()),
        accuracy=tuple(accuracy.tolist()),
        mean_cost=tuple(cost.tolist()),
        mean_queries=tuple(made.tolist()),
        at_horizon=float(right[:, -1].mean()),
        before=float(right[:, 0].mean()),
        sure_at_horizon=at_last,
        last_slope=_last_slope(sureness, cost, at_last),
    )


def _last_slope(sureness, cost, at_last: float) -> float:
    """Infinite where so little is gained at one threshold."""
    first, second = (np.argmax(sureness >= at_last - short) for short in _SHORT)
    gained, paid = sureness[second] - sureness[first], cost[second] - cost[first]
    return float(gained / paid) if gained > 0 and paid > 0 else math.inf


def _stop_at(threshold: float, sure, right, paid, last) -> tuple[float, ...]:
    """Accuracy, mean cost, mean queries and mean belief of stopping at a threshold."""
    reaches = sure >= threshold
    stop = np.where(reaches.any(axis=1), reaches.argmax(axis=1), sure.shape[1] - 1)
    rows = np.arange(len(stop))
    made = last[rows, stop]
    return (
        float(right[rows, stop].mean()),
        float(paid[rows, made].mean()),
        float(made.mean()),
        float(sure[rows, stop].mean()),
    )


@jit_program
def posteriors(predictions: AbstractPredictions, history: History):
    """log P(h | D) by the tables at every position of every history."""
    states = jax.vmap(predictions.along)(history.queries, history.outcomes)
    return jax.vmap(jax.vmap(predictions.log_posterior))(states)


def piloted_prices(pilot: Pilot, spec: TaskSpec) -> tuple[float, float]:
    """From hardly worth a query to as accurate as the horizon allows.

    A query that removes a share g of the error 1 - S is worth its cost while price *
    cost < (1 - S) g; the greedy rule shows where it stops to be accurate enough.
    """
    slopes = [
        (accuracy - pilot.before) / cost
        for accuracy, cost in zip(pilot.accuracy, pilot.mean_cost, strict=True)
        if cost > 0
    ]
    high = 1.2 * max([1e-3 / spec.mean_cost, *slopes])
    best = max(pilot.at_horizon, *pilot.accuracy)
    low = price_for(1.0 - best + _SHORT_OF_BEST, pilot, spec)
    return max(min(low, high / 8), _LEAST_PRICE / spec.mean_cost), high


def prices_of_stops(pilot: Pilot, spec: TaskSpec) -> tuple[float, float]:
    """The same where each price has its best moment to stop: down to what the last
    queries of the horizon add."""
    low, high = piloted_prices(pilot, spec)
    return max(min(low, pilot.last_slope / 2), _LEAST_PRICE / spec.mean_cost), high


def price_for(error_prob: float, pilot: Pilot, spec: TaskSpec) -> float:
    """About the price at which the greedy rule stops with this error probability."""
    enough = [
        threshold
        for accuracy, threshold in zip(pilot.accuracy, pilot.thresholds, strict=True)
        if accuracy >= 1.0 - error_prob
    ]
    error = max(1.0 - min([1.0, *enough]), 1e-3)
    return 0.2 * error / spec.mean_cost
