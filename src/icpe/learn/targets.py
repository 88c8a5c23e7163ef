"""Targets and losses on one episode; batch them with `vmap`.

Positions run from 0 (before any query) to the horizon; position t is reached if t
queries were made. D_t is the history at position t.
"""

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from icpe.core.spec import TaskSpec
from icpe.explorers.neural.networks import Estimates
from icpe.learn.replay import Experience

_NOISE_FLOOR = 0.02
"""Bounds the weight of errors where the posterior is almost sure."""
_MOVES, _VARIES, _LEAST_NOISE = 0.3, 4.0, 1e-5
"""The noise of a return: so much of the present error, so many units of cost."""


class Weighted(eqx.Module):
    """A sum of errors and the weight it is to be divided by."""

    total: Float[Array, ""]
    weight: Float[Array, ""]


def inference_loss(
    log_posterior: Float[Array, "positions hypotheses"], experience: Experience
) -> Weighted:
    """Cross-entropy of the inference net at every position reached.

    Its minimizer is the exact posterior P(h | D_t), whatever policy made D_t.
    """
    positions = jnp.arange(log_posterior.shape[0])
    reached = (positions <= experience.length).astype(jnp.float32)
    error = -log_posterior[:, experience.hypothesis]
    return Weighted(jnp.sum(error * reached), jnp.sum(reached))


def query_loss(
    estimates: Estimates,
    targets: Float[Array, "steps"],
    stop_value: Float[Array, "positions"],
    experience: Experience,
) -> Weighted:
    """Squared error of the gain at every query made, relative to its noise.

    A posterior that is nearly sure moves little, so the noise of a target falls with
    1 - S(D); and it rises with what the queries still to come cost, which vary by a
    few. Errors are divided by that noise, so that small gains are learned as well as
    large ones.
    """
    queries = experience.queries.astype(jnp.int32)
    made = (jnp.arange(queries.shape[0]) < experience.length).astype(jnp.float32)
    asked = jnp.maximum(queries, 0)[:, None]
    chosen = jnp.take_along_axis(estimates.gain[:-1], asked, axis=1)[:, 0]
    squares = made * jnp.square(chosen - targets)
    error = 1.0 - stop_value[:-1]
    if estimates.unit is None:
        weight = made / (error + _NOISE_FLOOR)
        return Weighted(jnp.sum(squares / (error + _NOISE_FLOOR)), jnp.sum(weight))
    unit = lax.stop_gradient(estimates.unit[:-1])
    noise = jnp.square(_MOVES * error) + jnp.square(_VARIES * unit) + _LEAST_NOISE
    return Weighted(jnp.sum(squares / noise), jnp.sum(made))


def gain_targets(
    online: Estimates,
    target: Estimates,
    experience: Experience,
    spec: TaskSpec,
    *,
    trace_decay: float,
    advantage_learning: float = 0.0,
) -> Float[Array, "steps"]:
    """Watkins lambda-returns of Q(D_t, a_t), less the value S(D_t) of stopping.

    V(D) = max(S(D), max_a Q(D, a)) from the target networks, the query selected by
    the online network (double Q); V = S at the end of the budget, where no query is
    allowed, and after the family ended the episode. The return

        G_t = -price * cost(a_t) + (1 - l_t) V(D_{t+1}) + l_t G_{t+1}

    follows the episode with weight l_t = trace_decay as long as the next query taken
    is the greedy one and stopping is not (Watkins & Dayan 1992; van Hasselt 2010).

    A wasted query costs no more than its price, or nothing with budget to spare, so
    the values of queries lie close together. From the target of a query that is not
    the greedy one, `advantage_learning` times its shortfall max_a Q(D, a) - Q(D, a_t)
    is subtracted, which leaves the greedy values as they are and widens the gap to
    all others (Baird 1999; Bellemare et al., "Increasing the Action Gap", 2016).
    """
    queries = experience.queries.astype(jnp.int32)
    num_steps = queries.shape[0]
    positions = jnp.arange(num_steps + 1)
    stop_value = target.stop_value

    selected, allowed = _greedy_query(online.ranking, experience.allowed(spec))
    gain = jnp.take_along_axis(target.gain, selected[:, None], axis=1)[:, 0]
    must_stop = (positions >= experience.max_queries) | ~allowed
    stops = must_stop
    if spec.can_stop:
        stops = must_stop | ((gain <= 0) & (experience.price > 0))
    value = stop_value + jnp.where(stops, 0.0, gain)

    made = positions[:-1] < experience.length
    ended = experience.terminated & (positions[1:] == experience.length)
    follows = made & (queries == selected[:-1]) & ~stops[:-1]
    next_follows = jnp.concatenate([follows[1:], jnp.zeros((1,), bool)])
    trace = jnp.where(next_follows & ~ended, trace_decay, 0.0)
    next_value = jnp.where(ended, stop_value[1:], value[1:])
    cost = experience.price * spec.cost_array[jnp.maximum(queries, 0)]
    returns = lambda_returns(-cost, next_value, trace)
    taken = jnp.take_along_axis(
        target.gain[:-1], jnp.maximum(queries, 0)[:, None], axis=1
    )[:, 0]
    shortfall = jnp.maximum(gain[:-1] - taken, 0.0)
    return returns - stop_value[:-1] - advantage_learning * shortfall


def _greedy_query(
    gain: Float[Array, "positions queries"],
    masks: Bool[Array, "positions queries"] | None,
) -> tuple[Int[Array, "positions"], Bool[Array, "positions"]]:
    """The best allowed query at each position, and whether there is one."""
    if masks is None:
        return jnp.argmax(gain, axis=1), jnp.ones(gain.shape[0], bool)
    return jnp.argmax(jnp.where(masks, gain, -jnp.inf), axis=1), jnp.any(masks, axis=1)


def lambda_returns(
    rewards: Float[Array, "steps"],
    next_values: Float[Array, "steps"],
    traces: Float[Array, "steps"],
    *,
    discount: float = 1.0,
) -> Float[Array, "steps"]:
    """G_t = r_t + discount * ((1 - l_t) V_{t+1} + l_t G_{t+1}).

    All steps at once, in a number of operations that grows with the logarithm of the
    length.

    Args:
        rewards: r_t.
        next_values: V_{t+1}.
        traces: l_t, how far the return follows the episode; 0 at its last step. In
            Watkins' returns it is 0 wherever the next query is not the greedy one.
        discount: of what comes after.
    """

    def combine(later, earlier):
        (sum_later, weight_later), (sum_now, weight_now) = later, earlier
        return sum_now + weight_now * sum_later, weight_now * weight_later

    one_step = rewards + discount * (1.0 - traces) * next_values
    returns, _ = lax.associative_scan(
        combine, (one_step, discount * traces), reverse=True
    )
    return returns
