"""Tables counted from simulated answers, against laws that are known."""

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.simulate import FirstAnswers, distinct_outcomes, first_answers
from icpe.core.spec import TaskSpec
from icpe.families import FeedbackGraph, RandomTests
from icpe.learn.answers import Answers
from icpe.learn.survey import _location
from icpe.learn.tables import cluster, fit_classes
from icpe.learn.tally import Tally
from icpe.nets.outcome_tables import FlaggedTable, GaussianTable

MOST = 64
"""Distinct outcomes that still count as symbols."""
KNOWN = RandomTests(num_conditions=4, num_tests=5, num_results=3, spread=2.0)


def answers(outcomes, hypothesis=None, allowed=None, num_hypotheses=2, first=None):
    """Answers as they would be found; outcomes are tasks x repeats x queries."""
    outcomes = np.asarray(outcomes, np.float32)[..., None]
    tasks, _, queries, _ = outcomes.shape
    hypothesis = np.zeros(tasks, int) if hypothesis is None else np.asarray(hypothesis)
    allowed = np.ones((tasks, queries), bool) if allowed is None else allowed
    first = np.zeros((tasks, 1)) if first is None else first
    found = FirstAnswers(
        jnp.asarray(hypothesis),
        jnp.asarray(first, jnp.float32),
        jnp.asarray(allowed),
        jnp.asarray(outcomes),
    )
    return Answers.of(TaskSpec(queries, num_hypotheses, 1, horizon=3), found, None)


def test_few_distinct_outcomes_are_symbols_and_many_are_not():
    few = np.repeat(np.arange(MOST, dtype=np.float32), 3)[:, None]
    found = distinct_outcomes(few[::-1])
    assert found is not None
    np.testing.assert_array_equal(found[:, 0], np.arange(MOST))
    one_more = np.arange(MOST + 1, dtype=np.float32)[:, None]
    assert distinct_outcomes(one_more) is None
    # Also where the first thousands do not show it.
    late = np.concatenate([np.zeros((5000, 1), np.float32), one_more])
    assert distinct_outcomes(late) is None


def test_answers_are_noisy_where_a_repeated_query_is_answered_differently():
    still = [[[0, 1], [0, 1]], [[1, 0], [1, 0]]]
    assert not answers(still).is_noisy
    moving = [[[0, 1], [0, 1]], [[1, 0], [1, 1]]]
    assert answers(moving).is_noisy
    forbidden = np.array([[True, True], [True, False]])
    assert not answers(moving, allowed=forbidden).is_noisy


@pytest.mark.parametrize("sizes", [(0.0, 1.0), (1.0, 0.0), (1.0, 2.0)])
def test_the_share_of_variance_between_tasks_is_that_of_the_law(sizes):
    """Numbers: a part of each task's own and noise, both Gaussian."""
    between, noise = sizes
    random = np.random.default_rng(0)
    own = between * random.standard_normal((4000, 1, 5))
    outcomes = own + noise * random.standard_normal((4000, 4, 5))
    hypothesis = random.integers(0, 2, 4000)
    # What the hypothesis explains is no variance between its tasks.
    found = answers(outcomes + 10.0 * hypothesis[:, None, None], hypothesis)
    assert found.symbols is None
    expected = between**2 / (between**2 + noise**2)
    # 20,000 own parts: one standard error is below 0.006; five of them, 6e-7.
    assert found.share_between_tasks() == pytest.approx(expected, abs=0.03)


def test_the_share_of_variance_of_symbols_is_that_of_the_law():
    """Coins whose probability is Beta(1, 2) by task: 1 / (1 + 2 + 1) is between."""
    random = np.random.default_rng(1)
    own = random.beta(1.0, 2.0, (4000, 1, 5))
    found = answers((random.random((4000, 4, 5)) < own).astype(float))
    assert found.symbols is not None
    # As above, and the standard error is below 0.006.
    assert found.share_between_tasks() == pytest.approx(0.25, abs=0.03)


