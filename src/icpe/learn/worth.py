"""When to stop a greedy rule, from episodes in which it never stopped.

What the rule asks does not depend on where it will stop, so every price and every
budget can be judged on the same episodes: the value of asking on is what stopping later
would have brought in them (Longstaff and Schwartz, "Valuing American options by
simulation", 2001). Networks that start from exact tables start with this, and so from
the greedy rule stopped about as well as it can be.
"""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import PRNGKey
from icpe.core.history import History
from icpe.core.programs import jit_program
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import PriceRange
from icpe.explorers.neural.inputs import Asked
from icpe.learn.targets import noise_of_return
from icpe.nets.evidence import AbstractPredictions
from icpe.nets.worth_head import WorthHead, what_is_asked, what_is_known

_STEP_SIZE, _RISE = 1e-2, 0.1
_FIRST_LOGIT = -2.0
"""From a larger share, or at full step size at once, the head falls to where asking is
never worth anything, and hardly finds out of it."""
_BEYOND = 3.0
"""Times the highest price, and under the lowest, that it is made for."""
_LARGEST_BATCH, _MOST_POSITIONS = 256, 2**14
"""Episodes, and positions in them, of one update."""
_READ_AT_ONCE = 2**21
"""Numbers about queries that are looked at together."""
_BUDGETS = 0.15
"""Share of requests that are budgets, and as many again have a price and a cap."""
_LATER = 0.1
"""Weight of positions after the stop, which may come later as the head improves."""
_LEAST_ERROR = 1e-6


class _Played(eqx.Module):
    """Episodes of the rule, position by position."""

    known: Float[Array, "episodes positions known"]
    sure: Float[Array, "episodes positions"]
    cost: Float[Array, "episodes positions"]
    made: Bool[Array, "episodes positions"]


def fit_worth(
    spec: TaskSpec,
    tables: AbstractPredictions,
    history: History,
    prices: PriceRange,
    updates: int,
) -> WorthHead:
    """The head that tells best what asking on removes of the error.

    Args:
        spec: of the family.
        tables: whose posterior is exact.
        history: of the greedy rule, which never stopped by itself.
        prices: that it is made for, and some beyond.
        updates: of its weights.
    """
    key = jr.key(0)
    head = WorthHead(spec.num_hypotheses, key=key)
    assert head.out.bias is not None
    first = jnp.full_like(head.out.bias, _FIRST_LOGIT)
    head = eqx.tree_at(lambda it: it.out.bias, head, first)
    low, high = math.log(prices.low / _BEYOND), math.log(prices.high * _BEYOND)
    played = _read(spec, tables, history)
    with jax.numpy_dtype_promotion("standard"):  # optax mixes dtypes
        return _fitted(head, played, low, high, spec, updates, key)


def values_of_stops(
    head: WorthHead,
    spec: TaskSpec,
    tables: AbstractPredictions,
    history: History,
    prices: tuple[float, ...],
) -> tuple[list[float], list[float]]:
    """What stopping as the head says is worth at each price, and what is paid for it.

    Args:
        head: that says when to stop.
        spec: of the family.
        tables: whose posterior is exact.
        history: of the greedy rule, which never stopped by itself.
        prices: of a query.
    """
    played, values, costs = _read(spec, tables, history), [], []
    for price in prices:
        value, cost = _value_and_cost(head, played, price, spec)
        values.append(float(value))
        costs.append(float(cost))
    return values, costs


