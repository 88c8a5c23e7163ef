"""Gymnasium environments as families, stepped on the host."""

import dataclasses
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import icpe
from icpe.core.errors import InvalidOutcomeError, InvalidParameterError
from icpe.core.host import SimulatorError
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint
from icpe.integrations.gymnasium import from_gymnasium
from icpe.integrations.gymnasium.observations import names_of, numbers_of
from icpe.learn import fitting
from icpe.learn import survey as survey_module
from icpe.learn.fit import FitOptions, fit
from icpe.learn.random_play import RandomQueries
from icpe.learn.survey import survey
from icpe.play.rollout import rollout
from icpe.studies.host_speed import measure_host_speed
from icpe.studies.tiny import TINY
from icpe.testing import check_family
from support.doors_env import Doors
from support.explorers import FirstAllowed

FACTS: dict[str, Any] = {"num_hypotheses": 4, "num_queries": 4, "horizon": 6}


@pytest.fixture(autouse=True)
def brief_surveys(monkeypatch):
    """Few answers, since every call of Python is checked in tests, which takes long."""
    for module in (survey_module, fitting):
        monkeypatch.setattr(module, "ON_HOST", 2**9)
    monkeypatch.setattr(survey_module, "_NUM_EPISODES", 512)


@pytest.fixture
def training():
    """Libraries that training uses promote dtypes on their own."""
    with jax.numpy_dtype_promotion("standard"):
        yield


def by_hand(seed, queries, **options):
    """What the environment itself shows after each of the queries."""
    env = Doors(**options)
    env.reset(seed=int(seed))
    outcomes = []
    for query in queries:
        seen, *_ = env.step(query)
        outcomes.append([1 - seen["seen"], seen["seen"], seen["step"][0]])
    return env.truth, outcomes


@pytest.fixture(scope="module")
def doors():
    return from_gymnasium(lambda: Doors(noise=0.2), **FACTS)


def episodes(family, number=24, seed=0):
    point = OperatingPoint.at(family.horizon, budget=family.horizon)
    keys = jr.split(jr.key(seed), number)
    played = jit_program(rollout)(RandomQueries(), family, point, keys=keys)
    return jax.device_get(played)


def test_it_keeps_the_contract_of_a_family(doors):
    check_family(doors)


def test_episodes_are_those_of_the_environment(doors):
    played = episodes(doors)
    task_of = jax.vmap(lambda key: doors.sample_task(key=key))
    assert len(set(played.ending.hypothesis.tolist())) > 1
    result = doors.reset(jnp.uint32(7), key=jr.key(0))
    queries = [2, 0, 2, 3]
    truth, outcomes = by_hand(7, queries, noise=0.2)
    assert int(doors.hypothesis(jnp.uint32(7))) == truth
    for query, outcome in zip(queries, outcomes, strict=True):
        result = doors.step(
            result.state, jnp.asarray(query), jnp.uint32(7), key=jr.key(0)
        )
        np.testing.assert_array_equal(result.outcome, outcome)
    assert result.query_mask.tolist() == [True, True, False, True]
    assert task_of(jr.split(jr.key(0), 3)).dtype == jnp.uint32


