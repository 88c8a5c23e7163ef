import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.stats import norm

from icpe.core.episode import STOP
from icpe.core.errors import UnsupportedError
from icpe.core.request import OperatingPoint
from icpe.explorers import make_explorer
from icpe.explorers.rules.belief_explorer import BeliefExplorer, Situation
from icpe.explorers.rules.borrowed import (
    BorrowedBelief,
    GaussianOutcomes,
    ImaginedEntropyScore,
    fit_gaussian_outcomes,
    make_posterior_information,
)
from icpe.explorers.wrappers import wrap_explorer
from icpe.families import (
    DeterministicBandit,
    FeedbackGraph,
    GaussianBandit,
    MagicAction,
)
from icpe.testing import check_explorer
from support.toy_artifacts import guesser

FAMILY = MagicAction(num_arms=3, magic_noise=0.1, horizon=20)
OUTCOMES = GaussianOutcomes(
    mean=jnp.array([0.0, 1.0]),
    spread=jnp.array([1.0, 2.0]),
    noise=jnp.array([0.5, 1.0]),
)


def test_outcomes_are_quantiles_of_the_conjugate_prediction():
    got = OUTCOMES.predict(jnp.array([0.0, 4.0]), jnp.array([0.0, 8.0]))
    quantiles = (np.arange(30) + 0.5) / 30
    first = norm.ppf(quantiles, 0.0, np.sqrt(1.0 + 0.25))
    precision = 1 / 4 + 4
    second = norm.ppf(quantiles, (1 / 4 + 8) / precision, np.sqrt(1 / precision + 1))
    np.testing.assert_allclose(got, np.stack([first, second]), atol=1e-4)


def test_the_model_of_outcomes_is_fitted_to_the_family():
    got = fit_gaussian_outcomes(FAMILY)
    # Regular means are uniform on [1, 5]; the magic arm pays 2/3 or 1. Standard errors
    # with 2,048 tasks are below 0.03, so 0.15 is five of them.
    np.testing.assert_allclose(got.mean, [5 / 6, 3.0, 3.0], atol=0.15)
    np.testing.assert_allclose(
        got.spread, [1 / 6, 4 / np.sqrt(12), 4 / np.sqrt(12)], atol=0.15
    )
    np.testing.assert_allclose(got.noise, [0.1, 0.9, 0.9], atol=0.15)


@pytest.mark.slow
def test_it_asks_the_magic_arm_which_tells_most_and_then_stops():
    inner = make_explorer("uniform", FAMILY)
    explorer = make_posterior_information(inner, FAMILY)
    ask, tell = eqx.filter_jit(explorer.ask), eqx.filter_jit(explorer.tell)
    allowed = jnp.ones(3, bool)
    point = OperatingPoint.at(20, error_prob=0.1)
    state = explorer.init(FAMILY.spec, point, jnp.zeros(1))
    assert int(ask(state, allowed, key=jr.key(0))) == 0
    state = tell(state, jnp.int32(0), jnp.float32([1.0]))
    assert int(ask(state, allowed, key=jr.key(0))) == STOP
    assert int(explorer.recommend(state)) == 2
    assert float(state.memory.counts[0]) == 1.0


def test_expected_entropies_are_means_over_imagined_outcomes():
    """Arms revealed by one pull, so that the belief is known in closed form."""
    family = DeterministicBandit(num_arms=2)
    outcomes = GaussianOutcomes(
        jnp.full(2, 0.5), spread=jnp.full(2, 0.3), noise=jnp.full(2, 1e-3)
    )
    inner = make_explorer("uniform", family)
    belief, score = BorrowedBelief(inner, family.spec), ImaginedEntropyScore(outcomes)
    explorer = BeliefExplorer("i-ids", belief, score)
    point = OperatingPoint.at(2, error_prob=0.1)
    state = explorer.init(family.spec, point, jnp.zeros(1))
    state = explorer.tell(state, jnp.int32(0), jnp.float32([0.6]))
    now = Situation(belief, state.statistics, jnp.ones(2, bool), state.memory)
    left = -np.asarray(eqx.filter_jit(score)(now, key=jr.key(0)))
    # Pulling arm 0 again leaves 0.6 or so, which beats the other arm with that
    # probability; pulling arm 1 settles it.
    assert left[0] == pytest.approx(-0.6 * np.log(0.6) - 0.4 * np.log(0.4), abs=0.01)
    assert left[1] == pytest.approx(0.0, abs=1e-6)
    assert int(explorer.ask(state, jnp.ones(2, bool), key=jr.key(0))) == 1
    only_first = jnp.array([True, False])
    assert int(explorer.ask(state, only_first, key=jr.key(0))) == 0


@pytest.mark.slow
def test_a_trained_explorer_lends_its_belief():
    artifact = guesser(size=2)
    explorer = wrap_explorer("i-ids", artifact.explorer, artifact.family)
    assert isinstance(explorer, BeliefExplorer)
    check_explorer(explorer, artifact.family)


@pytest.mark.slow
def test_a_revealed_number_is_left_alone_in_imagined_outcomes():
    family = dataclasses.replace(FAMILY, vary_noise=True)
    inner = make_explorer("uniform", family)
    check_explorer(make_posterior_information(inner, family), family)


def test_outcomes_of_several_numbers_are_refused_with_the_families_that_fit():
    inner = make_explorer("uniform", GaussianBandit(num_arms=3))
    with pytest.raises(UnsupportedError, match=r"can serve .*bernoulli-bandit, binary"):
        make_posterior_information(inner, FeedbackGraph())
