import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.families import MagicChain
from icpe.families.magic_chain import ChainTask
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""


@pytest.mark.parametrize("options", [{}, {"noise": 0.1}, {"vary_magic": True}])
def test_the_magic_chain_conforms(options):
    check_family(MagicChain(num_arms=5, **options))


def walk(means, num_magic):
    """The arms met by following the pointers from arm 0, the last one regular."""
    arms = [0]
    for _ in range(num_magic):
        arms.append(round(means[arms[-1]] * len(means)) - 1)
    return arms


@pytest.mark.slow
def test_the_chain_visits_its_arms_once_and_ends_at_the_best_regular_arm(draw_tasks):
    tasks = draw_tasks(MagicChain(num_arms=6, vary_magic=True), 300)
    assert set(tasks.num_magic.tolist()) == {1, 2, 3, 4, 5}
    for means, best, number in zip(*vars(tasks).values(), strict=True):
        *chain, end = walk(means, number)
        assert len(set(chain)) == number
        assert end == best
        regular = np.delete(means, chain)
        assert (means[chain] <= 1.0).all() and (regular > 1.0).all()
        assert means[best] == regular.max()


@pytest.mark.slow
def test_the_order_of_the_chain_and_the_regular_means_are_uniform(draw_tasks):
    tasks = draw_tasks(MagicChain(num_arms=5, num_magic=3), 2000)
    chains = np.array([walk(means, 3) for means in tasks.means])
    # The second and third magic arms are any of the 4 * 3 ordered pairs.
    pairs = np.unique(chains[:, 1:3], axis=0, return_counts=True)[1]
    assert pairs.size == 12
    assert scipy.stats.chisquare(pairs).pvalue > ALARM
    regular = tasks.means[tasks.means > 1.0] - 1.0
    assert scipy.stats.kstest(regular, "uniform").pvalue > ALARM
    assert abs(np.mean(regular) - 0.5) < 0.03


def test_without_noise_a_pull_shows_the_mean(draw_outcomes):
    task = ChainTask(
        jnp.asarray([0.4, 0.6, 1.5, 1.2, 1.1]), jnp.asarray(2), jnp.asarray(2)
    )
    family = MagicChain(num_arms=5)
    for arm in range(5):
        outcome = family.step(None, jnp.asarray(arm), task, key=jr.key(0)).outcome
        assert outcome.tolist() == [task.means[arm]]
    assert int(family.hypothesis(task)) == 2
    noisy = draw_outcomes(MagicChain(num_arms=5, noise=0.3), task, 2, 2000)[:, 0]
    assert scipy.stats.kstest((noisy - 1.5) / 0.3, "norm").pvalue > ALARM


@pytest.mark.slow
def test_the_number_of_magic_arms_is_revealed_if_it_varies():
    family = MagicChain(vary_magic=True, fewest_magic=4, most_magic=4)
    task = family.sample_task(key=jr.key(0))
    assert family.reset(task, key=jr.key(0)).outcome.tolist() == [0.0, 4.0]
    assert family.spec == MagicChain(vary_magic=True).spec


def test_the_default_horizon_is_longer_with_noise():
    assert MagicChain(num_arms=5).spec.horizon == 5
    assert MagicChain(num_arms=5, noise=0.1).spec.horizon == 50
    assert MagicChain(num_arms=5, horizon=7).spec.horizon == 7


@pytest.mark.parametrize(
    "bad",
    [
        {"num_arms": 2},
        {"num_magic": 0},
        {"num_magic": 10},
        {"noise": -0.1},
        {"horizon": -1},
        {"most_magic": 10},
        {"fewest_magic": 5, "most_magic": 4},
    ],
)
def test_an_impossible_parameter_is_refused(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        MagicChain(**bad)
