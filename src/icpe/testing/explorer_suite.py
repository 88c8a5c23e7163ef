"""What every explorer must satisfy, as one function for any test."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Key

from icpe.core.conformance import compare
from icpe.core.episode import STOP, StopReason
from icpe.core.errors import ConformanceError, OperatingPointError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.play.rollout import rollout

_NUM_EPISODES = 8
_NUM_STEPS = 10
_OTHER_QUERIES = 0.1
"""Rounding differs between `vmap` and a loop and may break ties otherwise, so this
fraction of the queries may differ."""


def check_explorer(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    operating_points: Sequence[OperatingPoint] | None = None,
    *,
    seed: int = 0,
) -> None:
    """Checks that an explorer keeps its contract (`AbstractExplorer`) on a family.

    Its state keeps its structure, it asks allowed queries, stops only where it may,
    names a hypothesis, has a normalized belief if any, depends on its keys alone, and
    runs under `jit`, `vmap` and `rollout`. This is checked on a few random episodes,
    so passing is no proof.

    Args:
        explorer: who is checked.
        family: the world it is checked in.
        operating_points: those it must serve; None means a budget, a price and an
            error probability, those that it refuses left out.
        seed: of the episodes.

    Raises:
        ConformanceError: one sentence that says what is wrong and how to fix it.
    """
    points = operating_points
    if points is None:
        points = _points_served(explorer, family.spec)
    for i, point in enumerate(points):
        _check_shapes(explorer, family.spec, point)
        _check_episodes(explorer, family, point, seed, twice=i == 0)
        if i == 0:
            _check_rollout(explorer, family, point, seed)


def _points_served(
    explorer: AbstractExplorer, spec: TaskSpec
) -> tuple[OperatingPoint, ...]:
    candidates = (
        OperatingPoint.at(spec.horizon, budget=max(1, min(5, spec.horizon // 2))),
        OperatingPoint.at(spec.horizon, price=0.5 / spec.horizon),
        OperatingPoint.at(spec.horizon, error_prob=0.1),
    )
    served = tuple(point for point in candidates if _serves(explorer, spec, point))
    if not served:
        raise ConformanceError(
            "init refuses a budget, a price and an error probability alike; name the "
            "operating_points that the explorer serves."
        )
    return served


def _serves(explorer: AbstractExplorer, spec: TaskSpec, point: OperatingPoint) -> bool:
    try:
        _trace_init(explorer, spec, point)
    except OperatingPointError:
        return False
    return True


def _trace_init(explorer: AbstractExplorer, spec: TaskSpec, point: OperatingPoint):
    outcome = jax.ShapeDtypeStruct((spec.outcome_size,), jnp.float32)
    return compare.trace(
        "init",
        lambda point, outcome: explorer.init(spec, point, outcome),
        point,
        outcome,
    )


def _check_shapes(
    explorer: AbstractExplorer, spec: TaskSpec, point: OperatingPoint
) -> None:
    """Traces the methods without running them."""
    key = jr.key(0)
    query = jax.ShapeDtypeStruct((), jnp.int32)
    outcome = jax.ShapeDtypeStruct((spec.outcome_size,), jnp.float32)
    mask = jax.ShapeDtypeStruct((spec.num_queries,), jnp.bool_)
    state = _trace_init(explorer, spec, point)
    told = compare.trace("tell", explorer.tell, state, query, outcome)
    before, after = compare.layout(state), compare.layout(told)
    if before != after:
        raise ConformanceError(
            f"the state is {before} after init and {after} after tell; keep its "
            "structure, shapes and dtypes the same."
        )
    asked = compare.trace(
        "ask", lambda state, mask: explorer.ask(state, mask, key=key), state, mask
    )
    answer = compare.trace("recommend", explorer.recommend, state)
    for name, result in (("ask", asked), ("recommend", answer)):
        if not compare.is_integer(result):
            raise ConformanceError(
                f"{name} returns {compare.layout(result)}; return one integer."
            )
    belief = compare.trace("log_posterior", explorer.log_posterior, state)
    shape = (spec.num_hypotheses,)
    if belief is not None and belief.shape != shape:
        raise ConformanceError(
            f"log_posterior returns {compare.layout(belief)}; return floats of shape "
            f"{shape}, or None."
        )


class _Episode(NamedTuple):
    """What an explorer did at each step, and whether the episode was still on."""

    running: Any
    masks: Any
    asked: Any
    recommendations: Any
    log_posteriors: Any


def _check_episodes(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    point: OperatingPoint,
    seed: int,
    *,
    twice: bool,
) -> None:
    spec = family.spec
    num_steps = min(_NUM_STEPS, spec.horizon, int(point.max_queries))
    keys = jr.split(jr.key(seed), (_NUM_EPISODES, 2 * num_steps + 2))
    shape = (_NUM_EPISODES, num_steps, spec.num_queries)
    scores = np.random.default_rng(seed).random(shape)
    arguments = (jnp.asarray(scores, jnp.float32), keys)

    def episode(arguments) -> _Episode:
        return _episode(explorer, family, point, *arguments)

    episodes: _Episode = compare.run_vmapped(episode, arguments)
    if twice:
        compare.check_pure("the explorer", episode, arguments, episodes, _agree)
    _check_queries(episodes, spec, point)
    _check_answers(episodes, spec)


def _episode(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    point: OperatingPoint,
    scores: Float[Array, "steps queries"],
    keys: Key[Array, "2*steps+2"],
) -> _Episode:
    """Lets the explorer ask, but makes the allowed query with the best score.

    So the history does not depend on how the explorer breaks ties. At every other
    step that one query is all it may ask.
    """
    num_steps = scores.shape[0]
    task = family.sample_task(key=keys[0])
    world = family.reset(task, key=keys[1])
    state = explorer.init(family.spec, point, world.outcome)

    def step(carry, given):
        world, state, running = carry
        t, scores, own_key, world_key = given
        running = running & ~world.terminated & jnp.any(world.query_mask)
        query = jnp.argmax(jnp.where(world.query_mask, scores, -1.0))
        single = (t % 2 == 1) & (jnp.arange(scores.shape[0]) == query)
        mask = jnp.where(t % 2 == 1, single, world.query_mask)
        shown = _Episode(
            running,
            mask,
            explorer.ask(state, mask, key=own_key),
            explorer.recommend(state),
            explorer.log_posterior(state),
        )
        world = family.step(world.state, query, task, key=world_key)
        return (world, explorer.tell(state, query, world.outcome), running), shown

    given = (
        jnp.arange(num_steps),
        scores,
        keys[2 : 2 + num_steps],
        keys[2 + num_steps :],
    )
    return lax.scan(step, (world, state, jnp.asarray(True)), given)[1]


def _agree(one: _Episode, other: _Episode) -> bool:
    different = np.sum((one.asked != other.asked) & one.running)
    if different > _OTHER_QUERIES * np.sum(one.running):
        return False
    if one.log_posteriors is None or other.log_posteriors is None:
        return one.log_posteriors is other.log_posteriors
    return compare.close(np.exp(one.log_posteriors), np.exp(other.log_posteriors))


def _check_queries(episodes: _Episode, spec: TaskSpec, point: OperatingPoint) -> None:
    asked = episodes.asked[episodes.running]
    masks = episodes.masks[episodes.running]
    outside = asked[(asked != STOP) & ((asked < 0) | (asked >= spec.num_queries))]
    if outside.size:
        raise ConformanceError(
            f"ask returned {outside[0]}; return a query from 0 to "
            f"{spec.num_queries - 1}, or STOP."
        )
    if not spec.can_stop and (asked == STOP).any():
        raise ConformanceError(
            "ask returned STOP although spec.can_stop is False; return a query until "
            "the family ends the episode."
        )
    if point.regime is Regime.BUDGET and (asked == STOP).any():
        raise ConformanceError(
            "ask returned STOP in the regime BUDGET; return a query as long as it is "
            "called, the budget is enforced elsewhere."
        )
    forbidden = (asked != STOP) & ~masks[np.arange(asked.size), asked]
    if forbidden.any():
        raise ConformanceError(
            f"ask returned {asked[forbidden][0]}, which the query mask forbids; choose "
            "among the queries whose mask is True."
        )


def _check_answers(episodes: _Episode, spec: TaskSpec) -> None:
    answers = episodes.recommendations[episodes.running]
    outside = answers[(answers < 0) | (answers >= spec.num_hypotheses)]
    if outside.size:
        raise ConformanceError(
            f"recommend returned {outside[0]}; return a hypothesis from 0 to "
            f"{spec.num_hypotheses - 1}."
        )
    if episodes.log_posteriors is None:
        return
    total = np.exp(episodes.log_posteriors[episodes.running]).sum(1)
    if not np.allclose(total, 1.0, atol=1e-2):
        wrong = total[~np.isclose(total, 1.0, atol=1e-2)][0]
        raise ConformanceError(
            f"the probabilities of log_posterior sum to {wrong:.4g}; normalize them to "
            "1, for example with jax.nn.log_softmax."
        )


def _check_rollout(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    point: OperatingPoint,
    seed: int,
) -> None:
    """Runs the explorer as everyone else does, by its own queries."""

    @compare.jit_once
    def run(point, keys):
        return rollout(explorer, family, point, keys=keys).ending

    try:
        ending = run(point, jr.split(jr.key(seed + 1), _NUM_EPISODES))
    except Exception as error:
        raise ConformanceError(
            f"rollout raised {compare.in_short(error)}; write every method for one "
            "episode, as a function of the state that can be compiled and vmapped."
        ) from error
    stopped = np.asarray(ending.stop_reason) == StopReason.EXPLORER
    if stopped.any() and (point.regime is Regime.BUDGET or not family.spec.can_stop):
        raise ConformanceError(
            "ask returned STOP in a rollout although it must not stop there; return a "
            "query in the regime BUDGET and where spec.can_stop is False."
        )
