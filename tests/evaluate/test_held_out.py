"""Certificates on real cases that nothing saw, each counted once."""

import dataclasses

import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import (
    InvalidParameterError,
    OperatingPointError,
    UnsupportedError,
)
from icpe.evaluate import evaluate, held_out
from icpe.evaluate.calibrate import calibrate
from icpe.evaluate.certify import certify
from icpe.evaluate.held_out import (
    CANDIDATES,
    LIKELY,
    attempt_level,
    best_error_prob,
    likely_choice,
)
from icpe.evaluate.verify import verify
from icpe.families.table import CaseTable
from icpe.sklearn import ActiveClassifier
from support.small_tables import patients


@pytest.fixture(scope="module")
def artifact():
    return ActiveClassifier(held_out=0.4).fit(*patients(200)).to_artifact()


@pytest.fixture(scope="module")
def certificate(artifact):
    return certify(artifact, error_prob=0.25)


@pytest.mark.parametrize("prices", [2, 64])
def test_the_levels_of_all_prices_make_up_the_whole(prices):
    levels = [attempt_level(0.95, 1 + number, prices) for number in range(prices)]
    assert sum(levels) == pytest.approx(0.05) and min(levels) > 0


def test_requests_that_follow_what_was_seen_err_no_more_often():
    """Two more prices, one that errs in the same cases as the first and one in others.

    Each errs as often as allowed. Who takes the first where that passed, and the other
    where it did not, passes twice as often as one price does.
    """
    number, error_prob, prices = 60, 0.1, 3
    level = attempt_level(0.95, 2, prices)
    luck = np.random.default_rng(0).random((200_000, number))
    first, other = (luck < error_prob).sum(1), (luck > 1 - error_prob).sum(1)
    most = int(scipy.stats.binom.ppf(level, number, error_prob)) - 1
    one = scipy.stats.binom.cdf(most, number, error_prob)
    passed = np.where(first <= most, first, other) <= most
    assert passed.mean() > 1.8 * one  # about 360 of them, with 10 % of error
    assert passed.mean() <= (prices - 1) * level


def test_the_best_that_rows_can_show_is_that_of_no_errors():
    best = best_error_prob(114, 0.045)
    np.testing.assert_allclose((1 - best) ** 114, 0.045)


@pytest.mark.parametrize(
    ("right", "trials", "rows"), [(576, 640, 160), (455, 455, 114)]
)
def test_what_is_certified_by_default_is_the_smallest_that_will_probably_pass(
    artifact, right, trials, rows
):
    row = dataclasses.replace(
        artifact.table.priced()[0], accuracy=right / trials, episodes=trials
    )
    measured = dataclasses.replace(
        artifact, table=dataclasses.replace(artifact.table, rows=(row,))
    )
    choice = likely_choice(measured, rows, 0.95)
    assert choice is not None

    def chance(error_prob):
        """Of passing, exactly: right answers are beta-binomial (Jeffreys' prior)."""
        law = scipy.stats.betabinom(rows, right + 0.5, trials - right + 0.5)
        passing = scipy.stats.binom.cdf(np.arange(rows + 1), rows, error_prob) <= 0.045
        return law.cdf(rows) - law.cdf(rows - np.flatnonzero(passing)[-1] - 1)

    place = CANDIDATES.index(choice.error_prob)
    assert chance(choice.error_prob) >= LIKELY - 0.005
    smaller = CANDIDATES[place - 1]
    if smaller > best_error_prob(rows, 0.045):
        assert chance(smaller) < LIKELY + 0.005
    assert (
        f"{choice.error_prob:g} is the smallest error probability that {rows} held-out"
        in (choice.sentence)
    )
    assert f"accuracy of {right / trials:.3f}" in choice.sentence


