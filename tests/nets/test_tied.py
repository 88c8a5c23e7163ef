"""The tied head: alike for all queries, and aware of how they compare."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.nets.tied import TiedHead
from icpe.testing.random_weights import random_weights

HEAD = random_weights(lambda key: TiedHead(3, 8, key=key), scale=0.7)
CONTEXT = jr.normal(jr.key(1), (8,))
FEATURES = jr.normal(jr.key(2), (5, 3))


def test_renaming_queries_renames_the_numbers():
    order = jnp.asarray([3, 1, 4, 0, 2])
    np.testing.assert_allclose(
        HEAD(CONTEXT, FEATURES)[order], HEAD(CONTEXT, FEATURES[order]), atol=1e-5
    )


def test_a_query_is_judged_against_the_others_and_by_the_context():
    before = HEAD(CONTEXT, FEATURES)
    other = HEAD(CONTEXT, FEATURES.at[1].add(1.0))
    assert np.all(np.abs(other - before) > 1e-3)
    assert np.all(np.abs(HEAD(-CONTEXT, FEATURES) - before) > 1e-3)


def test_equal_features_give_equal_numbers():
    np.testing.assert_allclose(*HEAD(CONTEXT, FEATURES[jnp.asarray([0, 0])]), atol=1e-6)
