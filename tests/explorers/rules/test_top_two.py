import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.belief import AbstractBelief
from icpe.core.episode import STOP
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.request import OperatingPoint
from icpe.explorers.registry import make_explorer
from icpe.explorers.rules.belief_explorer import BeliefExplorer, PosteriorStopping
from icpe.explorers.rules.scores import TopTwoScore
from icpe.families import DeterministicBandit, GaussianBandit
from icpe.play.rollout import run_episodes
from icpe.testing import check_explorer

FAMILY = GaussianBandit(num_arms=4)
EVERYTHING = (True,) * 4


class Opinion(AbstractBelief):
    """A belief that never changes."""

    probabilities: tuple[float, ...]

    def init(self, first_outcome):
        return jnp.log(jnp.asarray(self.probabilities))

    def update(self, state, query, outcome):
        return state

    def log_posterior(self, state):
        return state


def asked(probabilities, pulls=(), mask=EVERYTHING, threshold=None, **request):
    """What the rule asks after the pulls, given what it believes."""
    opinion, stopping = Opinion(probabilities), PosteriorStopping(threshold)
    explorer = BeliefExplorer("top-two", opinion, TopTwoScore(), stopping)
    point = OperatingPoint.at(100, **(request or {"budget": 50}))
    state = explorer.init(FAMILY.spec, point, jnp.zeros(1))
    for arm in pulls:
        state = explorer.tell(state, jnp.asarray(arm), jnp.zeros(1))
    return int(explorer.ask(state, jnp.asarray(mask), key=jr.key(0)))


@pytest.mark.slow
def test_it_keeps_the_contract():
    family = DeterministicBandit(num_arms=4)
    check_explorer(make_explorer("top-two", family), family)


def test_equal_counts_favor_the_most_probable():
    assert asked((0.1, 0.2, 0.4, 0.3)) == 2


@pytest.mark.parametrize(
    ("pulls", "arm"), [((2,), 3), ((3,), 2), ((2, 2, 3), 3), ((0, 1, 2, 3), 2)]
)
def test_it_pulls_the_less_sampled_of_the_two_most_probable(pulls, arm):
    assert asked((0.1, 0.2, 0.4, 0.3), pulls) == arm


def test_masked_arms_are_passed_over():
    opinion = (0.1, 0.2, 0.4, 0.3)
    assert asked(opinion, mask=(True, True, False, True)) == 3
    assert asked(opinion, (3,), mask=(True, True, False, True)) == 1
    assert asked(opinion, (0,), mask=(True, False, False, False)) == 0


def test_an_impossible_arm_is_asked_if_nothing_else_is_allowed():
    assert asked((1.0, 0.0, 0.0, 0.0), mask=(False, False, True, False)) == 2


def test_no_allowed_arm_is_a_stop():
    assert asked((0.1, 0.2, 0.4, 0.3), mask=(False,) * 4) == STOP


@pytest.mark.parametrize(("error_prob", "stops"), [(0.31, True), (0.29, False)])
def test_it_stops_when_the_posterior_reaches_one_minus_the_error(error_prob, stops):
    query = asked((0.1, 0.1, 0.7, 0.1), error_prob=error_prob)
    assert (query == STOP) is stops


@pytest.mark.parametrize(("threshold", "stops"), [(0.69, True), (0.71, False)])
def test_a_threshold_replaces_one_minus_the_error(threshold, stops):
    query = asked((0.1, 0.1, 0.7, 0.1), threshold=threshold, error_prob=0.01)
    assert (query == STOP) is stops


def test_it_goes_on_when_certain_under_a_budget():
    assert asked((1.0, 0.0, 0.0, 0.0), threshold=0.9, budget=5) != STOP


def test_a_price_is_refused():
    with pytest.raises(OperatingPointError, match="cannot weigh a price"):
        asked((0.4, 0.3, 0.2, 0.1), price=0.01)


@pytest.mark.parametrize("threshold", [0.0, 1.1, float("nan")])
def test_an_impossible_threshold_is_refused(threshold):
    with pytest.raises(InvalidParameterError, match="threshold must be"):
        make_explorer("top-two", FAMILY, threshold=threshold)


@pytest.mark.parametrize("vary_arms", [False, True])
def test_revealed_arms_are_tried_once_each(vary_arms):
    family = DeterministicBandit(num_arms=6, vary_arms=vary_arms)
    explorer = make_explorer("top-two", family)
    point = OperatingPoint.at(6, budget=6)
    ending = run_episodes(explorer, family, point, 64, key=jr.key(0))
    assert ending.correct.all()


@pytest.mark.slow
@pytest.mark.parametrize(("num_arms", "expected"), [(4, 6.2), (10, 10.4), (14, 13.5)])
def test_it_needs_the_known_number_of_queries_at_accuracy_91(num_arms, expected):
    """The exact-posterior rule with its threshold tuned, horizon 100.

    The accuracy of 32,768 tuning episodes has standard error 0.0016, worth 0.05
    queries (0.01 of accuracy is worth about 0.35), and the mean of as many test
    episodes 0.03. The expected values come from 4,000 episodes, standard error 0.16.
    """
    family = GaussianBandit(num_arms=num_arms)
    accuracies = []
    error_probs = (0.16, 0.14)
    for error_prob in error_probs:
        point = OperatingPoint.at(100, error_prob=error_prob)
        explorer = make_explorer("top-two", family)
        ending = run_episodes(explorer, family, point, 32768, key=jr.key(0))
        accuracies.append(ending.correct.mean())
    tuned = np.interp(0.91, accuracies, error_probs)

    explorer = make_explorer("top-two", family, threshold=float(1 - tuned))
    point = OperatingPoint.at(100, error_prob=0.09)
    ending = run_episodes(explorer, family, point, 32768, key=jr.key(1))
    # Tuning and test accuracy: standard error 0.0022 of the difference, so four of
    # them, false alarm 6e-5.
    assert ending.correct.mean() == pytest.approx(0.91, abs=0.009)
    assert ending.num_queries.mean() == pytest.approx(expected, abs=0.3)