def test_what_is_told_depends_on_the_arguments_alone(doors):
    """In any order, and after everything was forgotten."""
    world = doors.world
    rng = np.random.default_rng(0)
    seeds = rng.integers(0, 5, 40)
    queries = rng.integers(0, 4, (40, 6)).astype(np.int32)
    steps = rng.integers(0, 4, 40).astype(np.int32)
    found = world.look(seeds, queries, steps)
    order = rng.permutation(40)
    fresh = dataclasses.replace(doors, lanes=3).world
    again = fresh.look(seeds[order], queries[order], steps[order])
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one[order], other)
    for i in range(40):
        if steps[i]:
            _, outcomes = by_hand(seeds[i], queries[i, : steps[i]], noise=0.2)
            np.testing.assert_array_equal(found[0][i], outcomes[-1])


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vectorized_environments_in_all_three_modes(doors, mode):
    """The fifth action, a query here, ends episodes at different times."""
    facts = {**FACTS, "num_queries": 5}

    def make():
        return SyncVectorEnv([lambda: Doors(noise=0.2)] * 4, autoreset_mode=mode)

    alone = episodes(from_gymnasium(lambda: Doors(noise=0.2), **facts))
    together = episodes(from_gymnasium(make, **facts))
    assert 0 < (alone.history.length < 6).sum() < 24
    for one, other in zip(
        jax.tree.leaves(alone), jax.tree.leaves(together), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_an_end_by_the_environment_ends_the_episode():
    family = from_gymnasium(lambda: Doors(), **{**FACTS, "num_queries": 5})
    result = family.reset(jnp.uint32(3), key=jr.key(0))
    result = family.step(result.state, jnp.asarray(4), jnp.uint32(3), key=jr.key(0))
    assert bool(result.terminated)
    after = family.step(result.state, jnp.asarray(0), jnp.uint32(3), key=jr.key(0))
    np.testing.assert_array_equal(after.outcome, result.outcome)
    assert bool(after.terminated)


@pytest.mark.slow
def test_the_survey_sees_noise_between_tasks(doors):
    found = survey(doors)
    assert found.is_noisy and found.trust > 0
    exact = survey(from_gymnasium(lambda: Doors(), **FACTS))
    assert not exact.is_noisy


def test_parts_of_an_observation_have_names_and_become_numbers(doors):
    """In the order of gymnasium's own flatten."""
    assert doors.spec.outcome_names == ("seen=0", "seen=1", "step[0]")
    observation = {"step": np.array([5.0], np.float32), "seen": 1}
    assert doors.outcome(observation).tolist() == [0.0, 1.0, 5.0]
    explorer = FirstAllowed()
    with pytest.raises(InvalidOutcomeError, match="3 numbers in order: seen=0, seen=1"):
        icpe.Session(explorer, doors, budget=2, first_outcome=observation)
    first = doors.outcome(observation)
    every = [True] * 4
    session = icpe.Session(
        explorer, doors, budget=2, first_outcome=first, query_mask=every
    )
    query = session.ask()
    assert query is not None
    session.tell(query, doors.outcome(observation), query_mask=every)
    assert session.history[0].outcome.tolist() == [0.0, 1.0, 5.0]


SPACES: list[tuple[gymnasium.Space, tuple[str, ...]]] = [
    (gymnasium.spaces.Box(0, 1, (2,)), ()),
    (gymnasium.spaces.Discrete(3), ()),
    (
        gymnasium.spaces.Dict(
            {
                "b": gymnasium.spaces.Dict(z=gymnasium.spaces.Box(0, 1, ())),
                "a": gymnasium.spaces.MultiDiscrete([2, 3]),
            }
        ),
        ("a[0]=0", "a[0]=1", "a[1]=0", "a[1]=1", "a[1]=2", "b.z"),
    ),
    (
        gymnasium.spaces.Tuple(
            [gymnasium.spaces.Discrete(2, start=1), gymnasium.spaces.MultiBinary(2)]
        ),
        ("[0]=1", "[0]=2", "[1][0]", "[1][1]"),
    ),
    (
        gymnasium.spaces.Dict(
            a=gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(2))
        ),
        (),
    ),
]


@pytest.mark.parametrize("space, names", SPACES)
def test_names_are_as_many_as_numbers(space, names):
    assert names_of(space) == names
    if names:
        assert numbers_of(space, space.sample()).size == len(names)


def test_there_and_back_it_is_the_same_problem():
    """Whole episodes of binary search, through Gymnasium and without it."""
    family = from_gymnasium("icpe/binary-search-v0", size=8)
    plain = icpe.make("binary-search", size=8)
    assert family.spec.numbers() == {
        **plain.spec.numbers(),
        "outcome_shift": (),
        "outcome_scale": (),
        "masks_queries": True,
    }
    result = family.reset(jnp.uint32(11), key=jr.key(0))
    truth = int(family.hypothesis(jnp.uint32(11)))
    low, high = 0, 7
    while low < high:
        query = (low + high) // 2
        result = family.step(
            result.state, jnp.asarray(query), jnp.uint32(11), key=jr.key(0)
        )
        assert float(result.outcome[0]) == np.sign(truth - query)
        if truth == query:
            low = high = query
        low, high = (query + 1, high) if truth > query else (low, query - 1)
        if truth == query:
            break


@pytest.mark.slow
def test_it_trains(tmp_path, doors, training):
    result = fit(doors, TINY, FitOptions(checkpoint=tmp_path / "c"))
    assert result.iterations == TINY.num_iterations


@pytest.mark.slow
def test_an_environment_that_raises_leaves_the_last_checkpoint(tmp_path, training):
    path = tmp_path / "c"
    config = dataclasses.replace(TINY, log_every=1, predictions="none")
    steps = []

    def make():
        env = Doors()
        env.step = stuck(env.step, steps)
        return env

    broken = from_gymnasium(make, **FACTS)
    survey(broken)
    steps.append(2 * TINY.batch_size * FACTS["horizon"])
    options = FitOptions(checkpoint=path, checkpoint_seconds=0.0)
    with pytest.raises(SimulatorError, match="the motor is stuck") as caught:
        fit(broken, config, options)
    told = str(caught.value)
    assert "\n" not in told and "Traceback" not in told
    assert path.exists() and str(path) in told


def stuck(step, left):
    """A step that fails for good when a count, once there is one, has run out."""

    def stepping(action):
        if left:
            left[0] -= 1
            if left[0] < 0:
                raise ValueError("the motor is stuck")
        return step(action)

    return stepping


def test_an_environment_must_say_what_is_true():
    with pytest.raises(SimulatorError, match="let reset return info with 'hypothesis'"):
        from_gymnasium(lambda: Doors(says=False), **FACTS)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"horizon": None}, "horizon is missing"),
        ({"num_hypotheses": None}, "num_hypotheses is missing"),
        ({"num_queries": 6}, "num_queries must be between 1 and 5"),
    ],
)
def test_what_the_environment_does_not_say_must_be_given(given, words):
    with pytest.raises(InvalidParameterError, match=words):
        from_gymnasium(lambda: Doors(), **{**FACTS, **given})


