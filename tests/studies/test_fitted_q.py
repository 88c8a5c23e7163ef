"""Fitted Q-iteration against exact dynamic programs and plain enumeration."""

import itertools

import jax
import numpy as np
import pytest

from icpe.studies.finite_sample import PRIOR, SUCCESS, FittedQ
from icpe.studies.fitted_q import fit_q
from icpe.theory.finite_dynamic_program import solve_budget
from icpe.theory.finite_model import finite_model


def a_tree(budget):
    return FittedQ(PRIOR, SUCCESS, budget, batch_size=1, repeats=1).tree()


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_the_optimum_is_that_of_the_dynamic_program(budget):
    tree = a_tree(budget)
    with jax.enable_x64(True):
        model = finite_model(tree.prior, tree.likelihood)
        expected = solve_budget(model, budget).accuracy
    assert tree.optimal_value() == pytest.approx(expected, abs=1e-9)


def test_the_value_of_a_policy_is_its_expected_largest_posterior():
    tree = a_tree(2)
    tables = [np.array([[0.0, 1.0, 0.0]]), np.zeros((6, 3))]
    tables[1][2, 2] = tables[1][3, 0] = 1.0  # after query 1: outcome 0, outcome 1
    second = {0: 2, 1: 0}
    value = 0.0
    for first, last in itertools.product(range(2), repeat=2):
        joint = (
            tree.prior
            * tree.likelihood[:, 1, first]
            * tree.likelihood[:, second[first], last]
        )
        value += joint.max()
    assert tree.value_of(tables) == pytest.approx(value)


def test_histories_of_the_batch_follow_the_model():
    # 40,000 samples: a share of 1/2 is off by 0.0125 with probability below 1e-6.
    tree = a_tree(2)
    (root, query, after), (before, _, _) = tree.sample(40_000, np.random.default_rng(0))
    assert abs(len(root) / 40_000 - 0.5) < 0.0125
    assert set(root) == {0}
    expected = tree.predictions(0)[0] / tree.num_queries
    counts = np.bincount(after, minlength=6) / len(after)
    np.testing.assert_allclose(counts, expected.ravel(), atol=0.02)
    np.testing.assert_array_equal(after // 2, query)
    counts = np.bincount(before, minlength=6) / len(before)
    np.testing.assert_allclose(counts, expected.ravel(), atol=0.02)


def test_large_batches_find_the_optimum_and_small_ones_do_not():
    tree = a_tree(3)
    best = tree.optimal_value()

    def gap(batch):
        rng = np.random.default_rng(1)
        return np.mean(
            [best - tree.value_of(fit_q(tree, batch, 4, rng)) for _ in "abcd"]
        )

    assert gap(200_000) < 1e-3
    assert gap(32) > 0.02
    assert min(gap(32), gap(200_000)) >= -1e-12
