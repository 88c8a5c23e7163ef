"""Families as Gymnasium environments."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from icpe.core.errors import InvalidParameterError, SessionError
from icpe.families import BinarySearch
from icpe.families.registry import family_names
from icpe.integrations.gymnasium import FamilyEnv

SMALL = {
    "adaptive-test": {"num_items": 8},
    "battleship": {},
    "best-of-k": {"most_settings": 4},
    "patches": {"images": "drawn-digits"},
}
QUICK = ("binary-search", "magic-room", "gaussian-bandit")


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in family_names()
    ],
)
def test_every_family_passes_the_checker_of_gymnasium(name):
    env = gymnasium.make(f"icpe/{name}-v0", **SMALL.get(name, {}))
    check_env(env.unwrapped)


def test_queries_and_then_an_answer():
    env = FamilyEnv(BinarySearch(size=8), price=0.125)
    outcome, info = env.reset(seed=5)
    assert outcome.tolist() == [0.0]
    truth = info["hypothesis"]
    query = 0 if truth else 1
    outcome, reward, terminated, truncated, _ = env.step(query)
    assert (reward, terminated, truncated) == (-0.125, False, False)
    assert outcome[0] == np.sign(truth - query)
    _, reward, terminated, truncated, _ = env.step(8 + truth)
    assert (reward, terminated, truncated) == (1.0, True, False)
    with pytest.raises(SessionError, match="call reset before step"):
        env.step(0)


def test_a_wrong_answer_earns_nothing():
    env = FamilyEnv("binary-search", size=4)
    _, info = env.reset(seed=1)
    _, reward, terminated, *_ = env.step(4 + (info["hypothesis"] + 1) % 4)
    assert reward == 0.0 and terminated


def test_at_the_horizon_only_the_answer_is_left():
    env = FamilyEnv(BinarySearch(size=8, horizon=2))
    env.reset(seed=0)
    env.step(0)
    *_, truncated, info = env.step(0)
    assert not truncated
    assert info["action_mask"].tolist() == [0] * 8 + [1] * 8
    *_, terminated, truncated, _ = env.step(0)
    assert truncated and not terminated


def test_where_one_cannot_stop_answers_come_after_the_end():
    env = FamilyEnv("magic-room", size=4)
    _, info = env.reset(seed=0)
    spec = env.family.spec
    assert not info["action_mask"][spec.num_queries :].any()
    _, reward, terminated, truncated, _ = env.step(spec.num_queries)
    assert (reward, terminated, truncated) == (0.0, False, False)


def test_one_seed_is_one_episode():
    first, second = FamilyEnv("gaussian-bandit"), FamilyEnv("gaussian-bandit")
    first.reset(seed=7)
    second.reset(seed=7)
    for action in (3, 3, 1):
        np.testing.assert_array_equal(first.step(action)[0], second.step(action)[0])


def test_episodes_are_shown_as_text():
    env = FamilyEnv("binary-search", size=4, render_mode="ansi")
    _, info = env.reset(seed=1)
    env.step(info["hypothesis"])
    env.step(4 + info["hypothesis"])
    text = env.render()
    assert text is not None and text.endswith("right")


def test_side_by_side():
    envs = gymnasium.make_vec("icpe/binary-search-v0", num_envs=3, size=8)
    outcomes, infos = envs.reset(seed=0)
    assert outcomes.shape == (3, 1) and infos["hypothesis"].shape == (3,)


@pytest.mark.parametrize("action", [-1, 16])
def test_actions_that_do_not_exist(action):
    env = FamilyEnv(BinarySearch(size=8))
    env.reset(seed=0)
    with pytest.raises(InvalidParameterError, match="from 0 to 15"):
        env.step(action)


def test_parameters_go_with_a_name():
    with pytest.raises(InvalidParameterError, match="size: parameters go with"):
        FamilyEnv(BinarySearch(), size=8)
