import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.errors import OperatingPointError, UnsupportedError
from icpe.core.request import OperatingPoint
from icpe.deploy import Session
from icpe.explorers import make_explorer
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.explorers.rules.borrowed import make_posterior_greedy
from icpe.explorers.wrappers import wrap_explorer
from icpe.families import BinarySearch, GaussianBandit, MagicRoom
from icpe.testing import check_explorer
from support.toy_artifacts import guesser

FAMILY = BinarySearch(size=8)


@pytest.fixture(scope="module")
def explorer():
    return make_posterior_greedy(make_explorer("uniform", FAMILY), FAMILY)


def after(explorer, told, **request):
    spec = FAMILY.spec
    state = explorer.init(
        spec, OperatingPoint.at(spec.horizon, **request), jnp.zeros(1)
    )
    for query, outcome in told:
        state = explorer.tell(state, jnp.int32(query), jnp.float32([outcome]))
    return state


def asked(explorer, told, mask=(True,) * 8, **request):
    state = after(explorer, told, **request)
    return int(explorer.ask(state, jnp.asarray(mask), key=jr.key(0)))


def test_it_asks_about_the_most_probable_hypothesis(explorer):
    # The number is above 4, so 5, 6 and 7 are equally probable and 5 comes first.
    assert asked(explorer, [(4, 1.0)], budget=3) == 5
    only_low = (True,) * 5 + (False,) * 3
    assert asked(explorer, [(4, 1.0)], mask=only_low, budget=3) == 0


def test_it_stops_at_one_minus_delta_but_not_under_a_budget(explorer):
    assert asked(explorer, [(4, 1.0)], error_prob=0.1) == 5
    assert asked(explorer, [(4, 0.0)], error_prob=0.1) == STOP
    assert asked(explorer, [(4, 0.0)], budget=3) == 4


def test_it_answers_with_the_belief_inside(explorer):
    state = after(explorer, [(4, 0.0)], budget=3)
    assert int(explorer.recommend(state)) == 4
    assert float(jnp.exp(explorer.log_posterior(state)[4])) == 1.0


def test_a_price_is_refused(explorer):
    with pytest.raises(OperatingPointError, match="cannot weigh a price"):
        after(explorer, [], price=0.1)


@pytest.mark.slow
def test_a_trained_explorer_lends_its_belief():
    artifact = guesser(size=2)
    explorer = wrap_explorer("i-dpt", artifact.explorer, artifact.family)
    assert isinstance(explorer, BeliefExplorer)
    check_explorer(explorer, artifact.family)


def test_it_asks_and_is_told_in_a_session(explorer):
    session = Session(explorer, FAMILY, error_prob=0.1)
    number = 2
    while (query := session.ask()) is not None:
        session.tell(query, float(np.sign(number - query)))
    assert session.recommendation == number
    assert session.posterior is not None and session.posterior[number] == 1.0


def test_an_explorer_without_a_belief_is_refused():
    family = GaussianBandit(num_arms=3)
    explorer = make_posterior_greedy(make_explorer("ttps", family), family)
    state = explorer.init(family.spec, OperatingPoint.at(9, budget=3), jnp.zeros(1))
    with pytest.raises(UnsupportedError, match="no belief"):
        explorer.recommend(state)


def test_a_family_whose_queries_are_no_hypotheses_is_refused_with_those_that_fit():
    with pytest.raises(UnsupportedError, match="can serve bernoulli-bandit, best-of-k"):
        make_posterior_greedy(make_explorer("uniform", FAMILY), MagicRoom())