def _read(
    spec: TaskSpec, predictions: AbstractPredictions, history: History
) -> _Played:
    """What is known at every position, a few episodes at a time."""
    episodes, steps = history.queries.shape
    each = (steps + 1) * spec.num_queries
    at_once = min(episodes, 1 << max(0, (_READ_AT_ONCE // each).bit_length() - 1))
    parts = [
        _look(
            predictions,
            history.queries[start : start + at_once],
            history.outcomes[start : start + at_once],
            spec,
        )
        for start in range(0, episodes, at_once)
    ]
    known, sure = (jnp.concatenate(part) for part in zip(*parts, strict=True))
    made = jnp.pad(history.queries >= 0, [(0, 0), (0, 1)])
    cost = jnp.where(history.queries >= 0, spec.cost_array[history.queries], 0.0)
    return _Played(known, sure, jnp.pad(cost, [(0, 0), (0, 1)]), made)


@jit_program
def _look(predictions: AbstractPredictions, queries, outcomes, spec: TaskSpec):
    states = jax.vmap(predictions.along)(queries, outcomes)
    counts = jnp.cumsum(jax.nn.one_hot(queries, spec.num_queries), axis=1)
    counts = jnp.pad(counts, [(0, 0), (1, 0), (0, 0)])
    told = predictions.told(states, counts)
    sure = jnp.exp(jnp.max(told.log_posterior, axis=-1))
    return what_is_known(told, spec.mean_cost), sure


@jit_program
def _fitted(
    head: WorthHead, played: _Played, low, high, spec: TaskSpec, updates: int, key
):
    episodes, positions = played.sure.shape
    batch_size = min(_LARGEST_BATCH, max(1, _MOST_POSITIONS // positions))
    rise = int(_RISE * updates)
    schedule = optax.warmup_cosine_decay_schedule(0.0, _STEP_SIZE, rise, updates)
    optimizer = optax.adam(schedule)

    def update(carry, key):
        head, state = carry
        chosen_key, request_key = jr.split(key)
        chosen = jr.randint(chosen_key, (batch_size,), 0, episodes)
        batch = jax.tree.map(lambda leaf: leaf[chosen], played)
        price, most = _requests(batch_size, low, high, spec.horizon, request_key)
        gradient = jax.grad(_loss)(head, batch, price, most, spec)
        change, state = optimizer.update(gradient, state)
        return (eqx.apply_updates(head, change), state), None

    keys = jr.split(key, updates)
    state = optimizer.init(eqx.filter(head, eqx.is_array))
    (head, _), _ = lax.scan(update, (head, state), keys)
    return head


def _requests(number: int, low, high, horizon: int, key: PRNGKey):
    """Prices, 0 for a budget, and the most queries: mostly a price alone."""
    price_key, most_key, kind_key = jr.split(key, 3)
    price = jnp.exp(jr.uniform(price_key, (number,), minval=low, maxval=high))
    share = jr.uniform(most_key, (number,))
    most = jnp.exp(share * math.log(horizon + 0.9)).astype(jnp.int32)
    kind = jr.uniform(kind_key, (number,))
    has_price = kind >= _BUDGETS
    return (
        jnp.where(has_price, price, 0.0),
        jnp.where(kind < 2 * _BUDGETS, most, horizon),
    )


@jit_program
def _value_and_cost(head: WorthHead, played: _Played, price, spec: TaskSpec):
    """On average over the episodes, all at one price."""
    prices = jnp.full(played.sure.shape[0], price)
    most = jnp.full(played.sure.shape[0], spec.horizon)
    stops = _judge(head, played, prices, most, spec).stops
    nothing = jnp.zeros_like(played.cost)
    now, sure_now, cost_now = stops[:, 0], played.sure[:, 0], played.cost[:, 0]
    sure = _value_after(played.sure, nothing, stops)[:, 0]
    later = -_value_after(jnp.zeros_like(played.sure), played.cost, stops)[:, 0]
    cost = jnp.mean(jnp.where(now, 0.0, cost_now + later))
    return jnp.mean(jnp.where(now, sure_now, sure)) - price * cost, cost


class _Judged(NamedTuple):
    """What the head says at every position."""

    gain: Float[Array, "episodes positions"]
    noise: Float[Array, "episodes positions"]
    paid: Float[Array, "episodes positions"]
    may_ask: Bool[Array, "episodes positions"]
    stops: Bool[Array, "episodes positions"]


def _judge(
    head: WorthHead,
    played: _Played,
    price: Float[Array, "episodes"],
    most: Int[Array, "episodes"],
    spec: TaskSpec,
) -> _Judged:
    remaining = most[:, None] - jnp.arange(played.sure.shape[1])[None]
    error = jnp.maximum(1.0 - played.sure, _LEAST_ERROR)
    priced = price[:, None] > 0
    unit = Asked(price[:, None], remaining).unit(error)
    asked = what_is_asked(
        error,
        spec.mean_cost * unit,
        jnp.where(priced, 1.0, -1.0),
        remaining,
        spec.horizon,
    )
    gain = error * jax.nn.sigmoid(head(played.known, asked))
    may_ask = played.made & (remaining > 0)
    paid = price[:, None] * played.cost
    stops = ~may_ask | (priced & (lax.stop_gradient(gain) <= paid))
    noise = noise_of_return(error, jnp.where(priced, spec.mean_cost * unit, 0.0))
    return _Judged(gain, noise, paid, may_ask, stops)


def _loss(
    head: WorthHead,
    played: _Played,
    price: Float[Array, "episodes"],
    most: Int[Array, "episodes"],
    spec: TaskSpec,
) -> Float[Array, ""]:
    """Squared error of what asking on brings, relative to its noise."""
    found = _judge(head, played, price, most, spec)
    later = _value_after(played.sure, found.paid, found.stops)
    reached = jnp.cumsum(found.stops, axis=1) == 0
    weight = jnp.where(found.may_ask, jnp.where(reached, 1.0, _LATER), 0.0)
    squares = jnp.square(found.gain - (later - played.sure)) / found.noise
    return jnp.sum(weight * squares) / jnp.maximum(
        jnp.sum(found.may_ask, dtype=jnp.float32), 1.0
    )


def _value_after(sure, paid, stops) -> Float[Array, "episodes positions"]:
    """What a query at each position leads to, if the rule goes on until it stops."""

    def back(after, now):
        sure, paid, stops = now
        return jnp.where(stops, sure, after - paid), after

    columns = jax.tree.map(lambda leaf: leaf.T, (sure, paid, stops))
    _, after = lax.scan(back, sure[:, -1], columns, reverse=True)
    return after.T
