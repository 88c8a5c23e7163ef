"""The tied head: alike for all queries, and aware of how they compare."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.nets.tied import Reach, TiedHead
from support.random_weights import random_weights

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


def test_a_reach_tells_a_query_about_those_that_it_reaches_alone():
    reach = eqx.tree_at(
        lambda reach: reach.weights,
        random_weights(lambda key: Reach(5, 8, key=key), scale=0.7),
        jnp.zeros((5, 5)).at[2, 4].set(1.0),
    )
    known = jr.normal(jr.key(3), (5, 8))
    before = reach(known, CONTEXT)
    after = reach(known.at[4].add(1.0), CONTEXT)
    changed = np.any(np.abs(after - before) > 1e-3, axis=1)
    np.testing.assert_array_equal(changed, [False, False, True, False, True])


def test_with_a_reach_queries_with_equal_features_may_differ():
    head = random_weights(lambda key: TiedHead(3, 8, reach_over=5, key=key), scale=0.7)
    blind = eqx.tree_at(lambda head: head.reach.weights, head, jnp.zeros((5, 5)))
    one = eqx.tree_at(
        lambda head: head.reach.weights, head, jnp.zeros((5, 5)).at[2, 4].set(1.0)
    )
    same = FEATURES[jnp.zeros(5, int)]
    np.testing.assert_allclose(blind(CONTEXT, same), blind(CONTEXT, same)[0], atol=1e-5)
    judged = np.asarray(one(CONTEXT, same))
    assert np.abs(judged[2] - judged[0]) > 1e-3
    np.testing.assert_allclose(judged[[1, 3, 4]], judged[0], atol=1e-5)


def test_at_first_no_query_tells_about_any():
    reach = TiedHead(3, 8, reach_over=5, key=jr.key(0)).reach
    assert reach is not None and not np.any(reach.weights)
