"""The losses of the paper on one transition; batch them with `vmap`.

Where the paper's main text and its appendix differ, the appendix is followed: a
transition carries a terminal flag d, the end is rewarded on D_{n+1}, stopping is not
charged. Rewards are divided by lambda, so that the cost of a query is c = 1 / lambda
and values are probabilities:

    r(z) = -c * cost(a) + d * R(D_{n+1})
    y(z) = r(z) + (1 - d) * discount * max_a' Q_target(D_{n+1}, a')

    L(z) = 1{a != stop} (y(z) - Q(D_n, a))^2 + (R(D_n) - Q(D_n, stop))^2

The second term is the pretend-to-stop loss: what stopping at D_n would have earned is
known, whatever was done there. A fixed budget has no cost and no stop action.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Flag, Index, Scalar
from icpe.learn.paper.config import Reward


def inference_loss(
    log_posterior: Float[Array, "hypotheses"], hypothesis: Index
) -> Scalar:
    """-log I(H* | D_{n+1})."""
    return -log_posterior[hypothesis]


def final_reward(
    reward: Reward, log_posterior: Float[Array, "hypotheses"], hypothesis: Index
) -> Scalar:
    """R(D): what ending with this posterior earns, in one of the paper's three forms.

    Environment rewards are earned on the way, so there the end earns nothing.
    """
    if reward == "max":
        return jnp.exp(jnp.max(log_posterior))
    if reward == "truth":
        return jnp.exp(log_posterior[hypothesis])
    if reward == "log-truth":
        return log_posterior[hypothesis]
    return jnp.zeros(())


def query_target(
    step_reward: Scalar,
    end_reward: Scalar,
    next_values: Float[Array, "actions"],
    query_mask: Bool[Array, "queries"] | None,
    terminal: Flag,
    *,
    discount: float,
    learns_to_stop: bool,
) -> Scalar:
    """y(z) of a query.

    Args:
        step_reward: what the query itself earns, -c * cost(a).
        end_reward: R(D_{n+1}), earned if the transition is terminal.
        next_values: the target net at D_{n+1}, stopping last.
        query_mask: the queries allowed there; all if None.
        terminal: d.
        discount: of what comes after.
        learns_to_stop: whether stopping is among the actions.
    """
    queries = next_values[:-1]
    if query_mask is not None:
        queries = jnp.where(query_mask, queries, -jnp.inf)
    value = jnp.max(queries)
    if learns_to_stop:
        value = jnp.maximum(value, next_values[-1])
    return step_reward + jnp.where(terminal, end_reward, discount * value)


def query_loss(
    values: Float[Array, "actions"], action: Index, stopped: Flag, target: Scalar
) -> Scalar:
    """Squared error of Q(D_n, a), nothing where a is to stop."""
    error = target - values[jnp.maximum(action, 0)]
    return jnp.where(stopped, 0.0, jnp.square(error))


def stop_loss(values: Float[Array, "actions"], stop_reward: Scalar) -> Scalar:
    """Squared error of Q(D_n, stop), also where the explorer went on."""
    return jnp.square(stop_reward - values[-1])
