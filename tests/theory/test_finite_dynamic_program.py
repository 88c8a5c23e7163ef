import functools as ft

import jax
import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.theory.finite_dynamic_program import (
    solve_budget,
    solve_error_prob,
    solve_price,
)
from icpe.theory.finite_model import finite_model
from icpe.theory.noisy_search import noisy_search_model

NUM_QUERIES = NUM_OUTCOMES = 2
FAMILIES = [(seed, num_steps) for seed in range(3) for num_steps in (2, 3)]


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


@ft.cache
def tables(seed):
    """Four tasks, two hypotheses."""
    rng = np.random.default_rng(seed)
    likelihood = rng.dirichlet(np.ones(NUM_OUTCOMES), size=(4, NUM_QUERIES))
    return rng.dirichlet(np.ones(4)), likelihood, np.array([0, 1, 1, 0])


def model(seed):
    return finite_model(*tables(seed))


@ft.cache
def all_policies(seed, num_steps, can_stop, costs=(1.0, 1.0)):
    """(accuracy, cost) of every deterministic policy with every recommendation.

    Policies are trees over histories; nothing is assumed about posteriors, sufficient
    statistics or greedy choices. At the end of the budget, or when it stops, a policy
    names either hypothesis.
    """
    prior, likelihood, hypotheses = tables(seed)

    def grow(joint, steps_left):
        options = []
        if can_stop or not steps_left:
            options += [(mass, 0.0) for mass in np.bincount(hypotheses, joint)]
        if steps_left:
            for query, cost in enumerate(costs):
                branches = [
                    grow(joint * likelihood[:, query, outcome], steps_left - 1)
                    for outcome in range(NUM_OUTCOMES)
                ]
                sums = branches[0]
                for branch in branches[1:]:
                    sums = (sums[:, None] + branch[None]).reshape(-1, 2)
                options += list(sums + np.array([0.0, cost * joint.sum()]))
        return np.array(options)

    return grow(prior, num_steps)


@pytest.mark.parametrize(("seed", "num_steps"), FAMILIES)
def test_the_budget_program_is_as_good_as_the_best_policy(seed, num_steps):
    solution = solve_budget(model(seed), num_steps)
    best = all_policies(seed, num_steps, can_stop=False)[:, 0].max()
    assert solution.accuracy == pytest.approx(best, rel=1e-12)
    assert solution.mean_cost == pytest.approx(num_steps, rel=1e-12)


@pytest.mark.parametrize("price", [0.005, 0.03, 0.1, 1.0])
@pytest.mark.parametrize(("seed", "num_steps"), FAMILIES)
def test_the_price_program_is_as_good_as_the_best_policy(seed, num_steps, price):
    solution = solve_price(model(seed), price, num_steps)
    points = all_policies(seed, num_steps, can_stop=True)
    best = (points[:, 0] - price * points[:, 1]).max()
    value = solution.accuracy - price * solution.mean_cost
    assert value == pytest.approx(best, rel=1e-12)


def test_costs_of_queries_are_respected():
    costs = (1.0, 2.5)
    solution = solve_price(model(0), 0.02, 3, costs)
    points = all_policies(0, 3, True, costs)
    value = solution.accuracy - 0.02 * solution.mean_cost
    assert value == pytest.approx((points @ [1.0, -0.02]).max(), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_dual_solution_is_the_cheapest_random_policy_that_meets_the_constraint(seed):
    points = all_policies(seed, 3, can_stop=True)
    top, bottom = points[:, 0].max(), points[0:2, 0].max()
    for target in bottom + (top - bottom) * np.array([0.2, 0.55, 0.9, 1.0]):
        solution = solve_error_prob(model(seed), 1 - target, max_queries=3)
        assert solution.accuracy == pytest.approx(target, abs=1e-10)
        # The least cost on the upper concave envelope of all policies at the target:
        # the largest lower bound over prices, and it is attained by two policies.
        prices = np.append(np.geomspace(1e-5, 10, 200), solution.price)
        values = (points[:, :1] - points[:, 1:] * prices).max(axis=0)
        bound = ((target - values) / prices).max()
        assert solution.mean_cost == pytest.approx(bound, abs=1e-8)
        for part in (solution.cheap, solution.accurate):
            value = part.accuracy - solution.price * part.mean_cost
            assert value == pytest.approx(values[-1], abs=1e-11)


def test_constraint_that_holds_without_a_query_costs_nothing():
    solution = solve_error_prob(model(0), 0.999, max_queries=2)
    assert solution.mean_cost == 0.0


def test_constraint_that_cannot_be_met_is_refused():
    with pytest.raises(InvalidParameterError, match="error_prob must be at least"):
        solve_error_prob(model(0), 1e-9, max_queries=2)


def test_exact_binary_search_has_its_known_optimum():
    solution = solve_error_prob(noisy_search_model(8, 0.0), 0.0, max_queries=3)
    assert solution.accuracy == pytest.approx(1.0, rel=1e-12)
    assert solution.mean_cost == pytest.approx(2.125, rel=1e-12)


def test_a_larger_price_buys_less():
    prices = np.geomspace(0.003, 0.3, 8)
    solutions = [solve_price(model(1), price, 3) for price in prices]
    assert np.all(np.diff([one.accuracy for one in solutions]) <= 1e-12)
    assert np.all(np.diff([one.mean_cost for one in solutions]) <= 1e-12)
    assert solutions[0].accuracy > solutions[-1].accuracy


def test_programs_that_are_too_large_are_refused():
    with pytest.raises(InvalidParameterError, match="ask for fewer steps"):
        solve_budget(noisy_search_model(50, 0.1), 20)
    with pytest.raises(InvalidParameterError, match="2 positive numbers"):
        solve_price(model(0), 0.1, 2, costs=[1.0])
    with pytest.raises(InvalidParameterError, match="price must be"):
        solve_price(model(0), 0.0, 2)
