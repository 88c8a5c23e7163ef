import itertools

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.families import AdaptiveTest
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""

SMALL = AdaptiveTest(num_items=6, num_bands=3)


def right(item, ability):
    """The two-parameter logistic model, written out."""
    slope, place = SMALL.bank.discrimination[item], SMALL.bank.difficulty[item]
    return 1 / (1 + np.exp(-slope * (ability - place)))


def joint(*pairs):
    """P(band, answers), by adaptive quadrature over the abilities of each band."""

    def density(ability):
        answers = [
            right(i, ability) if yes else 1 - right(i, ability) for i, yes in pairs
        ]
        return scipy.stats.norm.pdf(ability) * np.prod(answers)

    edges = [-9.0, *scipy.stats.norm.ppf([1 / 3, 2 / 3]), 9.0]
    return np.array(
        [scipy.integrate.quad(density, *ends)[0] for ends in itertools.pairwise(edges)]
    )


def test_an_adaptive_test_conforms():
    check_family(SMALL)


def test_the_bank_is_log_normal_and_normal():
    bank = AdaptiveTest(num_items=3000).bank
    assert bank.discrimination.shape == bank.difficulty.shape == (3000,)
    slopes = np.log(bank.discrimination) / 0.3
    assert scipy.stats.kstest(slopes, "norm").pvalue > ALARM
    assert scipy.stats.kstest(bank.difficulty, "norm").pvalue > ALARM
    other = AdaptiveTest(num_items=3000, draw=1).bank
    assert np.abs(bank.difficulty - other.difficulty).max() > 1.0


@pytest.mark.parametrize("ability", [-1.0, 0.0, 2.0])
def test_an_answer_is_right_with_the_probability_of_the_model(ability, draw_outcomes):
    answers = draw_outcomes(SMALL, jnp.asarray(ability), 4, 3000)[:, 0]
    number = int(answers.sum())
    test = scipy.stats.binomtest(number, 3000, right(4, ability))
    assert test.pvalue > ALARM


def test_abilities_are_normal_and_bands_equally_probable(draw_tasks):
    abilities = draw_tasks(SMALL, 3000)
    assert scipy.stats.kstest(abilities, "norm").pvalue > ALARM
    for num_bands in (2, 5):
        cuts = AdaptiveTest(num_bands=num_bands).cuts
        np.testing.assert_allclose(
            np.diff(scipy.stats.norm.cdf([-np.inf, *cuts, np.inf])), 1 / num_bands
        )


def test_the_band_of_an_ability_counts_the_cuts_below_it():
    # The cuts of thirds are at -0.43 and 0.43.
    abilities = [-3.0, -0.44, -0.42, 0.42, 0.44, 3.0]
    bands = [int(SMALL.hypothesis(jnp.asarray(ability))) for ability in abilities]
    assert bands == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "pairs", [[], [(0, 1)], [(0, 1), (3, 0), (5, 1)], [(i, 1) for i in range(6)]]
)
def test_the_posterior_is_an_integral_over_the_ability(pairs, posterior_after):
    expected = joint(*pairs)
    np.testing.assert_allclose(
        posterior_after(SMALL, *pairs), expected / expected.sum(), atol=3e-4
    )


def test_the_expected_gain_is_the_mutual_information_of_band_and_answer():
    belief = SMALL.exact_belief()
    gains = belief.information_gains(belief.init(jnp.zeros(1)))
    for item in (0, 3):
        table = np.stack([joint((item, 0)), joint((item, 1))])
        alone = table.sum(0, keepdims=True) * table.sum(1, keepdims=True)
        gain = scipy.stats.entropy(table.ravel(), alone.ravel())
        assert float(gains[item]) == pytest.approx(gain, abs=1e-3)


def test_each_item_is_put_once():
    assert SMALL.spec.ask_once
    assert SMALL.spec.horizon == 6
    assert AdaptiveTest().spec.horizon == 60


def test_items_and_bands_have_names():
    spec = AdaptiveTest(num_items=2, num_bands=2).spec
    assert spec.query_names == ("item 0", "item 1")
    assert spec.hypothesis_names == ("band 1", "band 2")
    assert dict(spec.outcome_labels) == {"wrong": (0.0,), "right": (1.0,)}


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"num_items": 0}, "num_items must be at least 1; got 0."),
        ({"num_bands": 1}, "num_bands must be at least 2; got 1."),
        ({"horizon": 0}, "horizon must be at least 1; got 0."),
        ({"draw": 2**32}, "draw must be between 0 and 4294967295; got 4294967296."),
    ],
)
def test_an_impossible_parameter_is_refused(bad, sentence):
    with pytest.raises(InvalidParameterError) as caught:
        AdaptiveTest(**bad)
    assert str(caught.value) == sentence
