"""Characteristic time of best-arm identification with feedback graphs.

Query v reveals a reward of arm u with probability G[v, u], independently over arms.
With proportions w of queries, arm u is seen at rate n_u = sum_v w_v G[v, u], and any
method that errs with probability at most delta on every task makes on average at least
T* kl(1-delta, delta) queries, where

    1 / T* = max over w of min over a != * of n_* n_a / (n_* + n_a) gap_a^2 / (2 s^2).

(Russo, Song and Pacchiano 2025, "Pure exploration with feedback graphs"; the inner
minimum is Garivier and Kaufmann 2016, Lemma 3, for rates n.) The graph is known and
the noise s too; with G the identity this is the ordinary characteristic time.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Scalar
from icpe.theory.characteristic_time import CharacteristicTime, Means
from icpe.theory.divergences import kl_gaussian
from icpe.theory.max_min import maximize_minimum

Graph = Float[Array, "queries arms"]


@jax.jit
def feedback_graph_time(
    means: Means, graph: Graph, noise: Scalar | float
) -> CharacteristicTime:
    """T* and proportions of queries w* for Gaussian arms seen through a graph.

    The time is infinite where the best arm or a rival is never revealed, and where
    several arms share the largest mean; the proportions are then uniform, or those
    that separate the tied arms fastest. The proportions need not be unique.
    """
    best = jnp.argmax(means)
    is_other = jnp.arange(means.shape[0]) != best
    rates = kl_gaussian(jnp.max(means), means, noise)
    is_tied = is_other & (rates == 0)
    tied = jnp.any(is_tied)
    rates = jnp.where(is_tied, 1.0, rates)

    def information(proportions):
        seen = proportions @ graph
        total = seen[best] + seen
        return rates * seen[best] * seen / jnp.where(total > 0, total, 1.0)

    num_queries = graph.shape[0]
    solution = maximize_minimum(
        information,
        start=jnp.full(num_queries, 1.0 / num_queries, means.dtype),
        active=jnp.where(tied, is_tied, is_other),
    )
    known = ~tied & (solution.value > 0)
    time = jnp.where(known, 1.0 / jnp.where(known, solution.value, 1.0), jnp.inf)
    return CharacteristicTime(time, solution.point)
