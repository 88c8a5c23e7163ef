"""Calls that run together give the bits of calls that run alone."""

import asyncio
import threading

import jax
import numpy as np
import pytest

from icpe import zoo
from icpe.core.request import Request
from icpe.deploy import Session
from icpe.deploy.events import Event, Kind, Status
from icpe.deploy.memory import MemoryStorage
from icpe.deploy.session_rules import SessionRules
from icpe.deploy.session_state import complete
from icpe.deploy.setup import Setup
from icpe.play.together import Step, TogetherSteps
from icpe.service.batcher import Batcher
from icpe.service.writer import Writer
from support.service_models import small_bandit


def steps_of(artifact, number, rng):
    """One step of several sessions of different lengths and prices."""
    steps = []
    spec = artifact.family.spec
    for i in range(number):
        request = Request(price=0.01 * (1 + i % 3), max_queries=spec.horizon - i % 2)
        rules = SessionRules(Setup.of(artifact, None, request, seed=i))
        state = complete(rules.begin(), rules.live)
        state = state.state
        for _ in range(rng.integers(0, 5)):
            query = int(rng.integers(spec.num_queries))
            told = rng.normal(size=spec.outcome_size)
            state = complete(rules.tell(state, query, told), rules.live).state
            if state.stopped:
                break
        outcome = rng.normal(size=spec.outcome_size).astype(np.float32)
        query = int(rng.integers(spec.num_queries))
        mask = np.ones(spec.num_queries, bool)
        told = (query, outcome, mask, bool(i % 5 == 4))
        steps.append((rules.live, Step(rules.row, state.turn, *told)))
    return steps


@pytest.mark.parametrize(
    "name", ["small", pytest.param("gaussian-bandit-4", marks=pytest.mark.slow)]
)
def test_steps_together_have_the_bits_of_steps_alone(name):
    artifact = small_bandit() if name == "small" else zoo.load(name)
    rng = np.random.default_rng(0)
    for number in (1, 2, 5):
        steps = steps_of(artifact, number, rng)
        live = steps[0][0]
        together = TogetherSteps(live.explorer, live.spec, live.operating_point.regime)(
            [step for _, step in steps]
        )
        for (live, step), found in zip(steps, together, strict=True):
            alone = jax.device_get(live.advance(step.turn, *step[2:]))
            for one, other in zip(
                jax.tree.leaves(alone), jax.tree.leaves(found), strict=True
            ):
                np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_a_batcher_runs_calls_of_many_sessions_at_once():
    sizes = []
    batcher = Batcher(gather_seconds=0.2, observe=sizes.append)
    all_rules = [
        SessionRules(Setup.of(small_bandit(), None, Request(budget=6), seed=i))
        for i in range(6)
    ]

    async def play(rules, number):
        state = (await batcher.complete(rules, rules.begin())).state
        for i in range(3):
            change = await batcher.complete(
                rules, rules.tell(state, i, 0.1 * number + i)
            )
            state = change.state
        return state

    async def all_of_them():
        return await asyncio.gather(*(play(it, i) for i, it in enumerate(all_rules)))

    states = asyncio.run(all_of_them())
    batcher.close()
    assert max(sizes) > 1 and sum(sizes) == 6 * 4
    for number, state in enumerate(states):
        session = Session(small_bandit(), budget=6, seed=number)
        for i in range(3):
            session.tell(i, 0.1 * number + i)
        assert session.posterior is not None and state.posterior is not None
        np.testing.assert_array_equal(session.posterior, state.posterior)


def test_a_call_that_fails_is_told_to_its_own_session():
    batcher = Batcher(gather_seconds=0.05)
    rules = SessionRules(Setup.of(small_bandit(), None, Request(budget=6)))

    def broken():
        yield lambda live: 1 / 0

    async def both():
        return await asyncio.gather(
            batcher.complete(rules, broken()),
            batcher.complete(rules, rules.begin()),
            return_exceptions=True,
        )

    failed, begun = asyncio.run(both())
    batcher.close()
    assert isinstance(failed, ZeroDivisionError)
    assert not isinstance(begun, BaseException) and begun.state.query >= 0


def test_a_writer_adds_many_sessions_in_one_transaction():
    storage, gate = MemoryStorage(), threading.Event()
    sizes = []
    append_all = storage.append_all

    def slow(batch):
        gate.wait(10)
        return append_all(batch)

    storage.append_all = slow  # pyright: ignore
    writer = Writer(storage, sizes.append)

    async def many():
        events = [Event(0, Kind.CREATED, 0.0, {}, Status.OPEN)]
        tasks = [asyncio.create_task(writer.append(f"s{i}", events)) for i in range(10)]
        await asyncio.sleep(0.1)
        gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(many())
    writer.close()
    assert sum(sizes) == 10 and len(sizes) <= 3
    assert len(storage.sessions(100)) == 10
