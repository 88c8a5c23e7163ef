import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.request import OperatingPoint
from icpe.explorers import make_explorer
from icpe.explorers.classical.arms_explorer import LikelihoodRatioStopping
from icpe.families import BernoulliBandit, GaussianBandit
from icpe.families.bandit.arms import GaussianArms, Seen
from icpe.play.rollout import rollout
from icpe.testing import check_explorer
from icpe.theory.characteristic_time import (
    bernoulli_characteristic_time,
    gaussian_characteristic_time,
)
from icpe.theory.thresholds import gaussian_threshold

FAMILY = GaussianBandit(num_arms=3, horizon=60)
ONCE = [(0, 1.0), (1, 0.6), (2, 0.1)]


@pytest.fixture(scope="module")
def explorer():
    return make_explorer("track-and-stop", FAMILY)


@pytest.mark.slow
@pytest.mark.parametrize("tracking", ["D", "C"])
def test_it_keeps_the_contract(tracking):
    explorer = make_explorer("track-and-stop", FAMILY, tracking=tracking)
    check_explorer(explorer, FAMILY)


def test_every_arm_is_pulled_once_first(explorer, asked):
    assert asked(explorer, FAMILY, []) == 0
    assert asked(explorer, FAMILY, ONCE[:1]) == 1
    assert asked(explorer, FAMILY, ONCE[:2]) == 2


def test_d_tracking_pulls_the_arm_that_is_furthest_behind(explorer, asked):
    told = [*ONCE, (0, 1.0), (1, 0.6), (1, 0.6)]
    means = jnp.array([1.0, 0.6, 0.1])
    proportions = gaussian_characteristic_time(means, FAMILY.noise).proportions
    behind = 6 * np.asarray(proportions) - [2, 3, 1]
    assert asked(explorer, FAMILY, told, budget=20) == np.argmax(behind) == 0


def test_d_tracking_forces_an_arm_that_was_neglected(explorer, asked):
    # The last arm is hopeless, but of 20 pulls it has fewer than sqrt(20) - 3/2.
    told = [*ONCE[:2], (2, -9.0), *[(0, 1.0), (1, 0.9)] * 8, (2, -9.0)]
    assert asked(explorer, FAMILY, told, budget=60) == 2
    assert asked(explorer, FAMILY, [*told, *[(2, -9.0)] * 2], budget=60) != 2


def test_c_tracking_follows_the_sum_of_the_proportions(asked):
    explorer = make_explorer("track-and-stop", FAMILY, tracking="C")
    told = [*ONCE, (0, 1.0), (2, 0.1), (2, 0.1)]
    means, counts, total = np.zeros(3), np.zeros(3), np.zeros(3)
    for time, (arm, reward) in enumerate(told, start=1):
        counts[arm] += 1
        means[arm] = reward
        shown = np.where(counts > 0, means, means[counts > 0].min())
        proportions = gaussian_characteristic_time(jnp.asarray(shown), 0.5).proportions
        least = 0.5 / np.sqrt(9 + time)
        total += (1 - 3 * least) * np.asarray(proportions) + least
    assert asked(explorer, FAMILY, told, budget=20) == np.argmax(total - counts) == 1


@pytest.mark.parametrize("threshold", ["heuristic", "valid"])
def test_it_stops_when_the_evidence_passes_the_threshold(threshold):
    # Two arms apart by 1 with noise 1/2: evidence n/2 * 1 / (2 * 1/4) = n after n each.
    stopping = LikelihoodRatioStopping(GaussianArms(2, 0.5), threshold)
    delta = jnp.float32(0.1)
    for n in (2.0, 3.0, 4.0, 10.0, 13.0, 14.0, 20.0):
        seen = Seen(jnp.full(2, n), jnp.array([n, 0.0]), jnp.full(2, int(n)))
        needed = {
            "heuristic": np.log((1 + np.log(2 * n)) / 0.1),
            "valid": gaussian_threshold(jnp.float32(n), jnp.float32(n), 2, delta),
        }
        assert bool(stopping.is_sure(seen, delta)) == (n >= needed[threshold])


def test_it_never_stops_under_a_budget(explorer, asked):
    assert asked(explorer, FAMILY, [(0, 9.0), (1, 0.0), (2, 0.0)] * 5, budget=40) >= 0


def test_it_has_no_belief_and_answers_by_the_sample_means(explorer, after):
    state = after(explorer, FAMILY, [(0, 0.2), (1, 0.6), (2, 0.1)])
    assert explorer.log_posterior(state) is None
    assert int(explorer.recommend(state)) == 1


def test_masked_arms_are_passed_over(explorer, asked):
    assert asked(explorer, FAMILY, [], mask=[False, False, True]) == 2
    assert asked(explorer, FAMILY, ONCE, mask=[False, False, False]) == STOP


def test_a_price_is_refused(explorer, asked):
    with pytest.raises(OperatingPointError, match="cannot weigh a price"):
        asked(explorer, FAMILY, [], price=0.01)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tracking": "E"}, "tracking must be one of D, C"),
        ({"threshold": "lax"}, "lax"),
    ],
)
def test_impossible_parameters_are_refused(given, sentence):
    with pytest.raises(InvalidParameterError, match=sentence):
        make_explorer("track-and-stop", FAMILY, **given)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["gaussian", "bernoulli"])
def test_queries_over_the_characteristic_time_fall_towards_one(law):
    """Mean queries / (T* ln(1/delta)) for delta from 0.1 to 1e-6.

    Each mean has a standard error below 2 % of itself, so a fall of 5 % between two
    deltas a thousandfold apart is missed, and 1.3 exceeded, with probability below
    1e-3.
    """
    if law == "gaussian":
        family = GaussianBandit(num_arms=4, horizon=800)
        task = jnp.array([1.0, 0.6, 0.5, 0.2])
        time = float(gaussian_characteristic_time(task, 0.5).time)
    else:
        family = BernoulliBandit(num_arms=4, horizon=800)
        task = jnp.array([0.8, 0.5, 0.4, 0.2])
        time = float(bernoulli_characteristic_time(task).time)
    explorer = make_explorer("track-and-stop", family)

    @eqx.filter_jit
    def play(point, keys):
        tasks = jnp.broadcast_to(task, (keys.shape[0], 4))
        return rollout(explorer, family, point, keys=keys, tasks=tasks).ending

    ratios = []
    for delta in (1e-1, 1e-3, 1e-6):
        point = OperatingPoint.at(family.horizon, error_prob=delta)
        ending = jax.device_get(play(point, jr.split(jr.key(0), 400)))
        ratios.append(ending.num_queries.mean() / (time * np.log(1 / delta)))
    assert ratios[0] > 1.05 * ratios[1] > 1.05**2 * ratios[2]
    assert 1.0 < ratios[2] < 1.3
