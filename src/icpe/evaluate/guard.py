"""Measures the guard of a trained explorer: the law of answers, and its limits.

Three sets of episodes never meet: on the first the law is counted, on the second the
limits are chosen, on the third the share of sessions that raise an alarm is bounded.
All are played by the shipped explorer at several operating points; the worst counts.
"""

import dataclasses
import itertools
import math
import zlib
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.artifact import Artifact
from icpe.artifact.guard import Guard, Limits, Scores
from icpe.artifact.outcome_law import AbstractOutcomeLaw
from icpe.artifact.saved_rule import SavedRule
from icpe.core.checks import check_at_least
from icpe.core.family import AbstractTaskFamily
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint, Regime
from icpe.evaluate.answers import Played, count_law
from icpe.evaluate.thresholds import beliefs_along
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.play.rollout import rollout
from icpe.theory.intervals import clopper_pearson_lower, clopper_pearson_upper

MOST_FALSE_ALARMS = 0.01
"""Share of whole sessions of the family; its upper bound is kept below."""
CONFIDENCE = 0.99
FIRST_ANSWERS = 3
"""That have limits of their own, and most of the false alarms."""
_SHARES = {"one": 0.1, "together": 0.2, "first_one": 0.1, "first_together": 0.6}
"""Of the false alarms. Other units show at once, in several answers together."""
_LIKELY = 0.95
"""Probability that limits with as many alarms as they are chosen for pass."""
_STREAM = 0x6A4D
_NUM_PRICES = 3
_LARGEST_CHUNK, _MOST_BELIEFS = 512, 2**25
"""Episodes that are played at once, and numbers in their beliefs."""
_LARGEST_SHARED = 2**13
"""Numbers in the beliefs of an episode that is kept for several operating points."""
FEWEST_EPISODES = 528
"""With fewer, even no alarm at all would not show that they are rare enough."""
_RAISE = 1.1
_MOST_TRIES = 12
_MOST_EPISODES = 2**20
_FEW = 2
"""Alarms that may differ by rounding when the same episodes are played again."""


def measure_guard(
    artifact: Artifact, *, episodes: int = 4096, seed: int = 0
) -> Guard | None:
    """The guard of an explorer, with limits that few of the family's sessions exceed.

    None where it has no belief at every step, or where no limits are high enough.

    Args:
        artifact: the explorer, of the universal learner or a rule.
        episodes: at each operating point, of each kind.
        seed: of the episodes, which nothing else draws.
    """
    if not isinstance(artifact.nets, ExplorerNets | SavedRule):
        return None
    check_at_least("episodes", episodes, FEWEST_EPISODES)
    stage = GuardStage(artifact, seed)
    points = stage.points("law", episodes)
    law = count_law(stage.spec, itertools.chain.from_iterable(points))
    limits = _limits(stage.scores("limits", episodes, law), _aimed_at(episodes))
    for attempt in range(_MOST_TRIES):
        if _bound(0, episodes, attempt) > MOST_FALSE_ALARMS:
            break  # so few episodes cannot show it any more
        found = stage.scores(f"check {attempt}", episodes, law)
        alarms = [int(each.exceeds(limits).sum()) for each in found]
        bound = _bound(max(alarms), episodes, attempt)
        if bound <= MOST_FALSE_ALARMS:
            record = {
                "seed": seed,
                "episodes": episodes,
                "attempt": attempt,
                "operating_points": stage.described,
                "one_set": stage.one_set,
                "alarms": alarms,
                "upper_bound": bound,
                "confidence": CONFIDENCE,
            }
            return Guard(law, limits, record)
        limits = limits.raised(_RAISE)
    return None


def count_alarms(artifact: Artifact, guard: Guard, episodes: int, *, seed: int):
    """Alarms at each operating point in fresh episodes of the family itself."""
    found = GuardStage(artifact, seed).scores("fresh", episodes, guard.law)
    return [int(each.exceeds(guard.limits).sum()) for each in found]


