"""Targets and losses on one episode; batch them with `vmap`.

Positions run from 0 (before any query) to the horizon; position t is reached if t
queries were made. D_t is the history at position t.
"""

import math

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from icpe.core.spec import TaskSpec
from icpe.explorers.neural.networks import Estimates
from icpe.learn.crew import ALONE, Crew
from icpe.learn.replay import Experience
from icpe.nets.evidence import INFORMATION, Told

_NOISE_FLOOR = 0.02
"""Bounds the weight of errors where the posterior is almost sure."""
_SLOWEST = 0.3
"""Least rate of information that luck is counted at, relative to the first."""
_MOVES, _VARIES, _LEAST_NOISE = 0.3, 4.0, 1e-5
"""The noise of a return: so much of the present error, so many queries."""


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
    mean_cost: float = 1.0,
) -> Weighted:
    """Squared error of the gain at every query made, relative to its noise.

    A posterior that is nearly sure moves little, so the noise of a target falls with
    1 - S(D); and it rises with what the queries still to come cost, which vary by a
    few. Errors are divided by that noise, so that small gains are learned as well as
    large ones.
    """
    squares = jnp.square(gain_of_made(estimates, experience) - targets)
    weights = error_weights(estimates, stop_value, experience, mean_cost)
    total = jnp.sum(weights * squares)
    if estimates.unit is None:
        return Weighted(total, jnp.sum(weights))
    return Weighted(total, experience.length.astype(jnp.float32))


def gain_of_made(estimates: Estimates, experience: Experience) -> Float[Array, "steps"]:
    """The estimated gain of every query made."""
    asked = jnp.maximum(experience.queries.astype(jnp.int32), 0)[:, None]
    return jnp.take_along_axis(estimates.gain[:-1], asked, axis=1)[:, 0]


def error_weights(
    estimates: Estimates,
    stop_value: Float[Array, "positions"],
    experience: Experience,
    mean_cost: float = 1.0,
) -> Float[Array, "steps"]:
    """One over the noise of the target of every query made."""
    num_steps = stop_value.shape[0] - 1
    made = (jnp.arange(num_steps) < experience.length).astype(jnp.float32)
    error = 1.0 - stop_value[:-1]
    if estimates.unit is None:
        return made / (error + _NOISE_FLOOR)
    unit = mean_cost * lax.stop_gradient(estimates.unit[:-1])
    return made / noise_of_return(error, unit)


def noise_of_return(
    error: Float[Array, "*steps"], unit: Float[Array, "*steps"]
) -> Float[Array, "*steps"]:
    """The variance of what asking on brings, where a query of mean cost is so dear."""
    return jnp.square(_MOVES * error) + jnp.square(_VARIES * unit) + _LEAST_NOISE


class Targets(eqx.Module):
    """Targets of the gain at every step, and how much luck is in each."""

    gain: Float[Array, "steps"]
    luck: Float[Array, "steps"] | None


def gain_targets(
    online: Estimates,
    target: Estimates,
    experience: Experience,
    spec: TaskSpec,
    luck: Float[Array, "steps"] | None = None,
    *,
    trace_decay: float,
    advantage_learning: float = 0.0,
) -> Targets:
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

    The luck of each step adds up along the same returns; see `luck_of_answers`.
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
    total_luck = None
    if luck is not None:
        total_luck = lambda_returns(luck * made, jnp.zeros_like(luck), trace)
    taken = jnp.take_along_axis(
        target.gain[:-1], jnp.maximum(queries, 0)[:, None], axis=1
    )[:, 0]
    shortfall = jnp.maximum(gain[:-1] - taken, 0.0)
    gains = returns - stop_value[:-1] - advantage_learning * shortfall
    return Targets(gains, total_luck)


def luck_of_answers(
    told: Told, unit: Float[Array, "*episodes positions"], queries: Int[Array, "..."]
) -> Float[Array, "*episodes steps"]:
    """What each answer was worth beyond what the tables expected of it.

    An answer lowers the entropy of the hypotheses by the query's information on
    average; what it lowers it by beyond that is luck, and saves queries later on at the
    rate at which the best of them inform. By the tables, luck has mean zero whatever
    was asked, so that subtracting some multiple of it from a return leaves the mean as
    it is and takes most of the noise away (a martingale control variate).
    """
    entropy = -jnp.sum(jnp.exp(told.log_posterior) * told.log_posterior, axis=-1)
    asked = jnp.maximum(queries.astype(jnp.int32), 0)[..., None]
    view = told.view
    information = jnp.take_along_axis(
        view.features[..., :-1, :, INFORMATION], asked, axis=-1
    )[..., 0]
    excess = entropy[..., :-1] - entropy[..., 1:] - information
    rate = view.best_rate[..., :-1]
    rate = jnp.maximum(rate, _SLOWEST * rate[..., :1]) + 1e-6
    return unit[..., :-1] * excess / rate


def without_luck(
    targets: Targets,
    expected: Float[Array, "..."],
    weight: Float[Array, "..."],
    crew: Crew = ALONE,
) -> Float[Array, "..."]:
    """Targets less the multiple of their luck that leaves the least noise.

    Args:
        targets: of all episodes of a batch, or of a device's part of it.
        expected: the present estimates of them.
        weight: of each step.
        crew: the devices that have the whole batch.
    """
    if targets.luck is None:
        return targets.gain
    noise, luck = targets.gain - expected, targets.luck
    along, squares = crew.total(
        (jnp.sum(weight * noise * luck), jnp.sum(weight * luck * luck))
    )
    share = along / (squares + 1e-12)
    return targets.gain - jnp.clip(share, 0.0, 3.0) * luck


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

    All steps at once: G_t is the sum over k >= t of the one-step returns, each with the
    product of the traces on the way, which is 0 beyond the first trace of 0.

    Args:
        rewards: r_t.
        next_values: V_{t+1}.
        traces: l_t, how far the return follows the episode; 0 at its last step. In
            Watkins' returns it is 0 wherever the next query is not the greedy one.
        discount: of what comes after.
    """

    one_step = rewards + discount * (1.0 - traces) * next_values
    follows = traces > 0
    log_trace = jnp.where(follows, jnp.log(jnp.where(follows, traces, 1.0)), 0.0)
    log_trace = jnp.where(follows, log_trace + math.log(discount), 0.0)
    cuts, reach = jnp.cumsum(~follows), jnp.cumsum(log_trace)
    cuts = jnp.concatenate([jnp.zeros((1,), cuts.dtype), cuts[:-1]])
    reach = jnp.concatenate([jnp.zeros((1,)), reach[:-1]])
    is_later = jnp.tri(len(traces), dtype=bool).T
    is_reached = is_later & (cuts[:, None] == cuts[None])
    weights = jnp.where(is_reached, jnp.exp(reach[None] - reach[:, None]), 0.0)
    return jnp.sum(weights * one_step[None], axis=1)
