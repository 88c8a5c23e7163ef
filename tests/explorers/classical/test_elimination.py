import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.errors import OperatingPointError, UnsupportedError
from icpe.core.request import OperatingPoint
from icpe.explorers import make_explorer
from icpe.explorers.classical.sequential_halving import SequentialHalving
from icpe.explorers.classical.successive_rejects import SuccessiveRejects
from icpe.families import DeterministicBandit, GaussianBandit
from icpe.play.rollout import run_episodes
from icpe.testing import check_explorer

FAMILY = DeterministicBandit(num_arms=8, horizon=64)


@pytest.mark.parametrize("num_arms", [2, 5, 14])
@pytest.mark.parametrize("budget", [30, 100, 1000])
def test_rejects_are_scheduled_as_printed_and_within_the_budget(num_arms, budget):
    schedule = SuccessiveRejects(num_arms)
    got = np.asarray(schedule.pulls_until(jnp.int32(budget)))
    harmonic = 0.5 + sum(1 / i for i in range(2, num_arms + 1))
    printed = [
        int(np.ceil((budget - num_arms) / (harmonic * (num_arms + 1 - k)) - 1e-9))
        for k in range(1, num_arms)
    ]
    np.testing.assert_array_equal(got, printed)
    # One arm leaves after each phase, and two see the last one through.
    assert got.sum() + got[-1] <= budget
    assert schedule.survivors == tuple(range(num_arms - 1, 0, -1))


def test_halving_gives_every_round_the_same_budget():
    schedule = SequentialHalving(10)
    assert schedule.survivors == (5, 3, 2, 1)
    got = np.diff(np.asarray(schedule.pulls_until(jnp.int32(400))), prepend=0)
    np.testing.assert_array_equal(got, [10, 20, 33, 50])


@pytest.fixture(scope="module", params=["successive-rejects", "sequential-halving"])
def explorer(request):
    return make_explorer(request.param, FAMILY)


def play(explorer, means, budget):
    """Plays fixed rewards; gives the pulls of each arm and the answer."""
    point = OperatingPoint.at(64, budget=budget)
    state = explorer.init(FAMILY.spec, point, jnp.zeros(1))
    pulls = np.zeros(8, int)
    for _ in range(budget):
        arm = int(explorer.ask(state, jnp.ones(8, bool), key=jr.key(0)))
        pulls[arm] += 1
        state = explorer.tell(state, jnp.int32(arm), jnp.float32([means[arm]]))
    return pulls, int(explorer.recommend(state))


def test_better_arms_are_pulled_longer(explorer):
    means = np.array([0.1, 0.8, 0.3, 0.4, 0.9, 0.6, 0.2, 0.7])
    pulls, answer = play(explorer, means, 40)
    assert answer == 4
    order = np.argsort(means)
    assert np.all(np.diff(pulls[order]) >= 0)
    assert pulls.sum() == 40 and pulls.min() >= 1 and pulls.max() > pulls.min()


def test_a_small_budget_names_the_best_arm_seen(explorer):
    means = np.array([0.1, 0.8, 0.3, 0.4, 0.9, 0.6, 0.2, 0.7])
    assert play(explorer, means, 3)[1] == 1


def test_only_a_budget_is_served(explorer):
    with pytest.raises(OperatingPointError, match="ask for budget"):
        explorer.init(FAMILY.spec, OperatingPoint.at(64, error_prob=0.1), jnp.zeros(1))


@pytest.mark.parametrize("family", [GaussianBandit, DeterministicBandit])
def test_a_varying_number_of_arms_is_refused(family):
    with pytest.raises(UnsupportedError, match="vary_arms"):
        make_explorer("successive-rejects", family(vary_arms=True))


@pytest.mark.slow
def test_they_keep_the_contract(explorer):
    check_explorer(explorer, FAMILY)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["successive-rejects", "sequential-halving"])
def test_they_err_no_more_than_their_theorem_allows(name):
    """Gaussian arms with noise 1/2, whose tails are those of rewards in [0, 1].

    All rivals lag by at least 0.4, so H2 <= 4 / 0.16; with 10,000 episodes the observed
    rate exceeds the bound by 0.02 with probability below 1e-3 (Hoeffding).
    """
    family = GaussianBandit(num_arms=4, noise=0.5, horizon=500)
    explorer, size, budget, hardness = make_explorer(name, family), 4, 500, 4 / 0.16
    harmonic = 0.5 + sum(1 / i for i in range(2, size + 1))
    bounds = {
        "successive-rejects": size
        * (size - 1)
        / 2
        * np.exp(-(budget - size) / (harmonic * hardness)),
        "sequential-halving": 3 * 2 * np.exp(-budget / (8 * hardness * 2)),
    }
    point = OperatingPoint.at(500, budget=budget)
    ending = run_episodes(explorer, family, point, 10_000, key=jr.key(0))
    assert np.mean(~ending.correct) <= bounds[name] + 0.02