def guard_problems(
    artifact: Artifact, guard: Guard, *, seed: int | None = None
) -> Iterator[str]:
    """What speaks against the record of a guard, when its episodes are played again.

    With a seed fresh episodes are played, and only a contradiction counts.
    """
    record = guard.record
    try:
        episodes, attempt = int(record["episodes"]), int(record["attempt"])
        stated, recorded = float(record["upper_bound"]), list(record["alarms"])
        first = int(record["seed"])
    except (KeyError, TypeError, ValueError):
        yield "The record of the guard lacks what it was measured with."
        return
    if not FEWEST_EPISODES <= episodes < _MOST_EPISODES or not 0 <= attempt < 64:
        yield "The record of the guard has numbers that cannot be."
        return
    bound = _bound(max(recorded, default=0), episodes, attempt)
    if not math.isclose(bound, stated, rel_tol=1e-6) or bound > MOST_FALSE_ALARMS:
        yield (
            f"The alarms of the guard give the upper bound {bound:.4f}, not "
            f"{stated:.4f}, or more than {MOST_FALSE_ALARMS:g}."
        )
    one_set = bool(record.get("one_set", False))  # the first guards do not have it
    stage = GuardStage(artifact, first if seed is None else seed, one_set=one_set)
    name = f"check {attempt}" if seed is None else "fresh"
    found = stage.scores(name, episodes, guard.law)
    alarms = [int(each.exceeds(guard.limits).sum()) for each in found]
    if seed is None:
        apart = [abs(a - b) for a, b in zip(alarms, recorded, strict=False)]
        if len(alarms) != len(recorded) or max(apart) > _FEW + max(recorded) // 10:
            yield (
                f"The guard was recorded with {recorded} alarms in {episodes} "
                f"episodes; played again, they raise {alarms}."
            )
        return
    least = clopper_pearson_lower(max(alarms), episodes, CONFIDENCE)
    if least > MOST_FALSE_ALARMS:
        yield (
            f"Fresh episodes contradict the guard: {max(alarms)} alarms in {episodes} "
            "sessions of the family itself."
        )


def _bound(alarms: int, episodes: int, attempt: int) -> float:
    """Of the share of sessions with an alarm; attempts share the level."""
    level = (1.0 - CONFIDENCE) / 2 ** (attempt + 1)
    return float(clopper_pearson_upper(alarms, episodes, 1.0 - level))


