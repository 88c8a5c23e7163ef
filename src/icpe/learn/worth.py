"""When to stop a greedy rule, from episodes in which it never stopped.

What the rule asks does not depend on where it will stop, so every price and every
budget can be judged on the same episodes: the value of asking on is what stopping later
would have brought in them (Longstaff and Schwartz, "Valuing American options by
simulation", 2001). Networks that start from exact tables start with this, and so from
the greedy rule stopped about as well as it can be.
"""

import math

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
from icpe.learn.config import TrainConfig
from icpe.learn.shape import price_range, tables_of
from icpe.learn.survey import Survey
from icpe.learn.targets import noise_of_return
from icpe.nets.evidence import AbstractPredictions
from icpe.nets.worth_head import WorthHead, what_is_asked, what_is_known

_MOST_UPDATES, _UPDATES_PER_ITERATION, _STEP_SIZE = 4000, 30, 1e-2
_BEYOND = 3.0
"""Times the highest price, and under the lowest, that it is made for."""
_LARGEST_BATCH, _MOST_POSITIONS = 256, 2**14
"""Episodes, and positions in them, of one update."""
_READ_AT_ONCE = 2**21
"""Numbers about queries that are looked at together."""
_FEWEST_EPISODES, _MOST_OPERATIONS = 256, 2.0**35
"""Fewer episodes are looked at where a belief takes long."""
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


def first_worth(spec: TaskSpec, config: TrainConfig, found: Survey) -> WorthHead | None:
    """What networks start with, None where they do not start from an exact rule.

    A short training gets a short fit.

    Args:
        spec: of the family.
        config: of the training.
        found: the survey, with episodes of the greedy rule that never stopped.
    """
    tables = tables_of(config, found)
    if tables is None or tables is not found.given or found.greedy is None:
        return None
    if not spec.can_stop:
        return None
    prices = price_range(config, spec, found)
    updates = min(_MOST_UPDATES, _UPDATES_PER_ITERATION * config.num_iterations)
    number = int(max(_FEWEST_EPISODES, _MOST_OPERATIONS / max(found.operations, 1.0)))
    history = jax.tree.map(lambda leaf: leaf[:number], found.greedy)
    with jax.numpy_dtype_promotion("standard"):  # optax mixes dtypes
        return fit_worth(spec, tables, history, prices, updates)


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
    low, high = math.log(prices.low / _BEYOND), math.log(prices.high * _BEYOND)
    return _fitted(head, _read(spec, tables, history), low, high, spec, updates, key)


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
    optimizer = optax.adam(optax.cosine_decay_schedule(_STEP_SIZE, updates))

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


def _loss(
    head: WorthHead,
    played: _Played,
    price: Float[Array, "episodes"],
    most: Int[Array, "episodes"],
    spec: TaskSpec,
) -> Float[Array, ""]:
    """Squared error of what asking on brings, relative to its noise."""
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
    later = _value_after(played.sure, paid, stops)
    reached = jnp.cumsum(stops, axis=1) == 0
    noise = noise_of_return(error, jnp.where(priced, spec.mean_cost * unit, 0.0))
    weight = jnp.where(may_ask, jnp.where(reached, 1.0, _LATER), 0.0) / noise
    squares = jnp.square(gain - (later - played.sure))
    return jnp.sum(weight * squares) / jnp.maximum(
        jnp.sum(may_ask, dtype=jnp.float32), 1.0
    )


def _value_after(sure, paid, stops) -> Float[Array, "episodes positions"]:
    """What a query at each position leads to, if the rule goes on until it stops."""

    def back(after, now):
        sure, paid, stops = now
        return jnp.where(stops, sure, after - paid), after

    columns = jax.tree.map(lambda leaf: leaf.T, (sure, paid, stops))
    _, after = lax.scan(back, sure[:, -1], columns, reverse=True)
    return after.T
