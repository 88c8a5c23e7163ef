import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP, StopReason
from icpe.core.errors import OperatingPointError
from icpe.core.request import OperatingPoint
from icpe.explorers.registry import make_explorer
from icpe.families import BinarySearch
from icpe.play.rollout import rollout
from icpe.testing import check_explorer
from icpe.theory.binary_search import search_optimum

FAMILY = BinarySearch(size=8)


def asked(outcomes, mask=None, **request):
    """What it asks after the outcomes of its own queries."""
    explorer = make_explorer("exact-binary-search", FAMILY)
    point = OperatingPoint.at(FAMILY.spec.horizon, **request)
    state = explorer.init(FAMILY.spec, point, jnp.zeros(1))
    mask = jnp.ones(8, bool) if mask is None else jnp.asarray(mask)
    for outcome in outcomes:
        query = explorer.ask(state, jnp.ones(8, bool), key=jr.key(0))
        state = explorer.tell(state, query, jnp.asarray([outcome]))
    return int(explorer.ask(state, mask, key=jr.key(0)))


@pytest.mark.slow
def test_it_keeps_the_contract():
    check_explorer(make_explorer("exact-binary-search", FAMILY), FAMILY)


@pytest.mark.parametrize("size", [8, 37, 256])
def test_all_numbers_together_take_the_optimal_mean_and_maximum(size):
    family = BinarySearch(size=size)
    explorer = make_explorer("exact-binary-search", family)
    point = OperatingPoint.at(family.spec.horizon, error_prob=0.01)
    ending = jax.jit(
        lambda keys: (
            rollout(explorer, family, point, keys=keys, tasks=jnp.arange(size)).ending
        )
    )(jr.split(jr.key(0), size))
    optimum = search_optimum(size)
    assert ending.correct.all()
    assert (ending.stop_reason == StopReason.EXPLORER).all()
    assert np.mean(ending.num_queries) == pytest.approx(optimum.mean_queries)
    assert np.max(ending.num_queries) == optimum.max_queries


def test_a_hit_ends_the_search():
    assert asked([0.0], error_prob=0.1) == STOP


def test_it_goes_on_when_certain_under_a_budget():
    assert asked([0.0], budget=3) != STOP


def test_the_nearest_allowed_guess_replaces_a_forbidden_one():
    best = asked([], budget=3)
    mask = np.ones(8, bool)
    mask[best] = False
    assert abs(asked([], mask, budget=3) - best) == 1


def test_no_allowed_guess_is_a_stop():
    assert asked([], [False] * 8, budget=3) == STOP


def test_a_price_is_refused():
    with pytest.raises(OperatingPointError, match="cannot weigh a price"):
        asked([], price=0.1)