def test_counts_are_those_of_a_plain_loop():
    random = np.random.default_rng(2)
    outcomes = random.integers(0, 3, (30, 2, 4))
    allowed = random.random((30, 4)) < 0.7
    classes = random.integers(0, 5, 30)
    found = Tally.of(answers(outcomes, allowed=allowed), classes, num_classes=5)
    counts = np.zeros((5, 4, 3))
    for task, repeat, query in np.ndindex(outcomes.shape):
        if allowed[task, query]:
            counts[classes[task], query, outcomes[task, repeat, query]] += 1
    assert found.symbol_counts is not None
    np.testing.assert_array_equal(found.symbol_counts, counts)
    np.testing.assert_array_equal(found.asked, 2 * allowed.sum(axis=0))


def test_a_table_is_about_the_law_of_the_family():
    found = Answers.of(KNOWN.spec, first_answers(KNOWN, 4000, repeats=8), None)
    assert found.share_between_tasks() < 0.01
    tables = fit_classes(found, found.hypothesis, num_each=1)
    probability = np.asarray(tables.outcomes.cells)
    # About 8000 answers a row: five standard errors of at most 0.0056 each are
    # exceeded in one of 60 entries with probability 3e-5; smoothing adds 1e-4.
    np.testing.assert_allclose(
        probability, np.moveaxis(KNOWN.table, 0, -1), atol=5 * 0.0056 + 1e-4
    )
    prior = np.exp(np.asarray(tables.log_prior))
    np.testing.assert_allclose(prior, 0.25, atol=5 * np.sqrt(0.1875 / 4000))


def test_a_pair_that_was_never_seen_predicts_what_the_others_say_of_the_query():
    outcomes = np.array([[[0, 1]], [[0, 0]], [[1, 0]], [[1, 1]], [[1, 1]]])
    allowed = np.array([[1, 1], [1, 1], [1, 1], [1, 1], [0, 1]], bool)
    found = answers(outcomes, [0, 0, 1, 1, 2], allowed, num_hypotheses=3)
    tables = fit_classes(found, found.hypothesis, num_each=1)
    told = np.asarray(tables.outcomes.cells)
    # Of four answers to query 0 two are 1; those of hypothesis 2 were forbidden.
    np.testing.assert_allclose(told[0, :, 2], [0.5, 0.5], atol=1e-6)
    assert told[0, 0, 0] > 0.99 and told[0, 1, 1] > 0.99
    log_posterior = tables.log_posterior(
        tables.update(jnp.zeros(3), jnp.asarray(0), jnp.asarray([1.0]))
    )
    np.testing.assert_allclose(np.exp(log_posterior), [0, 2 / 3, 1 / 3], atol=1e-3)


def test_without_noise_an_answer_that_was_never_given_is_almost_impossible():
    still = [[[0], [0]], [[1], [1]]]
    moving = [[[0], [0]], [[1], [0]]]
    impossible = []
    for outcomes in (still, moving):
        found = answers(outcomes, [0, 1])
        tables = fit_classes(found, found.hypothesis, num_each=1)
        impossible.append(np.asarray(tables.outcomes.cells)[0, 1, 0])
    assert impossible[0] < 1e-4 < impossible[1] < 0.2


