import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.errors import (
    InvalidParameterError,
    OperatingPointError,
    UnknownNameError,
    UnsupportedError,
)
from icpe.core.request import OperatingPoint
from icpe.explorers import make_explorer
from icpe.explorers.wrappers import wrap_explorer
from icpe.families import BinarySearch, MagicRoom
from icpe.play.rollout import rollout_chunks
from icpe.testing import check_explorer
from support.toy_artifacts import guesser

FAMILY = BinarySearch(size=8, horizon=20)
POINT = OperatingPoint.at(20, error_prob=0.01)


@pytest.fixture(scope="module")
def explorer():
    inner = make_explorer("exact-binary-search", FAMILY)
    return wrap_explorer("explore-then-commit", inner, FAMILY, POINT)


def test_it_explores_until_sure_and_then_repeats_its_answer(explorer):
    point = OperatingPoint.at(20, budget=12)
    (chunk,) = rollout_chunks(explorer, FAMILY, point, 32, key=jr.key(0))
    queries, truth = chunk.history.queries[:, :12], chunk.ending.hypothesis
    assert (queries >= 0).all()
    # Three guesses always suffice, and the first is never the answer but by luck.
    assert (queries[:, 3:] == truth[:, None]).all()
    assert np.mean(queries[:, 0] == truth) < 0.5
    assert chunk.ending.correct.all()


def test_it_commits_at_the_end_of_its_own_exploration():
    inner = make_explorer("uniform", FAMILY)
    short = OperatingPoint.at(20, error_prob=0.01, max_queries=1)
    explorer = wrap_explorer("explore-then-commit", inner, FAMILY, short)
    state = explorer.init(FAMILY.spec, OperatingPoint.at(20, budget=9), jnp.zeros(1))
    state = explorer.tell(state, jnp.int32(6), jnp.float32([-1.0]))
    for _ in range(2):
        assert int(explorer.ask(state, jnp.ones(8, bool), key=jr.key(3))) == 0
        # What comes later is not taken in any more.
        state = explorer.tell(state, jnp.int32(0), jnp.float32([1.0]))
    belief = explorer.log_posterior(state)
    assert belief is not None
    assert float(jnp.exp(belief[0])) == pytest.approx(1 / 6)


@pytest.mark.slow
def test_a_trained_explorer_may_have_a_shorter_horizon():
    artifact = guesser(size=2)
    inner_point = artifact.operating_point(price=0.05)
    explorer = wrap_explorer(
        "explore-then-commit", artifact.explorer, artifact.family, inner_point
    )
    check_explorer(explorer, BinarySearch(size=2, horizon=30))


def test_only_a_budget_is_served(explorer):
    with pytest.raises(OperatingPointError, match="ask for budget"):
        explorer.init(FAMILY.spec, POINT, jnp.zeros(1))


def test_what_cannot_be_built_is_refused():
    inner = make_explorer("exact-binary-search", FAMILY)
    with pytest.raises(InvalidParameterError, match="inner_point is missing"):
        wrap_explorer("explore-then-commit", inner, FAMILY)
    with pytest.raises(UnsupportedError, match="it can serve bernoulli-bandit"):
        wrap_explorer("explore-then-commit", inner, MagicRoom(), POINT)
    with pytest.raises(UnknownNameError, match=r"did you mean 'i-dpt'\?"):
        wrap_explorer("i-dptt", inner, FAMILY)
