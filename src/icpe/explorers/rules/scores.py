"""How rules with a belief choose queries."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PRNGKey
from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.spec import TaskSpec
from icpe.core.stopping import random_query
from icpe.explorers.rules.belief_explorer import AbstractScore, Situation

Scores = Float[Array, "queries"]


class RandomScore(AbstractScore):
    """Any allowed query with equal probability: the baseline that does not choose."""

    def __call__(self, now: Situation, *, key: PRNGKey) -> Scores:
        return _only(random_query(now.query_mask, key=key), now)


class MostProbableScore(AbstractScore):
    """The query about the most probable hypothesis."""

    def __call__(self, now: Situation, *, key: PRNGKey) -> Scores:
        return now.log_posterior


class TopTwoScore(AbstractScore):
    """The less sampled of the two queries about the most probable hypotheses.

    A deterministic relative of top-two sampling (Russo, "Simple Bayesian Algorithms for
    Best-Arm Identification", 2016); equal counts favor the leader.
    """

    def remember(self, spec: TaskSpec, dtype) -> Int[Array, "queries"]:
        return jnp.zeros(spec.num_queries, jnp.int32)

    def update(
        self,
        memory: Int[Array, "queries"],
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> Int[Array, "queries"]:
        return memory + (jnp.arange(memory.shape[0]) == query).astype(memory.dtype)

    def __call__(self, now: Situation, *, key: PRNGKey) -> Scores:
        lowest = jnp.finfo(now.log_posterior.dtype).min
        posterior = jnp.maximum(now.log_posterior, lowest)
        score = jnp.where(now.query_mask, posterior, -jnp.inf)
        leader = jnp.argmax(score)
        others = jnp.arange(score.shape[0]) != leader
        challenger = jnp.argmax(jnp.where(others, score, -jnp.inf))
        fewer = now.memory[challenger] < now.memory[leader]
        allowed = now.query_mask[challenger]
        return _only(jnp.where(fewer & allowed, challenger, leader), now)


class InformationScore(AbstractScore):
    """What lowers the entropy of the posterior most per cost, one step ahead.

    Information-directed sampling for identification (Russo and Van Roy, "Learning to
    optimize via information-directed sampling", 2018). It does not plan: a query that
    tells nothing now but makes the next one tell everything is never made.
    """

    costs: tuple[float, ...] = eqx.field(static=True, default=())

    def __call__(self, now: Situation, *, key: PRNGKey) -> Scores:
        assert isinstance(now.belief, AbstractPredictiveBelief)
        gains = now.belief.information_gains(now.statistics)
        if not self.costs:
            return gains
        return gains / jnp.asarray(self.costs, gains.dtype)


class RevealingScore(AbstractScore):
    """The largest expected sum of what revealed rewards are worth.

    A reward of arm v is worth p (1 - p) / (n + 1): the variance of "v is the best"
    under the exact posterior p, times the share by which one more reward lowers the
    variance of the mean of its n rewards. Query u is worth the sum over v of G[u, v]
    times that. A simple rule, and the best known for feedback graphs: it beats greedy
    information and greedy accuracy, which look one step ahead, on the large graphs.
    """

    graph: tuple[tuple[float, ...], ...] = eqx.field(static=True)

    def __call__(self, now: Situation, *, key: PRNGKey) -> Scores:
        """The worth of each query; the statistics count the rewards of each arm."""
        probs = jnp.exp(now.log_posterior)
        counts = now.statistics.counts.astype(probs.dtype)
        graph = jnp.asarray(self.graph, probs.dtype)
        return graph @ (probs * (1.0 - probs) / (counts + 1.0))


def _only(query: Index, now: Situation) -> Scores:
    chosen = jnp.arange(now.query_mask.shape[0]) == query
    return chosen.astype(jnp.float32)
