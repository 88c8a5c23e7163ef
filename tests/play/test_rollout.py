"""`rollout` against a loop over single episodes that uses none of its code."""

import functools as ft
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP, StopReason
from icpe.core.errors import InvalidParameterError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, StepResult
from icpe.core.memory import Scratch, StepCount
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.families import Patches
from icpe.play.rollout import (
    default_chunk_size,
    rollout,
    rollout_chunks,
    run_episodes,
)
from support.toy_tasks import Corridor, Hint, Lockers, TwoBits, TwoDoors

NUM_EPISODES = 12
KEYS = ft.cache(lambda: jr.split(jr.key(7), NUM_EPISODES))


class State(NamedTuple):
    steps: StepCount
    scratch: Scratch
    stop_rate: Any
    scores: Any


class Wanderer(AbstractExplorer):
    """Random allowed queries, random stops, and a belief that sums up outcomes."""

    stop_rate: float = 0.15

    def init(self, spec, operating_point, first_outcome) -> Any:
        stops = operating_point.regime is not Regime.BUDGET and spec.can_stop
        rate = jnp.where((operating_point.price > 0) & stops, self.stop_rate, 0.0)
        scores = jnp.zeros(spec.num_hypotheses).at[0].add(jnp.sum(first_outcome))
        steps = StepCount(jnp.zeros((), jnp.int32), spec.horizon)
        return State(steps, Scratch(first_outcome), rate, scores)

    def ask(self, state, query_mask, *, key):
        draws = jr.uniform(key, (query_mask.shape[0] + 1,))
        scores = jnp.where(query_mask, draws[1:], -1.0)
        return jnp.where(draws[0] < state.stop_rate, STOP, scores.argmax())

    def tell(self, state, query, outcome):
        where = (query + state.steps.value) % state.scores.shape[0]
        return State(
            state.steps.next(),
            Scratch(state.scratch.value + outcome),
            state.stop_rate,
            state.scores.at[where].add(1.0 + jnp.sum(outcome)),
        )

    def recommend(self, state):
        return jnp.argmax(state.scores)

    def log_posterior(self, state):
        return jax.nn.log_softmax(state.scores)


def reference(explorer, family):
    """A function that runs one episode step by step in Python."""
    methods = (family.sample_task, family.reset, family.step)
    methods += (explorer.ask, explorer.tell)
    return ft.partial(_reference, explorer, family, *map(jax.jit, methods))


def _reference(
    explorer, family, sample_task, reset, step, ask, tell, point, key
) -> dict:
    spec = family.spec
    task_key, world_key, own_key = jr.split(key, 3)
    task = sample_task(key=task_key)
    world = reset(task, key=jr.fold_in(world_key, 0))
    state = explorer.init(spec, point, world.outcome)
    queries, outcomes, masks, cost = [], [world.outcome], [world.query_mask], 0.0
    reason = StopReason.TERMINATED if world.terminated else StopReason.RUNNING
    for t in range(spec.horizon):
        if reason is StopReason.RUNNING and not world.query_mask.any():
            reason = StopReason.NO_QUERY
        if reason is not StopReason.RUNNING:
            break
        query = int(ask(state, world.query_mask, key=jr.fold_in(own_key, t)))
        if query == STOP:
            reason = StopReason.EXPLORER
            break
        key = jr.fold_in(world_key, t + 1)
        world = step(world.state, jnp.asarray(query), task, key=key)
        state = tell(state, jnp.asarray(query), world.outcome)
        queries.append(query)
        outcomes.append(world.outcome)
        masks.append(world.query_mask)
        cost += (spec.costs or (1.0,) * spec.num_queries)[query]
        if world.terminated:
            reason = StopReason.TERMINATED
        elif t + 1 == int(point.max_queries):
            asked_for = point.regime is Regime.BUDGET or (
                point.regime is Regime.MIXED and point.price == 0
            )
            forced = int(point.max_queries) == spec.horizon and not asked_for
            reason = StopReason.HORIZON if forced else StopReason.BUDGET
    pad = spec.horizon - len(queries)
    return {
        "queries": np.array(queries + [STOP] * pad),
        "outcomes": np.pad(np.stack(outcomes), ((0, pad), (0, 0))),
        "masks": np.pad(np.stack(masks), ((0, pad), (0, 0)), constant_values=True),
        "num_queries": len(queries),
        "cost": cost,
        "stop_reason": reason,
        "recommendation": int(explorer.recommend(state)),
        "hypothesis": int(family.hypothesis(task)),
        "log_posterior": np.asarray(explorer.log_posterior(state)),
    }


