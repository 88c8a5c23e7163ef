import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.core.likelihood import likelihood_belief
from icpe.families import SourceOnALine
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""

SMALL = SourceOnALine(num_cells=6, reach=2.0, noise=0.3)
CELLS = np.arange(6)


def density(cell, signal):
    """The density of a signal in a cell, for each place of the source."""
    means = 1 / (1 + np.abs(cell - CELLS) / 2)
    return scipy.stats.norm.pdf(np.asarray(signal)[..., None], means, 0.3)


@pytest.mark.slow
def test_a_source_on_a_line_conforms():
    check_family(SMALL)


@pytest.mark.parametrize(
    ("cell", "mean"), [(1, 1.0), (0, 2 / 3), (3, 1 / 2), (5, 1 / 3)]
)
def test_the_signal_halves_at_the_reach(cell, mean, draw_outcomes):
    signals = draw_outcomes(SMALL, jnp.asarray(1), cell, 2000)[:, 0]
    assert scipy.stats.kstest((signals - mean) / 0.3, "norm").pvalue > ALARM


def test_the_source_is_in_any_cell(draw_tasks):
    counts = np.bincount(draw_tasks(SMALL, 3000), minlength=6)
    assert counts.size == 6
    assert scipy.stats.chisquare(counts).pvalue > ALARM
    assert int(SMALL.hypothesis(jnp.asarray(4))) == 4


def test_the_likelihood_is_the_gaussian_density():
    for cell, signal in ((0, 0.7), (4, -0.2)):
        logs = [
            SMALL.log_likelihood(
                jnp.asarray(source), jnp.asarray(cell), jnp.float32(signal)[None]
            )
            for source in range(6)
        ]
        np.testing.assert_allclose(np.exp(logs), density(cell, signal), rtol=1e-4)


def test_the_posterior_is_a_product_of_densities(posterior_after):
    pairs = [(0, 0.5), (5, 0.9), (4, 0.7), (5, 0.4)]
    product = np.prod([density(*pair) for pair in pairs], axis=0)
    np.testing.assert_allclose(
        posterior_after(SMALL, *pairs), product / product.sum(), rtol=1e-4
    )


def test_the_expected_gain_is_the_mutual_information_of_source_and_signal():
    belief = likelihood_belief(SMALL)
    state = belief.update(belief.init(jnp.zeros(1)), jnp.asarray(2), jnp.ones(1))
    weights = density(2, 1.0) / density(2, 1.0).sum()
    signals = np.linspace(-2.0, 3.0, 2001)
    for cell, gain in enumerate(belief.information_gains(state)):
        table = weights * density(cell, signals)
        alone = table.sum(1, keepdims=True) * weights
        expected = scipy.stats.entropy(table.ravel(), alone.ravel())
        assert float(gain) == pytest.approx(expected, abs=2e-3)


def test_queries_and_answers_are_the_cells():
    spec = SourceOnALine(num_cells=2).spec
    assert spec.query_names == spec.hypothesis_names == ("cell 0", "cell 1")
    assert spec.asks_about_hypotheses
    assert not spec.ask_once
    assert spec.horizon == 60


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"num_cells": 1}, "num_cells must be at least 2; got 1."),
        ({"reach": 0.0}, "reach must be a positive finite number; got 0.0."),
        ({"noise": 0.0}, "noise must be a positive finite number; got 0.0."),
        ({"horizon": 0}, "horizon must be at least 1; got 0."),
    ],
)
def test_an_impossible_parameter_is_refused(bad, sentence):
    with pytest.raises(InvalidParameterError) as caught:
        SourceOnALine(**bad)
    assert str(caught.value) == sentence
