"""A rule with a belief at every threshold, from one set of episodes.

What such a rule asks does not depend on where it will stop. So it is played to the
horizon once, and stopped afterwards wherever its posterior first reaches a threshold.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import PRNGKey
from icpe.core.belief import AbstractBelief
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.progress import AbstractProgress, NoProgress
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.evaluate.compare import CurvePoint
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.play.rollout import Transcript, rollout_chunks


@dataclasses.dataclass(frozen=True)
class ThresholdEpisodes:
    """Episodes of a rule that never stopped, position by position.

    Attributes:
        sure: the largest posterior probability.
        right: whether the most probable hypothesis is the truth.
        paid: cost so far.
        length: queries made; the positions after them are all alike.
    """

    sure: Float[np.ndarray, "episodes positions"]
    right: Bool[np.ndarray, "episodes positions"]
    paid: Float[np.ndarray, "episodes positions"]
    length: Int[np.ndarray, "episodes"]

    def stopped_at(self, threshold: float) -> CurvePoint:
        """The rule that stops as soon as it is that sure, or at the horizon."""
        return self.cut(self.stops(threshold))

    def stops(self, threshold: float) -> Int[np.ndarray, "episodes"]:
        """The first position where each is that sure, else the horizon."""
        reaches = self.sure >= threshold
        last = self.sure.shape[1] - 1
        return np.where(reaches.any(axis=1), reaches.argmax(axis=1), last)

    def cut(self, stop: Int[np.ndarray, "episodes"]) -> CurvePoint:
        """The episodes ended at these positions."""
        rows = np.arange(len(stop))
        return CurvePoint(self.right[rows, stop], self.paid[rows, stop])

    def around(self, accuracy: float) -> list[CurvePoint]:
        """Two thresholds between which the accuracy lies, or the most accurate one.

        The thresholds are found by bisection, on these same episodes: every threshold
        is a point of the curve, and none is chosen for its cost.
        """
        low, high = 0.0, 1.0
        below, above = self.stopped_at(low), self.stopped_at(high)
        if above.accuracy < accuracy:
            return [above]
        for _ in range(_NUM_BISECTIONS):
            middle = (low + high) / 2
            point = self.stopped_at(middle)
            if point.accuracy >= accuracy:
                high, above = middle, point
            else:
                low, below = middle, point
        return [below, above]

    def expected_cost(self, accuracy: float) -> float | None:
        """Mean cost where the posterior expects this accuracy; None if it never does.

        An exact posterior is right as often as it says, so its mean at the stops is the
        accuracy without the noise of right and wrong answers.
        """
        rows = np.arange(len(self.sure))

        def stopped(threshold: float) -> tuple[float, float]:
            stop = self.stops(threshold)
            return float(self.sure[rows, stop].mean()), float(
                self.paid[rows, stop].mean()
            )

        low, high = 0.0, 1.0
        below, above = stopped(low), stopped(high)
        if above[0] < accuracy:
            return None
        if below[0] >= accuracy:
            return below[1]
        for _ in range(_NUM_BISECTIONS):
            middle = (low + high) / 2
            point = stopped(middle)
            if point[0] >= accuracy:
                high, above = middle, point
            else:
                low, below = middle, point
        share = (accuracy - below[0]) / (above[0] - below[0])
        return below[1] + share * (above[1] - below[1])


_NUM_BISECTIONS = 12


def play_thresholds(
    explorer: BeliefExplorer,
    family: AbstractTaskFamily,
    episodes: int,
    *,
    seed: int = 0,
    key: PRNGKey | None = None,
    progress: AbstractProgress | None = None,
) -> ThresholdEpisodes:
    """Plays a rule with a belief to the horizon; episodes are those of `evaluate`.

    A key, if one is given, takes the place of the seed.
    """
    spec = family.spec
    point = OperatingPoint.at(spec.horizon, budget=spec.horizon)
    progress = progress or NoProgress()
    progress.start(explorer.name, episodes)
    parts = []
    try:
        for chunk in rollout_chunks(
            explorer, family, point, episodes, key=jr.key(seed) if key is None else key
        ):
            parts.append(read_positions(explorer.belief, spec, chunk))
            progress.advance(len(parts[-1].length))
    finally:
        progress.finish()
    names = [field.name for field in dataclasses.fields(ThresholdEpisodes)]
    return ThresholdEpisodes(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
    )


def read_positions(
    belief: AbstractBelief, spec: TaskSpec, played: Transcript
) -> ThresholdEpisodes:
    """What a belief says at every position of episodes that never stopped."""
    costs = np.asarray(spec.costs or (1.0,) * spec.num_queries)
    history = jax.tree.map(jnp.asarray, played.history)
    sure, best = map(np.asarray, _along(belief, history))
    queries = np.asarray(played.history.queries)
    each = np.where(queries >= 0, costs[np.maximum(queries, 0)], 0.0)
    paid = np.concatenate([np.zeros((len(each), 1)), each.cumsum(1)], axis=1)
    right = best == np.asarray(played.ending.hypothesis)[:, None]
    return ThresholdEpisodes(
        np.exp(sure), right, paid, np.asarray(played.history.length)
    )


@eqx.filter_jit
def _along(belief: AbstractBelief, history: History):
    """Largest log-posterior and most probable hypothesis at every position."""

    def look(log_posterior) -> tuple[Array, Array]:
        return jnp.max(log_posterior), jnp.argmax(log_posterior)

    return _scan(belief, history, look)


def beliefs_along(
    belief: AbstractBelief, history: History
) -> Float[Array, "episodes positions hypotheses"]:
    """The log-posterior at every position of a batch of histories."""
    return _scan(belief, history, lambda log_posterior: log_posterior)


def _scan(belief: AbstractBelief, history: History, look):
    """What is looked at in the posterior, position by position."""

    def one(queries, outcomes):
        def step(state, given):
            query, outcome = given
            told = belief.update(state, jnp.maximum(query, 0), outcome)
            state = jax.tree.map(lambda a, b: jnp.where(query >= 0, b, a), state, told)
            return state, look(belief.log_posterior(state))

        first = belief.init(outcomes[0])
        _, rest = jax.lax.scan(step, first, (queries, outcomes[1:]))
        return jax.tree.map(
            lambda a, b: jnp.concatenate([a[None], b]),
            look(belief.log_posterior(first)),
            rest,
        )

    return jax.vmap(one)(history.queries, history.outcomes)