def flat(transcript, family, i) -> dict:
    """Episode i of a transcript under the names of the reference."""
    shape = (family.spec.horizon + 1, family.spec.num_queries)
    masks = transcript.query_masks
    return {
        "queries": transcript.history.queries[i],
        "outcomes": transcript.history.outcomes[i],
        "masks": np.ones(shape, bool) if masks is None else masks[i],
        **{
            name: getattr(transcript.ending, name)[i]
            for name in ("num_queries", "cost", "stop_reason", "recommendation")
        },
        "hypothesis": transcript.ending.hypothesis[i],
        "log_posterior": transcript.ending.log_posterior[i],
    }


def mixed_points(horizon: int) -> OperatingPoint:
    """Prices and fixed budgets side by side, with every cap from 1 to the horizon."""
    i = np.arange(NUM_EPISODES)
    return OperatingPoint(
        price=jnp.asarray(np.where(i % 3 == 0, 0.0, 0.1), jnp.float32),
        error_prob=jnp.zeros(NUM_EPISODES),
        max_queries=jnp.asarray(i % horizon + 1, jnp.int32),
        regime=Regime.MIXED,
    )


def one_of(points: OperatingPoint, i: int) -> OperatingPoint:
    return jax.tree.map(lambda leaf: leaf[i] if leaf.ndim else leaf, points)


@ft.cache
def compiled():
    return eqx.filter_jit(rollout)


CASES = {
    "noise": (TwoDoors(reliability=0.8), mixed_points(4)),
    "masks": (Lockers(), mixed_points(5)),
    "termination": (Corridor(), OperatingPoint.at(4, budget=3)),
    "hint": (Hint(num_boxes=2), OperatingPoint.at(4, price=0.1)),
    "costs": (TwoBits(), OperatingPoint.at(3, price=0.1, max_queries=2)),
}


@pytest.mark.parametrize(("family", "points"), CASES.values(), ids=CASES)
def test_every_episode_equals_the_plain_loop(family, points):
    explorer = Wanderer()
    transcript = compiled()(explorer, family, points, keys=KEYS())
    run = reference(explorer, family)
    for i, key in enumerate(KEYS()):
        expected = run(one_of(points, i), key)
        found = flat(transcript, family, i)
        for name, value in expected.items():
            np.testing.assert_allclose(
                found[name], value, rtol=1e-5, atol=1e-6, err_msg=f"{name} of {i}"
            )
    assert (family.spec.masks_queries) == (transcript.query_masks is not None)


def test_every_reason_to_stop_comes_up_in_these_cases():
    """The comparison above would be hollow otherwise."""
    met = set()
    for case in ("noise", "masks", "termination"):
        family, points = CASES[case]
        ending = compiled()(Wanderer(), family, points, keys=KEYS()).ending
        met |= set(np.asarray(ending.stop_reason).tolist())
    only_in_sessions = {StopReason.ALARM}
    assert met == set(StopReason) - {StopReason.RUNNING} - only_in_sessions


@pytest.mark.slow
def test_running_the_full_length_changes_nothing():
    family, points = CASES["masks"]
    early = compiled()(Wanderer(), family, points, keys=KEYS())
    full = compiled()(Wanderer(), family, points, keys=KEYS(), full_length=True)
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), early, full))


@pytest.mark.slow
def test_given_tasks_are_used_and_leave_the_noise_as_it_was():
    family, points = CASES["noise"]
    own = compiled()(Wanderer(), family, points, keys=KEYS())
    drawn = own.ending.hypothesis  # In this family the task is the hypothesis.
    same = compiled()(Wanderer(), family, points, keys=KEYS(), tasks=drawn)
    other = compiled()(Wanderer(), family, points, keys=KEYS(), tasks=1 - drawn)
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), own, same))
    assert (other.ending.hypothesis == 1 - own.ending.hypothesis).all()
    # The other door gives the opposite answer to a peek under the same noise.
    assert (other.history.outcomes == -own.history.outcomes).all()


class Stubborn(AbstractExplorer):
    """Always asks one query, or one after the other."""

    first: jax.Array
    later: jax.Array

    def init(self, spec, operating_point, first_outcome):
        return jnp.zeros((), jnp.int32)

    def ask(self, state, query_mask, *, key):
        return jnp.where(state == 0, self.first, self.later)

    def tell(self, state, query, outcome):
        return state + 1

    def recommend(self, state):
        return jnp.zeros((), jnp.int32)

    def log_posterior(self, state):
        return None


def test_explorers_with_the_same_keys_face_the_same_tasks_and_noise():
    family, point = TwoDoors(reliability=0.6), OperatingPoint.at(4, budget=4)
    peek, knock = jnp.arange(2)
    one = compiled()(Stubborn(peek, peek), family, point, keys=KEYS())
    two = compiled()(Stubborn(knock, peek), family, point, keys=KEYS())
    assert (one.ending.hypothesis == two.ending.hypothesis).all()
    # From the second step on both peek, so they must see the same.
    later = one.history.outcomes[:, 2:]
    assert (later == two.history.outcomes[:, 2:]).all()
    # The noise is there: two peeks of one episode may disagree.
    assert (later[:, 0] != later[:, 1]).any()


