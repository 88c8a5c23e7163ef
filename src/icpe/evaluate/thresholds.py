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
from jaxtyping import Array, Bool, Float

from icpe.core.belief import AbstractBelief
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.progress import AbstractProgress, NoProgress
from icpe.core.request import OperatingPoint
from icpe.evaluate.compare import CurvePoint
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.play.rollout import rollout_chunks


@dataclasses.dataclass(frozen=True)
class ThresholdEpisodes:
    """Episodes of a rule that never stopped, position by position.

    Attributes:
        sure: the largest posterior probability.
        right: whether the most probable hypothesis is the truth.
        paid: cost so far.
    """

    sure: Float[np.ndarray, "episodes positions"]
    right: Bool[np.ndarray, "episodes positions"]
    paid: Float[np.ndarray, "episodes positions"]

    def stopped_at(self, threshold: float) -> CurvePoint:
        """The rule that stops as soon as it is that sure, or at the horizon."""
        reaches = self.sure >= threshold
        last = self.sure.shape[1] - 1
        stop = np.where(reaches.any(axis=1), reaches.argmax(axis=1), last)
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


_NUM_BISECTIONS = 12


def play_thresholds(
    explorer: BeliefExplorer,
    family: AbstractTaskFamily,
    episodes: int,
    *,
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> ThresholdEpisodes:
    """Plays a rule with a belief to the horizon; episodes are those of `evaluate`."""
    spec = family.spec
    point = OperatingPoint.at(spec.horizon, budget=spec.horizon)
    costs = np.asarray(spec.costs or (1.0,) * spec.num_queries)
    progress = progress or NoProgress()
    progress.start(explorer.name, episodes)
    parts = []
    try:
        for chunk in rollout_chunks(
            explorer, family, point, episodes, key=jr.key(seed)
        ):
            history = jax.tree.map(jnp.asarray, chunk.history)
            sure, best = map(np.asarray, _along(explorer.belief, history))
            queries = chunk.history.queries
            each = np.where(queries >= 0, costs[np.maximum(queries, 0)], 0.0)
            paid = np.concatenate([np.zeros((len(each), 1)), each.cumsum(1)], axis=1)
            right = best == chunk.ending.hypothesis[:, None]
            parts.append((np.exp(sure), right, paid))
            progress.advance(len(each))
    finally:
        progress.finish()
    sure, right, paid = (np.concatenate(rows) for rows in zip(*parts, strict=True))
    return ThresholdEpisodes(sure, right, paid)


@eqx.filter_jit
def _along(belief: AbstractBelief, history: History):
    """Largest log-posterior and most probable hypothesis at every position."""

    def look(state) -> tuple[Array, Array]:
        log_posterior = belief.log_posterior(state)
        return jnp.max(log_posterior), jnp.argmax(log_posterior)

    def one(queries, outcomes):
        def step(state, given):
            query, outcome = given
            told = belief.update(state, jnp.maximum(query, 0), outcome)
            state = jax.tree.map(lambda a, b: jnp.where(query >= 0, b, a), state, told)
            return state, look(state)

        first = belief.init(outcomes[0])
        _, rest = jax.lax.scan(step, first, (queries, outcomes[1:]))
        return jax.tree.map(lambda a, b: jnp.append(a, b), look(first), rest)

    return jax.vmap(one)(history.queries, history.outcomes)
