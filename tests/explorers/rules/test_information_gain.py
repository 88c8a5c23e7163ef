import functools as ft

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.scipy.special import entr
from scipy import integrate, special, stats

from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.episode import STOP
from icpe.core.errors import InvalidParameterError, UnsupportedError
from icpe.core.likelihood import belief_for
from icpe.core.request import OperatingPoint
from icpe.core.stopping import random_query
from icpe.explorers.registry import make_explorer
from icpe.explorers.rules.belief_explorer import BeliefExplorer, PosteriorStopping
from icpe.explorers.rules.scores import InformationScore
from icpe.families import (
    BinarySearch,
    FeedbackGraph,
    GaussianBandit,
    MagicAction,
    MagicChain,
    NoisyBinarySearch,
    TwoPullBandit,
)
from icpe.play.rollout import run_episodes
from icpe.testing import check_explorer

FAMILIES = [
    BinarySearch(size=6),
    NoisyBinarySearch(size=5, noise=0.2),
    *(
        pytest.param(family, marks=pytest.mark.slow)
        for family in (
            GaussianBandit(num_arms=4, horizon=8),
            GaussianBandit(num_arms=4, horizon=8, vary_arms=True),
            MagicAction(num_arms=4, magic_noise=0.3),
            MagicAction(num_arms=4, vary_noise=True),
            MagicChain(num_arms=6, num_magic=3),
            MagicChain(num_arms=6, vary_magic=True),
            TwoPullBandit(num_arms=4, noise=0.5),
            FeedbackGraph(num_arms=4, prior="one-best"),
        )
    ),
]


def surprises(family, key):
    """How much more the entropy fell than expected, in each of three steps."""
    belief = belief_for(family)
    assert isinstance(belief, AbstractPredictiveBelief)
    task_key, reset_key, *keys = jr.split(key, 5)
    task = family.sample_task(key=task_key)
    world = family.reset(task, key=reset_key)
    state = belief.init(world.outcome)

    def entropy(state):
        return jnp.sum(entr(jnp.exp(belief.log_posterior(state))))

    def step(carry, key):
        world, state = carry
        query_key, world_key = jr.split(key)
        query = random_query(world.query_mask, key=query_key)
        expected = belief.information_gains(state)[query]
        world = family.step(world.state, query, task, key=world_key)
        told = belief.update(state, query, world.outcome)
        return (world, told), entropy(state) - entropy(told) - expected

    return jax.lax.scan(step, (world, state), jnp.stack(keys))[1]


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_entropy_falls_by_the_gain_on_average(family):
    batch = jax.jit(jax.vmap(ft.partial(surprises, family)))
    surprise = np.asarray(batch(jr.split(jr.key(0), 3000)))
    # Martingale differences; five standard errors and 1e-4 for rounding: false alarm
    # below 6e-7 a step.
    error = surprise.std(0) / np.sqrt(len(surprise))
    assert (abs(surprise.mean(0)) <= 5 * error + 1e-4).all()
    assert (error < 0.02).all()


class Opinion(AbstractPredictiveBelief):
    """A belief that never changes."""

    probabilities: tuple[float, ...]
    gains: tuple[float, ...]

    def init(self, first_outcome):
        return jnp.log(jnp.asarray(self.probabilities))

    def update(self, state, query, outcome):
        return state

    def log_posterior(self, state):
        return state

    def information_gains(self, state):
        return jnp.asarray(self.gains)


def asked(probabilities, gains, mask=(True,) * 3, threshold=None, **request):
    opinion, stopping = Opinion(probabilities, gains), PosteriorStopping(threshold)
    explorer = BeliefExplorer("it", opinion, InformationScore(), stopping)
    spec = GaussianBandit(num_arms=3).spec
    point = OperatingPoint.at(100, **(request or {"budget": 50}))
    state = explorer.init(spec, point, jnp.zeros(1))
    return int(explorer.ask(state, jnp.asarray(mask), key=jr.key(0)))


def test_it_asks_what_tells_most_among_what_is_allowed():
    assert asked((0.5, 0.3, 0.2), (0.1, 0.3, 0.2)) == 1
    assert asked((0.5, 0.3, 0.2), (0.1, 0.3, 0.2), mask=(True, False, True)) == 2
    assert asked((0.5, 0.3, 0.2), (0.1, 0.3, 0.2), mask=(False,) * 3) == STOP


