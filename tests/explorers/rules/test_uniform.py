import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.belief import AbstractBelief
from icpe.core.episode import STOP, StopReason
from icpe.core.errors import OperatingPointError
from icpe.core.request import OperatingPoint
from icpe.explorers.registry import make_explorer
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.explorers.rules.scores import RandomScore
from icpe.families import BinarySearch
from icpe.play.rollout import run_episodes
from icpe.testing import check_explorer
from icpe.theory.binary_search import VersionSpace

FAMILY = BinarySearch(size=8, horizon=20)
SPEC = FAMILY.spec
EVERYTHING = jnp.ones(8, bool)


def state_with(num_candidates, **request):
    explorer = make_explorer("uniform", FAMILY)
    point = OperatingPoint.at(SPEC.horizon, **request)
    state = explorer.init(SPEC, point, jnp.zeros(1))
    space = VersionSpace(jnp.asarray(0), jnp.asarray(num_candidates - 1))
    return explorer, eqx.tree_at(lambda state: state.statistics, state, space)


@pytest.mark.slow
def test_it_keeps_the_contract():
    check_explorer(make_explorer("uniform", FAMILY), FAMILY)


@pytest.mark.parametrize(
    ("num_candidates", "stops"), [(1, True), (2, True), (3, False)]
)
def test_it_stops_when_the_posterior_reaches_one_minus_the_error(num_candidates, stops):
    explorer, state = state_with(num_candidates, error_prob=0.5)
    query = explorer.ask(state, EVERYTHING, key=jr.key(0))
    assert bool(query == STOP) is stops


def test_it_goes_on_when_certain_under_a_budget():
    explorer, state = state_with(1, budget=5)
    assert explorer.ask(state, EVERYTHING, key=jr.key(0)) != STOP


def test_it_recommends_the_most_probable():
    explorer, state = state_with(8, budget=5)
    state = explorer.tell(state, jnp.asarray(5), jnp.asarray([1.0]))
    assert explorer.recommend(state) == 6


def test_a_price_is_refused():
    with pytest.raises(OperatingPointError, match="cannot weigh a price"):
        state_with(8, price=0.1)


class NeverAsked(AbstractBelief):
    """A belief whose posterior must not be computed."""

    def init(self, first_outcome):
        return jnp.zeros(())

    def update(self, state, query, outcome):
        return state + 1

    def log_posterior(self, state):
        raise AssertionError("the posterior was computed")


def test_a_budget_needs_no_posterior_before_the_answer():
    explorer = BeliefExplorer("uniform", NeverAsked(), RandomScore())
    state = explorer.init(SPEC, OperatingPoint.at(20, budget=5), jnp.zeros(1))
    query = explorer.ask(state, EVERYTHING, key=jr.key(0))
    state = explorer.tell(state, query, jnp.zeros(1))
    with pytest.raises(AssertionError, match="was computed"):
        explorer.recommend(state)


@pytest.mark.slow
def test_episodes_without_noise_end_with_the_truth():
    explorer = make_explorer("uniform", FAMILY)
    point = OperatingPoint.at(SPEC.horizon, error_prob=0.01)
    ending = run_episodes(explorer, FAMILY, point, 128, key=jr.key(0))
    by_choice = ending.stop_reason == StopReason.EXPLORER
    assert ending.correct[by_choice].all()
    # An episode is left open only if neither the number nor one of its neighbors was
    # among 20 guesses: probability at most 2 * (6/8)^20 = 0.0064. More than 12 such
    # episodes among 128 are a false alarm below 1e-10.
    assert by_choice.sum() >= 116
    assert np.all(ending.num_queries[~by_choice] == SPEC.horizon)