def test_tasks_of_one_hypothesis_that_answer_differently_are_told_apart():
    random = np.random.default_rng(3)
    kind = random.integers(0, 2, 200)
    hypothesis = random.integers(0, 2, 200)
    own = np.where(kind[:, None, None] == 1, [5.0, -5.0], [-5.0, 5.0])
    found = answers(own + 0.1 * random.standard_normal((200, 2, 2)), hypothesis)
    classes = cluster(found, 2, seed=0)
    np.testing.assert_array_equal(classes // 2, hypothesis)
    for h in (0, 1):
        pairs = {
            (int(k), int(c))
            for k, c in zip(
                kind[hypothesis == h], classes[hypothesis == h], strict=True
            )
        }
        assert len(pairs) == 2, "a class has tasks of both kinds"
    np.testing.assert_array_equal(classes, cluster(found, 2, seed=0))


def test_tasks_that_reveal_something_else_at_reset_are_told_apart():
    random = np.random.default_rng(4)
    first = random.integers(0, 2, (100, 1)).astype(float)
    found = answers(random.standard_normal((100, 2, 3)), first=first)
    classes = cluster(found, 2, seed=0)
    assert len(set(zip(first[:, 0].tolist(), classes.tolist(), strict=True))) == 2


def test_flagged_numbers_are_counted_where_they_are_revealed():
    family = FeedbackGraph(kind="loopy-star", num_arms=3, horizon=6, noise=0.2)
    found = Answers.of(family.spec, first_answers(family, 500, repeats=2), None)
    tables = fit_classes(found, found.hypothesis, num_each=1).outcomes
    assert isinstance(tables, FlaggedTable)
    values, flags = np.split(found.outcomes, 2, axis=-1)
    np.testing.assert_allclose(tables.revealed, flags.mean(axis=(0, 1)), atol=1e-6)
    for h in range(3):
        shown = flags[found.hypothesis == h] > 0
        for entry in range(3):
            seen = values[found.hypothesis == h][..., entry][shown[..., entry]]
            # Shrunk by half a pseudo-observation among more than fifty.
            mean = float(tables.mean[entry, h])
            assert mean == pytest.approx(seen.mean(), abs=0.02 * float(seen.std()))


@pytest.mark.parametrize("center, unit", [(1e5, 1.0), (-3e6, 50.0), (0.0, 1e-9)])
def test_numbers_far_from_zero_or_small_keep_their_moments(center, unit):
    """Up to what single precision makes of them, here a hundredth of the unit."""
    random = np.random.default_rng(5)
    hypothesis = random.integers(0, 2, 4000)
    plain = random.standard_normal((4000, 2, 2)) + hypothesis[:, None, None]
    near = answers(plain, hypothesis)
    far = answers(center + unit * plain, hypothesis)
    assert far.share_between_tasks() == pytest.approx(
        near.share_between_tasks(), abs=0.02
    )
    one, other = (
        fit_classes(it, hypothesis, num_each=1).outcomes for it in (near, far)
    )
    assert isinstance(one, GaussianTable) and isinstance(other, GaussianTable)
    mean = (np.asarray(other.mean, float) - center) / unit
    np.testing.assert_allclose(mean, one.mean, atol=0.02)
    np.testing.assert_allclose(other.variance / unit**2, one.variance, rtol=0.02)


def test_whatever_a_forbidden_query_answers_does_not_count():
    outcomes = np.array([[[1.0, np.nan]], [[2.0, 0.5]], [[1.5, 999.0]]])
    allowed = np.array([[True, False], [True, True], [True, False]])
    found = answers(outcomes, allowed=allowed)
    assert found.symbols is not None
    assert sorted(found.symbols[:, 0].tolist()) == [0.5, 1.0, 1.5, 2.0]
    np.testing.assert_allclose(found.center[:, 0], [1.5, 0.5])


def test_where_numbers_lie_is_that_of_allowed_answers():
    random = np.random.default_rng(6)
    own = 1e5 + 3.0 * random.standard_normal((3000, 1, 1))
    outcomes = own + random.standard_normal((3000, 2, 2))
    allowed = np.ones((3000, 2), bool)
    allowed[:, 1] = random.random(3000) < 0.5
    outcomes[:, :, 1][~allowed[:, 1]] = 1e9
    found = _location(answers(outcomes, allowed=allowed))
    # Standard errors are below 0.06; five of them, and single precision.
    assert found["outcome_shift"][0] == pytest.approx(1e5, abs=0.35)
    assert found["outcome_scale"][0] == pytest.approx(np.sqrt(10), abs=0.35)
    assert found["task_spread"][0] == pytest.approx(np.sqrt(0.65), abs=0.1)


def test_a_constant_has_a_scale_to_divide_by():
    found = _location(answers(np.full((500, 2, 3), 0.1)))
    assert found["outcome_scale"] == (1.0,) and found["task_spread"] == (0.0,)