def test_it_stops_at_the_threshold_but_not_under_a_budget():
    certain = (0.8, 0.1, 0.1)
    assert asked(certain, (0.1, 0.3, 0.2), error_prob=0.25) == STOP
    assert asked(certain, (0.1, 0.3, 0.2), error_prob=0.15) == 1
    assert asked(certain, (0.1, 0.3, 0.2), threshold=0.75, error_prob=0.1) == STOP
    assert asked(certain, (0.1, 0.3, 0.2), budget=5) == 1
    with pytest.raises(InvalidParameterError, match="threshold must be"):
        asked(certain, (0.1, 0.3, 0.2), threshold=0.0, error_prob=0.1)


@pytest.mark.slow
def test_it_keeps_the_contract():
    family = NoisyBinarySearch(size=4)
    check_explorer(make_explorer("information-gain", family), family)


def test_it_halves_an_exact_search_as_the_optimum_does():
    family = BinarySearch(size=15)
    explorer = make_explorer("information-gain", family)
    point = OperatingPoint.at(family.spec.horizon, error_prob=0.01)
    ending = run_episodes(explorer, family, point, 256, key=jr.key(0))
    assert ending.correct.all()
    assert ending.num_queries.max() == 3


def test_families_without_known_gains_are_refused():
    with pytest.raises(UnsupportedError, match="cannot serve family 'feedback-graph'"):
        make_explorer("information-gain", FeedbackGraph())
    with pytest.raises(UnsupportedError, match=r"only without noise; got noise=0\.1"):
        make_explorer("information-gain", MagicChain(noise=0.1))


def first_gains(family):
    belief = belief_for(family)
    assert isinstance(belief, AbstractPredictiveBelief)
    first = jnp.zeros(family.spec.outcome_size)
    gains = jax.jit(lambda first: belief.information_gains(belief.init(first)))
    return np.asarray(gains(first))


def test_first_gains_in_the_chain_are_known():
    """Arm 0 excludes one of K-1 arms. Another is m and tells all, or shows a value."""
    num_arms = 7
    gains = first_gains(MagicChain(num_arms=num_arms))
    assert gains[0] == pytest.approx(np.log(6 / 5), abs=1e-5)

    def entropy_left(value):
        lead = value ** (num_arms - 3)
        rest = (1 - lead) / (num_arms - 2)
        return special.entr(lead) + (num_arms - 2) * special.entr(rest)

    left = integrate.quad(entropy_left, 0, 1)[0] * (num_arms - 2) / (num_arms - 1)
    np.testing.assert_allclose(gains[1:], np.log(num_arms - 1) - left, rtol=1e-4)


@pytest.mark.slow
def test_the_second_pull_of_arm_zero_tells_everything_the_first_nothing():
    family = TwoPullBandit(num_arms=4)
    belief = belief_for(family)
    assert isinstance(belief, AbstractPredictiveBelief)
    gains = jax.jit(belief.information_gains)
    state = belief.init(jnp.zeros(1))
    before = gains(state)
    assert before[0] == 0.0 < before[1:].min()
    state = belief.update(state, jnp.asarray(0), jnp.asarray([0.3]))
    assert gains(state)[0] == pytest.approx(np.log(3), rel=1e-5)
    state = belief.update(state, jnp.asarray(0), jnp.asarray([3 / 4]))
    np.testing.assert_array_equal(np.exp(belief.log_posterior(state)), [0, 0, 1, 0])
    np.testing.assert_array_equal(gains(state), 0.0)


def test_a_noisy_pointer_tells_the_mutual_information_of_its_mixture():
    gains = first_gains(MagicAction(num_arms=4, magic_noise=0.3))

    def mixture(y):
        return np.mean(stats.norm.pdf(y, [0.5, 0.75, 1.0], 0.3))

    entropy = integrate.quad(lambda y: special.entr(mixture(y)), -1.5, 3.0)[0]
    truth = entropy - stats.norm.entropy(scale=0.3)
    assert gains[0] == pytest.approx(truth, rel=1e-3)
    clear = first_gains(MagicAction(num_arms=4, magic_noise=0.0))
    assert clear[0] == pytest.approx(np.log(3), rel=1e-3)
