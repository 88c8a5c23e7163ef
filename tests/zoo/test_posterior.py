"""The belief of the shipped bandit explorer is close to the exact posterior."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe import zoo
from icpe.core.likelihood import belief_for
from icpe.play.rollout import rollout_chunks

NUM_EPISODES = 1024
LARGEST_DIVERGENCE = 0.02
REQUESTS: tuple[dict[str, Any], ...] = (
    {"price": 0.005},
    {"price": 0.02},
    {"price": 0.08},
    {"budget": 20},
)


@eqx.filter_jit
def divergences(nets, belief, history, price, max_queries):
    """KL from the exact posterior to the inference net at every position."""
    log_posterior = nets.along(nets.see(history), price, max_queries).log_posterior

    def along(queries, outcomes):
        def step(state, xs):
            query, outcome = xs
            told = belief.update(state, jnp.maximum(query, 0), outcome)
            state = jax.tree.map(
                lambda new, old: jnp.where(query >= 0, new, old), told, state
            )
            return state, belief.log_posterior(state)

        start = belief.init(outcomes[0])
        _, rest = jax.lax.scan(step, start, (queries, outcomes[1:]))
        return jnp.concatenate([belief.log_posterior(start)[None], rest])

    exact = jax.vmap(along)(history.queries, history.outcomes)
    probability = jnp.exp(exact)
    terms = jnp.where(probability > 0, probability * (exact - log_posterior), 0.0)
    return jnp.sum(terms, axis=-1)


@pytest.mark.slow
def test_the_belief_of_the_shipped_explorer_is_nearly_exact(capsys):
    # The mean over 1024 episodes of each request has a standard error far below the
    # distance to the limit, so a false alarm is out of the question.
    artifact = zoo.load("gaussian-bandit-4")
    belief = belief_for(artifact.family)
    means = {}
    for number, request in enumerate(REQUESTS):
        point = artifact.operating_point(**request)
        total, count = 0.0, 0
        for chunk in rollout_chunks(
            artifact.explorer,
            artifact.family,
            point,
            NUM_EPISODES,
            key=jr.key(number),
            chunk_size=256,
        ):
            history = chunk.history
            size = history.queries.shape[0]
            found = divergences(
                artifact.nets,
                belief,
                jax.tree.map(jnp.asarray, history),
                jnp.full(size, point.price),
                jnp.full(size, point.max_queries),
            )
            positions = np.arange(history.outcomes.shape[1])[None]
            reached = positions <= np.asarray(history.length)[:, None]
            total += float(np.sum(np.where(reached, found, 0.0)))
            count += int(reached.sum())
        means[str(request)] = total / count
    overall = sum(means.values()) / len(means)
    with capsys.disabled():
        print(f"\nmean KL from the exact posterior, in nats: {overall:.4f}; {means}")
    assert overall <= LARGEST_DIVERGENCE
