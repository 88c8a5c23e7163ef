"""The laws of answers against closed forms and enumeration."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm

from icpe.artifact.outcome_law import MOST_SURPRISE, NumberLaw, Seen, SymbolLaw, law_of
from icpe.core.spec import TaskSpec

SPEC = TaskSpec(2, 2, outcome_size=1, horizon=4, outcome_names=("reward",))
BELIEF = np.array([[0.3, 0.7]])


def seen(outcome, query=0, belief=BELIEF, count=0.0, mean=0.0):
    return Seen(
        belief,
        np.array([query]),
        np.array([[outcome]]),
        np.array([[count]]),
        np.array([[mean]]),
    )


def numbers(between=0.0):
    mean = np.array([[[0.0], [2.0]], [[1.0], [1.0]]])
    between, within = np.full((2, 2, 1), between), np.full((2, 2, 1), 0.25)
    return NumberLaw(mean, between, within, np.zeros((0, 1)), np.ones((2, 2, 1, 1)))


def test_a_number_is_as_surprising_as_its_smaller_tail_is_small():
    for outcome in (-3.0, 0.2, 1.1, 4.0):
        below = BELIEF[0] @ norm.cdf(outcome, [0.0, 2.0], 0.5)
        tail = 2 * min(below, 1 - below)
        found = numbers().surprise(seen(outcome)).found[0]
        assert found == pytest.approx(-np.log(tail), rel=1e-6)
    assert numbers().surprise(seen(1e6)).found[0] == MOST_SURPRISE


def test_surprise_at_numbers_of_the_law_itself_has_mean_one():
    random = np.random.default_rng(0)
    truth = random.random(40_000) < BELIEF[0, 1]
    outcomes = 2.0 * truth + 0.5 * random.standard_normal(len(truth))
    batch = Seen(
        np.repeat(BELIEF, len(truth), axis=0),
        np.zeros(len(truth), int),
        outcomes[:, None],
        np.zeros((len(truth), 1)),
        np.zeros((len(truth), 1)),
    )
    surprise = numbers().surprise(batch)
    # An exponential variable: five standard errors err once in a million.
    assert surprise.found.mean() == pytest.approx(1.0, abs=0.025)
    # Ratios of densities have mean one; those of smaller spreads, whose variance is
    # finite (below 2.5 for a half, 26 for a tenth), within five standard errors.
    ratios = np.exp(surprise.odds[:, :2, 0]).mean(axis=0)
    np.testing.assert_allclose(ratios, 1.0, atol=5 * np.sqrt(26 / len(truth)))


def test_ratios_are_those_of_the_densities():
    law, only = numbers(), np.array([[1.0, 0.0]])
    odds = law.surprise(seen(0.8, belief=only)).odds[0, :, 0]
    for spread, ratio in zip((0.1, 0.5, 2.0, 8.0), odds, strict=False):
        exact = norm.logpdf(0.8, 0.0, 0.5 * spread) - norm.logpdf(0.8, 0.0, 0.5)
        assert ratio == pytest.approx(exact, rel=1e-6)


def test_words_among_the_numbers_have_their_own_probability():
    shape = (2, 2, 1)
    chance = np.array([[[[0.25, 0.75]], [[0.5, 0.5]]]] * 2)
    law = NumberLaw(
        np.ones(shape), np.zeros(shape), np.ones(shape), np.zeros((1, 1)), chance
    )
    silent = law.surprise(seen(0.0))
    word = BELIEF[0] @ chance[0, :, 0, 0]
    assert silent.found[0] == pytest.approx(-np.log(word))
    np.testing.assert_array_equal(silent.odds[0, :-1], 0.0)
    assert silent.odds[0, -1, 0] == pytest.approx(np.log(0.375 / word))
    loud = law.surprise(seen(3.0))
    tail = 2 * norm.sf(2.0) * (1 - word)
    assert loud.found[0] == pytest.approx(-np.log(tail))
    np.testing.assert_array_equal(
        law.is_number(np.array([[0.0], [3.0]])), [[False], [True]]
    )


def test_earlier_answers_move_what_is_expected_as_in_a_joint_gaussian():
    law, past = numbers(between=0.5), np.array([0.6, 1.0, 0.2])
    only = np.array([[1.0, 0.0]])
    size = len(past) + 1
    joint = 0.5 * np.ones((size, size)) + 0.25 * np.eye(size)
    gain = joint[-1, :-1] @ np.linalg.inv(joint[:-1, :-1])
    center, variance = gain @ past, joint[-1, -1] - gain @ joint[:-1, -1]
    found = law.surprise(seen(2.0, belief=only, count=3.0, mean=past.mean()))
    tail = 2 * norm.sf(2.0, center, np.sqrt(variance))
    assert found.found[0] == pytest.approx(-np.log(tail), rel=1e-6)


def test_what_was_revealed_first_says_which_table_counts():
    shape = (3, 2, 2)
    mean = np.zeros(shape)
    mean[:, 0, 0], mean[:, 1, 0] = [4.0, 5.0, 9.0], [1.0, 2.0, 3.0]
    contexts = np.array([[0.0, 4.0], [0.0, 5.0], [0.0, 9.0]])
    law = NumberLaw(
        mean,
        np.zeros(shape),
        np.ones(shape),
        np.zeros((0, 2)),
        np.ones((*shape, 1)),
        contexts,
    )
    first = np.array([[7.0, 4.0], [0.0, 5.4], [0.0, 80.0]])
    np.testing.assert_array_equal(law.context_of(first), [0, 1, 2])
    belief = np.array([[0.1, 0.2, 0.7]] * 3)
    zeros, outcome = np.zeros((3, 2)), np.array([[3.0, 0.0]] * 3)
    query, context = np.array([0, 1, 2]), np.array([2, 0, 1])
    found = law.surprise(Seen(belief, query, outcome, zeros, zeros, context)).found
    for row, own in enumerate((0.1, 0.2, 0.7)):
        at = mean[context[row], :, 0]
        below = own * norm.cdf(3.0 - at[0]) + (1 - own) * norm.cdf(3.0 - at[1])
        tail = min(2 * min(below, 1 - below), 1.0)  # of two entries, the rarer
        assert found[row] == pytest.approx(max(-np.log(2 * tail), 0.0), abs=1e-6)
    spec = TaskSpec(3, 3, outcome_size=2, horizon=4)
    assert law.shapes(spec, 3) == {k: v.shape for k, v in law.arrays().items()}
    assert law.shapes(TaskSpec(3, 2, 2, 4), 2) != law.shapes(spec, 3)


def test_a_symbol_is_as_surprising_as_all_that_are_no_more_probable():
    table = np.array([[[0.8, 0.2, 0.0], [0.1, 0.5, 0.4]]] * 2)
    law = SymbolLaw(np.array([[-1.0], [0.0], [1.0]]), table)
    chances = BELIEF[0] @ table[0]
    tails = [chances[chances <= chance + 1e-12].sum() for chance in chances]
    scores = -np.log(tails)
    anyhow = table[0].mean(axis=0)
    for index, score in enumerate(scores):
        found = law.surprise(seen(index - 1.0))
        assert found.found[0] == pytest.approx(score)
        others = np.log([1 / 3 / chances[index], anyhow[index] / chances[index]])
        np.testing.assert_allclose(found.odds[0, :, 0], others, atol=1e-12)
    assert law.surprise(seen(0.4)).found[0] == MOST_SURPRISE


def test_what_was_expected_is_said_in_words():
    assert numbers().expects(seen(50.0), SPEC) == "-1.3 to 3.3"
    table = np.array([[[0.8, 0.2], [1.0, 0.0]]] * 2)
    law = SymbolLaw(np.array([[0.0], [1.0]]), table)
    sure = seen(1.0, belief=np.array([[0.0, 1.0]]))
    assert law.expects(sure, SPEC) == "0"
    assert law.expects(seen(1.0), SPEC) == "0 or 1"


def test_laws_come_back_from_their_arrays():
    revealed = dataclasses.replace(numbers(), contexts=np.zeros((2, 1)))
    for law in (numbers(), revealed, SymbolLaw(np.zeros((1, 1)), np.ones((2, 2, 1)))):
        again = law_of(law.arrays())
        assert type(again) is type(law)
        for name, array in law.arrays().items():
            np.testing.assert_array_equal(again.arrays()[name], array)
