"""What episodes teach about the value of a tile: returns of confidence, a loss."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, Int

from icpe.core.arrays import PRNGKey, Scalar
from icpe.learn.targets import lambda_returns
from icpe.nets.tokens import Summary
from icpe.studies.digits.nets import MaskedPictureNet


class Memory(eqx.Module):
    """Episodes, and the classifier's probability of the truth along them."""

    queries: Int[Array, "*episodes steps"]
    outcomes: Float[Array, "*episodes steps+1 outcome"]
    confidence: Float[Array, "*episodes steps+1"]


def seen_along(
    queries: Int[Array, "steps"],
    outcomes: Float[Array, "steps+1 outcome"],
    num_queries: int,
) -> Summary:
    """What was seen before each query and after the last."""
    query = jnp.concatenate(
        [jnp.zeros((1, num_queries)), jax.nn.one_hot(queries, num_queries)]
    )
    return Summary(
        counts=jnp.cumsum(query, axis=0),
        sums=jnp.cumsum(query[:, :, None] * outcomes[:, None, :], axis=0),
    )


def value_loss(
    net: MaskedPictureNet,
    averaged: MaskedPictureNet,
    batch: Memory,
    num_queries: int,
    *,
    discount: float,
    trace_decay: float,
    thompson: bool,
    keys,
) -> Scalar:
    """Mean squared error of the values of the tiles that were uncovered.

    Targets are the returns of the rises of confidence, with discount 0 the rises
    themselves; with `thompson`, values are those under dropout at a random rate.
    """

    def one(episode: Memory, key: PRNGKey):
        seen = seen_along(episode.queries, episode.outcomes, num_queries)
        if thompson:
            rate_key, drop_key = jr.split(key)
            rate = jr.uniform(rate_key)
            drop_keys = jr.split(drop_key, episode.confidence.shape[0])
            online = jax.vmap(lambda s, k: net(s, dropout=rate, key=k))(seen, drop_keys)
        else:
            online = jax.vmap(net)(seen)
        rewards = jnp.diff(episode.confidence)
        targets = rewards
        if discount:
            targets = watkins_returns(
                episode.queries,
                rewards,
                lax.stop_gradient(online),
                jax.vmap(averaged)(seen),
                discount=discount,
                trace_decay=trace_decay,
            )
        chosen = jnp.take_along_axis(online[:-1], episode.queries[:, None], axis=1)
        return jnp.mean(jnp.square(chosen[:, 0] - targets))

    return jnp.mean(jax.vmap(one)(batch, keys))


def watkins_returns(
    queries: Int[Array, "steps"],
    rewards: Float[Array, "steps"],
    online: Float[Array, "steps+1 queries"],
    target: Float[Array, "steps+1 queries"],
    *,
    discount: float,
    trace_decay: float,
) -> Float[Array, "steps"]:
    """Returns with double Q over an episode of known length; V = 0 after the last.

    They follow the episode as long as the next query is the greedy one.
    """
    greedy = jnp.argmax(online, axis=1)
    value = jnp.take_along_axis(target, greedy[:, None], axis=1)[:, 0]
    value = value.at[-1].set(0.0)
    follows = jnp.append(queries[1:] == greedy[1:-1], False)
    traces = jnp.where(follows, trace_decay, 0.0)
    return lambda_returns(rewards, value[1:], traces, discount=discount)
