"""Fano's bound against closed forms and against the exact optimum."""

import numpy as np
import pytest

from icpe.theory.fano import capacity_bound, fano_mean_cost
from icpe.theory.finite_dynamic_program import solve_error_prob
from icpe.theory.finite_model import finite_model
from icpe.theory.noisy_search import noisy_search_least_queries, noisy_search_model


def entropy(p):
    return -p * np.log(p) - (1 - p) * np.log(1 - p)


def test_capacities_are_those_of_known_channels():
    flips = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert capacity_bound(flips) == pytest.approx(np.log(2) - entropy(0.1), abs=1e-9)
    erases = np.array([[0.7, 0.3, 0.0], [0.0, 0.3, 0.7]])
    assert capacity_bound(erases) == pytest.approx(0.7 * np.log(2), abs=1e-9)
    # The Z channel: log(1 + (1 - p) p^(p / (1 - p))) with p = 1/2.
    z = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert capacity_bound(z) == pytest.approx(np.log(1.25), abs=1e-6)
    assert capacity_bound(np.full((3, 2), 0.5)) == pytest.approx(0.0, abs=1e-12)


def test_it_is_an_upper_bound_of_the_information_of_any_prior():
    generator = np.random.default_rng(0)
    for _ in range(50):
        channel = generator.dirichlet(np.ones(3), size=4)
        weights = generator.dirichlet(np.ones(4))
        mixed = weights @ channel
        told = (weights[:, None] * channel * np.log(channel / mixed)).sum()
        assert told <= capacity_bound(channel) + 1e-12


def test_it_agrees_with_the_bound_of_noisy_search():
    """The middle guess of three numbers has all three answers, equally noisy."""
    model = noisy_search_model(3, 0.2)
    found = fano_mean_cost(
        np.full(3, 1 / 3), np.exp(np.asarray(model.log_likelihood)), np.ones(3), 0.05
    )
    assert found == pytest.approx(noisy_search_least_queries(3, 0.2, 0.05), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_no_explorer_needs_less(seed):
    generator = np.random.default_rng(seed)
    likelihood = generator.dirichlet(np.full(2, 0.5), size=(3, 2))
    prior = generator.dirichlet(np.full(3, 4.0))
    costs = (1.0, 2.0)
    bound = fano_mean_cost(prior, likelihood, np.array(costs), 0.25)
    best = solve_error_prob(finite_model(prior, likelihood), 0.25, 9, costs)
    assert 0.0 <= bound <= best.mean_cost + 1e-6


def test_what_needs_no_information_costs_nothing():
    channel = np.full((2, 1, 2), 0.5)
    even = np.full(2, 0.5)
    assert fano_mean_cost(even, channel, np.ones(1), 0.5) == 0.0
    assert fano_mean_cost(np.array([0.99, 0.01]), channel, np.ones(1), 0.3) == 0.0
    assert fano_mean_cost(even, channel, np.ones(1), 0.1) > 1e6