class GuardStage:
    """Where the episodes are played, the same operating points for every set.

    What a rule asks does not depend on where it will stop, so one set of episodes to
    the horizon, cut at each doubt, serves all its operating points.

    Args:
        artifact: the explorer.
        seed: of the episodes.
        family: what it is put to; its own family if None.
        one_set: whether the operating points share their episodes; if None, wherever
            they can.
    """

    def __init__(
        self,
        artifact: Artifact,
        seed: int,
        family: AbstractTaskFamily | None = None,
        *,
        one_set: bool | None = None,
    ):
        nets = artifact.nets
        assert isinstance(nets, ExplorerNets | SavedRule)
        is_rule = isinstance(nets, SavedRule)
        self._mind = nets.explorer if is_rule else nets
        each = (artifact.family.spec.horizon + 1) * artifact.family.spec.num_hypotheses
        fits = is_rule and each <= _LARGEST_SHARED
        self.one_set = fits if one_set is None else one_set
        self._family = (artifact.family if family is None else family).with_data()
        self._key = jr.fold_in(jr.key(seed), _STREAM)
        self.spec = artifact.family.spec
        horizon = self.spec.horizon
        prices = np.geomspace(nets.prices.low, nets.prices.high, _NUM_PRICES + 1)[:-1]
        requests: list[dict[str, Any]] = [{"price": float(price)} for price in prices]
        requests.append({"budget": horizon})
        self.described = requests
        self._points = [OperatingPoint.at(horizon, **asked) for asked in requests]

    def scores(self, name: str, episodes: int, law: AbstractOutcomeLaw) -> list[Scores]:
        """What the guard sees in one set of episodes, at each operating point."""
        found = []
        for chunks in self.points(name, episodes):
            parts = [dataclasses.astuple(chunk.scores(law)) for chunk in chunks]
            found.append(Scores(*map(np.concatenate, zip(*parts, strict=True))))
        return found

    def points(self, name: str, episodes: int) -> Iterator[Iterator[Played]]:
        """One set of episodes, in chunks, operating point by operating point."""
        key = jr.fold_in(self._key, zlib.crc32(name.encode()))
        if self.one_set:
            whole = list(self.play(self._points[-1], episodes, key))
            for asked in self.described:
                yield (chunk.until(asked.get("price")) for chunk in whole)
            return
        for index, point in enumerate(self._points):
            yield self.play(point, episodes, jr.fold_in(key, index))

    def play(self, point: OperatingPoint, episodes: int, key) -> Iterator[Played]:
        """So many episodes at one operating point, in chunks."""
        each = (self.spec.horizon + 1) * self.spec.num_hypotheses
        size = min(episodes, _LARGEST_CHUNK, max(16, _MOST_BELIEFS // each))
        mixed = dataclasses.replace(point, regime=Regime.MIXED)
        for first in range(0, episodes, size):
            chunk_key = jr.fold_in(key, first)
            found = _play(self._mind, self._family, mixed, chunk_key, size)
            kept = min(size, episodes - first)
            yield Played(*(np.asarray(part)[:kept] for part in found))


@jit_program
def _play(
    mind: ExplorerNets | BeliefExplorer,
    family: AbstractTaskFamily,
    point,
    key,
    episodes: int,
) -> tuple:
    is_rule = isinstance(mind, BeliefExplorer)
    explorer = mind if is_rule else NeuralExplorer(mind.for_play())
    played = rollout(explorer, family, point, keys=jr.split(key, episodes))
    history = played.history
    if is_rule:
        found = beliefs_along(mind.belief, history)
    else:
        price = jnp.broadcast_to(point.price, (episodes,))
        caps = jnp.broadcast_to(point.max_queries, (episodes,))
        found = mind.along(mind.see(history), price, caps).log_posterior
    return (
        history.queries,
        history.outcomes[:, 1:],
        history.length,
        played.ending.hypothesis,
        jnp.exp(found[:, :-1]),
        history.outcomes[:, 0],
    )


def _aimed_at(episodes: int) -> float:
    """Share of sessions with an alarm that as many episodes can show to be rare."""
    alarms = 0
    while _bound(alarms + 1, episodes, 0) <= MOST_FALSE_ALARMS:
        alarms += 1
    return float(clopper_pearson_lower(alarms + 1, episodes, _LIKELY))


def _limits(chosen: list[Scores], aimed_at: float) -> Limits:
    """What few sessions exceed, at the first answers and later."""
    early, late = slice(None, FIRST_ANSWERS), slice(FIRST_ANSWERS, None)
    scores = {
        "one": [it.one[:, late] for it in chosen],
        "together": [it.together[:, late] for it in chosen],
        "first_one": [it.one[:, early] for it in chosen],
        "first_together": [it.wider[:, early] for it in chosen],
    }
    found = {
        name: _limit(scores[name], aimed_at * share) for name, share in _SHARES.items()
    }
    return Limits(**found, first=FIRST_ANSWERS, first_wider=True)


def _limit(chosen: list[np.ndarray], aimed_at: float) -> float:
    """The largest, over the operating points, of what few sessions exceed."""
    values = []
    for found in chosen:
        reached = found.max(axis=1, initial=-np.inf)
        reached = reached[np.isfinite(reached)]
        if len(reached):
            values.append(float(np.quantile(reached, 1.0 - aimed_at)))
    return max([0.1, *values])
