"""The mixture boundary is crossed no more often than stated, by exact enumeration."""

import numpy as np
import pytest
from scipy import stats

from icpe.core.errors import InvalidParameterError
from icpe.theory.martingales import mixture_boundary


def crossing_probability(probabilities, batch_size, crosses):
    """P(crosses(t, successes so far) at some t), by a dynamic program over counts.

    `probabilities[t - 1]` is the success probability at epoch t.
    """
    alive, crossed = np.ones(1), 0.0
    for t, p in enumerate(probabilities, start=1):
        one_batch = stats.binom.pmf(np.arange(batch_size + 1), batch_size, p)
        alive = np.convolve(alive, one_batch)
        hit = crosses(t, np.arange(len(alive)))
        crossed += alive[hit].sum()
        alive = np.where(hit, 0.0, alive)
    return crossed


def crosses(probability, batch_size, level):
    def rule(t, successes):
        boundary = mixture_boundary(
            t, probability=probability, batch_size=batch_size, level=level
        )
        return successes / (batch_size * t) >= boundary

    return rule


@pytest.mark.parametrize("probability", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("level", [0.05, 0.5])
def test_it_is_crossed_with_at_most_its_level_at_the_edge_of_the_null(
    probability, batch_size, level
):
    rule = crosses(probability, batch_size, level)
    at_edge = crossing_probability([probability] * 200, batch_size, rule)
    assert at_edge <= level
    rising = np.linspace(0.0, probability, 200)
    assert crossing_probability(rising, batch_size, rule) <= at_edge


def test_it_is_crossed_soon_enough_when_the_null_is_false():
    rule = crosses(0.5, 4, 0.05)
    assert crossing_probability([0.9] * 60, 4, rule) > 0.99


def test_it_is_the_expression_of_the_paper():
    # t = 20 epochs of 8 trials, p0 = 0.9: v = 2.25, so sqrt(2 * 3.25 * ln(sqrt(3.25) /
    # 0.05)) / 20 above 0.9.
    boundary = mixture_boundary(20, probability=0.9, batch_size=8, level=0.05)
    expected = 0.9 + np.sqrt(6.5 * np.log(np.sqrt(3.25) / 0.05)) / 20
    assert boundary == pytest.approx(expected, rel=1e-12)


def test_hoeffdings_lemma_on_which_the_proof_rests_holds_at_every_probability():
    p, x = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 20, 101))
    cumulant = np.log1p(p * np.expm1(x)) - p * x
    assert np.all(cumulant <= 0.25 * x**2 / 2 + 1e-12)


@pytest.mark.parametrize(
    "changes",
    [
        {"probability": 0.2},
        {"probability": 1.0},
        {"batch_size": 0},
        {"level": 0.0},
        {"epochs": 0},
    ],
)
def test_impossible_input_is_refused(changes):
    given = {"epochs": 3, "probability": 0.5, "batch_size": 4, "level": 0.1} | changes
    with pytest.raises(InvalidParameterError, match="must"):
        mixture_boundary(given.pop("epochs"), **given)
