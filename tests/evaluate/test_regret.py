import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.errors import UnsupportedError
from icpe.core.request import OperatingPoint
from icpe.evaluate.regret import cumulative_regret, task_means, with_horizon
from icpe.explorers import make_explorer
from icpe.explorers.wrappers import wrap_explorer
from icpe.families import BinarySearch, DeterministicBandit, MagicAction
from icpe.play.rollout import episode_tasks
from support.toy_tasks import Lockers

FAMILY = DeterministicBandit(num_arms=4)


@pytest.fixture(scope="module")
def report():
    explorers = {"ucb": make_explorer("ucb", FAMILY)}
    (report,) = cumulative_regret(explorers, FAMILY, horizon=12, episodes=64, seed=3)
    return report


def test_regret_without_noise_is_that_of_trying_every_arm_once(report):
    # After one pull of each arm, UCB knows the means; its bonus is tiny here.
    means = np.asarray(
        episode_tasks(with_horizon(FAMILY, 12), 64, key=jr.key(3)), float
    )
    gaps = means.max(1, keepdims=True) - means
    assert report.regret == pytest.approx(gaps.sum(1).mean(), rel=0.02)
    first = np.cumsum(gaps.mean(0))
    np.testing.assert_allclose(report.curve[:4], first, rtol=1e-5)
    assert report.curve[-1] == pytest.approx(report.regret, rel=1e-6)
    low, high = report.regret_interval
    assert low < report.regret < high
    assert 8 / 12 <= report.best_arm_rate <= 9.5 / 12


def test_a_report_is_json_compatible(report):
    record = report.to_dict()
    assert record["horizon"] == 12 and len(record["curve"]) == 12
    assert record["family"]["parameters"]["horizon"] == 12


def test_means_are_found_where_tasks_have_them():
    family = MagicAction(num_arms=3)
    tasks = episode_tasks(family, 2, key=jr.key(0))
    np.testing.assert_array_equal(task_means(family, tasks), tasks.means)
    with pytest.raises(UnsupportedError, match="choose a bandit"):
        task_means(BinarySearch(), jnp.zeros(3, jnp.int32))


def test_a_family_without_a_horizon_is_refused():
    with pytest.raises(UnsupportedError, match="no parameter horizon"):
        with_horizon(Lockers(), 9)


@pytest.mark.slow
def test_knowing_that_an_arm_is_magic_saves_regret():
    """The paper's figure: exploring the structure, then committing, beats the classics.

    The exact belief plays the trained explorer's part. With 100 episodes the standard
    errors are about 1, the differences 8 and more.
    """
    family = MagicAction(num_arms=5, magic_noise=0.1)
    inner = make_explorer("information-gain", family)
    point = OperatingPoint.at(100, error_prob=0.02)
    explorers = {name: make_explorer(name, family) for name in ("ucb", "thompson")}
    explorers["etc"] = wrap_explorer("explore-then-commit", inner, family, point)
    reports = cumulative_regret(explorers, family, horizon=200, episodes=100)
    regret = {report.explorer: report.regret for report in reports}
    assert regret["etc"] < regret["thompson"] < regret["ucb"]
