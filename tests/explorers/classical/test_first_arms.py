"""Classical methods where fewest_arms and most_arms are one number."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.request import OperatingPoint
from icpe.explorers import make_explorer
from icpe.families.gaussian_bandit import GaussianBandit
from icpe.play.rollout import rollout

FIXED = GaussianBandit(num_arms=4, horizon=40)
SOME = GaussianBandit(
    num_arms=7, horizon=40, vary_arms=True, fewest_arms=4, most_arms=4
)


@pytest.mark.parametrize(
    "name, given",
    [
        ("track-and-stop", {"error_prob": 0.1}),
        ("track-and-stop", {"budget": 9}),
        ("lucb", {"error_prob": 0.1}),
        ("ttts", {"error_prob": 0.1}),
        ("sequential-halving", {"budget": 20}),
        ("ucb", {"budget": 20}),
    ],
)
def test_they_play_as_on_the_family_of_so_many_arms(name, given):
    keys = jr.split(jr.key(0), 40)
    means = jax.vmap(lambda key: FIXED.sample_task(key=key))(keys)
    padded = jnp.pad(means, ((0, 0), (0, 3)), constant_values=-1.0)
    point = OperatingPoint.at(40, **given)
    here, there = (
        eqx.filter_jit(rollout)(
            make_explorer(name, family), family, point, keys=keys, tasks=tasks
        )
        for family, tasks in ((FIXED, means), (SOME, padded))
    )
    np.testing.assert_array_equal(here.history.queries, there.history.queries)
    one, other = here.ending.recommendation, there.ending.recommendation
    np.testing.assert_array_equal(one, other)