def test_each_row_counts_once_and_the_test_is_exact(artifact, certificate):
    number = len(artifact.family.held_out_labels)
    assert certificate.test == "held-out"
    assert certificate.episodes == number == 80
    wrong = number - certificate.bound_successes
    chance = scipy.stats.binom.cdf(wrong, number, 0.25)
    assert certificate.certified == (chance <= attempt_level(0.95, 1))
    bound = scipy.stats.beta.ppf(
        certificate.level, certificate.bound_successes, wrong + 1
    )
    np.testing.assert_allclose(certificate.lower_bound, bound, rtol=1e-9)
    assert certificate.certified == (certificate.lower_bound >= 0.75)
    assert sum(group.episodes for group in certificate.by_hypothesis) == number


def test_no_case_is_drawn_from_the_rows_it_was_made_of(artifact, monkeypatch):
    def draw(self, *, key):
        raise AssertionError("a case was drawn")

    played = []
    run = held_out.run_cases

    def watch(explorer, family, point, cases, *, key):
        monkeypatch.setattr(CaseTable, "sample_task", draw)
        ending = run(explorer, family, point, cases, key=key)
        monkeypatch.undo()
        played.append(len(ending.num_queries))
        return ending

    monkeypatch.setattr(held_out, "run_cases", watch)
    certify(artifact, error_prob=0.3)
    assert played == [80]


def test_it_serves_and_is_verified(artifact, certificate):
    kept = artifact.with_certificate(certificate)
    assert certificate.certified
    player = kept.serve(error_prob=0.25)
    assert player.certificate is not None
    assert verify(kept, 0.25).verified
    again = certify(kept, error_prob=0.25)
    assert kept.with_certificate(again) is kept


def test_another_price_is_another_attempt_and_the_same_price_is_not(artifact):
    first = certify(artifact, error_prob=0.25)
    kept = artifact.with_certificate(first)
    for error_prob in (0.2, 0.3, 0.4, 0.45):
        second = certify(kept, error_prob=error_prob)
        if second.price == first.price:
            assert second.attempt == 1 and second.level == first.level
        else:
            assert second.attempt == 2
            prices = len({row.price for row in artifact.table.priced()})
            assert second.level == attempt_level(0.95, 2, prices)


def test_records_that_were_changed_are_found(artifact, certificate):
    better = dataclasses.replace(
        certificate, bound_successes=certificate.episodes, level=0.05
    ).sealed()
    problems = verify(artifact.with_certificate(better), 0.25).problems
    assert any("right answers" in it for it in problems)
    assert any("price, attempt and level" in it for it in problems)
    with pytest.raises(OperatingPointError, match="no fresh ones"):
        verify(artifact.with_certificate(certificate), 0.25, seed=3)


def test_what_so_few_rows_cannot_show_is_said(artifact):
    with pytest.raises(InvalidParameterError) as caught:
        certify(artifact, error_prob=0.01)
    best = best_error_prob(80, attempt_level(0.95, 1))
    assert f"at least {np.ceil(1e4 * best) / 1e4:g}" in str(caught.value)


def test_a_budget_gets_a_lower_bound_on_the_same_rows(artifact):
    found = certify(artifact, budget=2)
    assert found.episodes == 80 and found.mean_queries == 2.0
    wanted = scipy.stats.beta.ppf(
        0.05, found.bound_successes, 81 - found.bound_successes
    )
    np.testing.assert_allclose(found.lower_bound, wanted, rtol=1e-9)


def test_evaluations_are_about_the_held_out_rows(artifact):
    (report,) = evaluate({"it": artifact}, artifact.family, budget=2, episodes=5000)
    assert report.episodes == 80
    assert report.accuracy == certify(artifact, budget=2).bound_successes / 80


def test_thresholds_are_not_measured_on_cases_drawn_from_rows(artifact):
    with pytest.raises(UnsupportedError, match="would flatter it"):
        calibrate(artifact)


@pytest.mark.filterwarnings("ignore:Column 'fever' alone tells the class")
def test_without_such_rows_nothing_is_claimed():
    nothing = ActiveClassifier(held_out=0.0, budget=1).fit(*patients(60)).to_artifact()
    for claim in (
        lambda: certify(nothing, error_prob=0.3),
        lambda: evaluate({"it": nothing}, nothing.family, budget=1),
    ):
        with pytest.raises(UnsupportedError, match="no rows were held out"):
            claim()