def test_what_is_no_environment():
    with pytest.raises(InvalidParameterError, match="must make a gymnasium"):
        from_gymnasium(lambda: 3, **FACTS)
    with pytest.raises(InvalidParameterError, match="there is no making more of it"):
        from_gymnasium(Doors(), **FACTS)
    with pytest.raises(InvalidParameterError, match="must be a Discrete space"):
        from_gymnasium("Pendulum-v1", **FACTS)


class Odd(gymnasium.Env):
    """One of three numbers, shown at once; what is odd about it is given."""

    observation_space = gymnasium.spaces.Box(-10, 10, (1,), np.float32)

    def __init__(self, actions=None, **odd):
        self.action_space = actions or gymnasium.spaces.Discrete(3)
        self.odd = odd

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.truth = int(self.np_random.integers(3))
        info = {"hypothesis": self.odd.get("truth", self.truth)}
        if "mask" in self.odd:
            info["action_mask"] = self.odd["mask"]
        return np.full(1, self.odd.get("shown", 0.0), np.float32), info

    def step(self, action) -> Any:
        assert self.action_space.contains(action)
        size, number = self.odd.get("size", 1), self.odd.get("values", 5)
        noise = self.odd.get("noise", lambda: 0.0)()
        seen = np.full(size, self.truth + noise, np.float32)
        return (seen, 0.0, False, False, {})[:number]


@pytest.mark.parametrize(
    ("odd", "complaint"),
    [
        ({"truth": "ill"}, "the hypothesis 'ill'; it must be a whole number from 0"),
        ({"truth": 0.5}, "the hypothesis 0.5"),
        ({"truth": 7}, "the hypothesis 7"),
        ({"mask": [1]}, "an action_mask of 1 entries for 3 queries"),
        ({"size": 2}, "has 2 numbers, where another had 1"),
        ({"shown": np.nan}, "is not finite"),
        ({"values": 4}, "returned 4 values from step"),
        ({"noise": np.random.default_rng().random}, "with the same seed"),
    ],
)
def test_an_odd_environment_is_refused_in_one_sentence(odd, complaint):
    with pytest.raises(SimulatorError, match=complaint) as caught:
        from_gymnasium(lambda: Odd(**odd), num_hypotheses=3, horizon=2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("actions", "number"),
    [
        (gymnasium.spaces.Discrete(3, start=1), 3),
        (gymnasium.spaces.MultiDiscrete([2, 3]), 6),
        (gymnasium.spaces.MultiBinary(3), 8),
    ],
    ids=["from 1", "combinations", "bits"],
)
@pytest.mark.parametrize("vectorized", [False, True])
def test_every_action_of_a_finite_space_is_a_query(actions, number, vectorized):
    def make():
        return SyncVectorEnv([lambda: Odd(actions)] * 2) if vectorized else Odd(actions)

    family = from_gymnasium(make, num_hypotheses=3, horizon=2)
    assert family.num_queries == number
    seeds, queries = np.arange(number), np.arange(number)[:, None]
    seen, _, _ = family.world.look(seeds, queries, np.ones(number, np.int32))
    np.testing.assert_array_equal(seen[:, 0], family.world.hypotheses(seeds))


def test_an_environment_that_cannot_be_made_is_one_sentence():
    with pytest.raises(SimulatorError, match="raised ZeroDivisionError"):
        from_gymnasium(lambda: 1 // 0, **FACTS)


def test_an_environment_with_a_spec_is_made_again():
    gymnasium.register(
        "Doors-v0", entry_point="support.doors_env:Doors", max_episode_steps=5
    )
    family = from_gymnasium(gymnasium.make("Doors-v0"), num_hypotheses=4, num_queries=4)
    assert family.horizon == 5
    assert episodes(family, 4).history.length.tolist() == [5] * 4


def test_steps_are_counted_and_timed(doors):
    speeds = [measure_host_speed(doors, 8) for _ in range(3)]
    speed = speeds[0]
    assert speed.steps == 8 * 6
    # A busy machine may be late once.
    assert any(it.alone_steps_per_second > it.steps_per_second > 0 for it in speeds)
    assert set(speed.to_dict()) >= {"environment", "steps_per_second"}


@pytest.mark.slow
def test_binary_search_through_gymnasium_trains_to_the_same_quality(training):
    """Both reach the optimum: no errors, 17/8 queries; 95 % intervals have 0.06."""
    family = from_gymnasium("icpe/binary-search-v0", size=8)
    for each in (icpe.make("binary-search", size=8), family):
        config = icpe.preset("cpu", each)
        config = dataclasses.replace(config, num_iterations=80, warmup_iterations=10)
        artifact = icpe.train(each, config, calibration_episodes=256).artifact
        (report,) = icpe.evaluate.evaluate(
            {"trained": artifact}, each, error_prob=0.05, episodes=512
        )
        assert report.accuracy == 1.0
        assert abs(report.mean_queries - 17 / 8) < 0.1