class EndsAtOnce(AbstractTaskFamily):
    @property
    def spec(self):
        return TaskSpec(2, 2, 1, 3, can_stop=False)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, 2)

    def reset(self, task, *, key):
        return StepResult(None, jnp.ones(1), jnp.ones(2, bool), jnp.asarray(True))

    def step(self, state, query, task, *, key):
        return self.reset(task, key=key)

    def hypothesis(self, task):
        return task


@pytest.mark.slow
def test_a_family_may_end_an_episode_at_reset():
    point = OperatingPoint.at(3, budget=3)
    transcript = compiled()(Wanderer(), EndsAtOnce(), point, keys=KEYS())
    assert (transcript.ending.stop_reason == StopReason.TERMINATED).all()
    assert (transcript.ending.num_queries == 0).all()
    assert (transcript.history.queries == STOP).all()
    assert (transcript.history.outcomes[:, 0] == 1).all()


@pytest.mark.slow
def test_episodes_have_keys_of_their_own_whatever_the_chunk_size():
    family, point = TwoDoors(reliability=0.8), OperatingPoint.at(4, price=0.1)
    keys = jax.vmap(jr.fold_in, (None, 0))(jr.key(1), jnp.arange(NUM_EPISODES))
    expected = compiled()(Wanderer(), family, point, keys=keys)
    run = ft.partial(rollout_chunks, Wanderer(), family, point, NUM_EPISODES)
    for size in (5, 64):
        chunks = list(run(key=jr.key(1), keep_posterior=True, chunk_size=size))
        assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(chunks))
        joined = jax.tree.map(lambda *leaves: np.concatenate(leaves), *chunks)
        assert jax.tree.all(
            jax.tree.map(lambda a, b: np.allclose(a, b), joined, expected)
        )


def test_episodes_may_be_played_from_any_one_on():
    family, point = TwoDoors(reliability=0.8), OperatingPoint.at(4, price=0.1)
    run = ft.partial(rollout_chunks, Wanderer(), family, point, key=jr.key(1))
    (whole,) = run(12, chunk_size=12)
    later = list(run(7, chunk_size=4, start=5))
    truths = np.concatenate([chunk.ending.hypothesis for chunk in later])
    np.testing.assert_array_equal(truths, whole.ending.hypothesis[5:])


@pytest.mark.slow
def test_endings_are_joined_and_drop_the_belief_unless_it_is_kept():
    point = OperatingPoint.at(4, price=0.1)
    run = ft.partial(run_episodes, Wanderer(), TwoDoors(), point, 5, key=jr.key(1))
    ending = run(chunk_size=4)
    assert ending.hypothesis.shape == ending.correct.shape == (5,)
    assert ending.log_posterior is None


def test_no_episodes_are_refused():
    with pytest.raises(InvalidParameterError, match="num_episodes"):
        run_episodes(
            Wanderer(), TwoDoors(), OperatingPoint.at(4, budget=1), 0, key=jr.key(0)
        )


def test_other_prices_budgets_and_keys_do_not_compile_again():
    traces = []

    class Counting(Wanderer):
        def ask(self, state, query_mask, *, key):
            traces.append(1)
            return super().ask(state, query_mask, key=key)

    def run(seed, **request):
        point = OperatingPoint.at(4, **request)
        key = jr.key(seed)
        run_episodes(Counting(), TwoDoors(), point, 9, key=key, chunk_size=4)

    run(0, price=0.1)
    once = len(traces)
    run(1, price=0.2)
    run(2, price=0.1, max_queries=2)
    assert len(traces) == once > 0
    run(0, budget=1)
    assert len(traces) == 2 * once
    run(3, budget=4)
    assert len(traces) == 2 * once


def test_pictures_are_played_in_chunks_that_fit_into_memory():
    family = Patches(images="drawn-digits")
    point = OperatingPoint.at(family.spec.horizon, budget=1)
    assert default_chunk_size(Wanderer(), family, point) <= 1024


def test_the_default_chunk_shrinks_with_the_memory_of_an_episode():
    class Hoarder(Wanderer):
        def init(self, spec, operating_point, first_outcome):
            return jnp.zeros((1024, 1024))

    point = OperatingPoint.at(4, budget=1)
    small = default_chunk_size(Wanderer(), TwoDoors(), point)
    large = default_chunk_size(Hoarder(), TwoDoors(), point)
    assert large < small
    assert large * 4 * 2**20 <= 2**28
