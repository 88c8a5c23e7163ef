import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.errors import InvalidParameterError
from icpe.core.request import OperatingPoint
from icpe.explorers import make_explorer
from icpe.families import BinarySearch, NoisyBinarySearch
from icpe.play.rollout import run_episodes
from icpe.testing import check_explorer

FAMILY = NoisyBinarySearch(size=4, noise=0.1)
NAMES = ("chernoff", "naghshvar-javidi")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("family", [FAMILY, BinarySearch(size=4)])
def test_they_keep_the_contract(name, family):
    check_explorer(make_explorer(name, family), family)


def test_chernoff_asks_what_separates_the_most_likely_number(asked):
    explorer = make_explorer("chernoff", FAMILY)
    # A hit at 2 makes 2 most likely, and guessing 2 again separates it from all.
    told = [(2, 0.0)]
    assert {asked(explorer, FAMILY, told, key=k, budget=9) for k in range(4)} == {2}


def test_naghshvar_and_javidi_split_what_is_left(asked):
    explorer = make_explorer("naghshvar-javidi", FAMILY)
    assert asked(explorer, FAMILY, [], budget=9) in (1, 2)
    assert asked(explorer, FAMILY, [(1, 1.0)], budget=9) in (2, 3)


@pytest.mark.parametrize("threshold", ["posterior", "valid"])
def test_it_stops_by_the_posterior_or_by_every_likelihood_ratio(threshold, asked):
    # A hit multiplies each likelihood ratio by 0.9 / 0.05 = 18. One hit is posterior
    # 18 / 21 < 0.9 and ratio 18 < 3 / 0.1; two hits are 324 / 327 and 324.
    explorer = make_explorer("chernoff", FAMILY, threshold=threshold)
    assert asked(explorer, FAMILY, [(2, 0.0)], error_prob=0.1) != STOP
    assert asked(explorer, FAMILY, [(2, 0.0)] * 2, error_prob=0.1) == STOP
    # Between 3 / 327 and 3 / 324 only the posterior is enough.
    close = asked(explorer, FAMILY, [(2, 0.0)] * 2, error_prob=3 / 325.5)
    assert (close == STOP) == (threshold == "posterior")


def test_an_unknown_threshold_is_refused():
    with pytest.raises(InvalidParameterError, match="one of posterior, valid"):
        make_explorer("chernoff", FAMILY, threshold="heuristic")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_valid_threshold_errs_rarely_on_every_task(name):
    """At most delta = 0.1 for each of 8 numbers.

    3,000 episodes of each: a true rate of 0.1 is seen above 0.125 with probability
    below 1e-4 for all eight together (Chernoff).
    """
    family = NoisyBinarySearch(size=8, noise=0.25, horizon=200)
    explorer = make_explorer(name, family, threshold="valid")
    point = OperatingPoint.at(200, error_prob=0.1)
    ending = run_episodes(explorer, family, point, 24_000, key=jr.key(0))
    for number in range(8):
        wrong = ~ending.correct[ending.hypothesis == number]
        assert np.mean(wrong) <= 0.125
    assert jnp.mean(ending.num_queries) < 60
