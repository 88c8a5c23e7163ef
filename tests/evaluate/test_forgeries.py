"""Certificates are checked: honest ones are verified, each forgery is refused.

The explorer is right half of the time at every price. Its table says that it errs
more at the larger prices, so that its ladder has three.
"""

import dataclasses

import pytest

from icpe.artifact.certificate import Certificate, PriceTest
from icpe.evaluate.certify import certify
from icpe.evaluate.ladder import price_level
from icpe.evaluate.stage import Stage, num_correct
from icpe.evaluate.verify import verify
from icpe.theory.fixed_sequence import critical_successes
from icpe.theory.intervals import clopper_pearson_lower
from support.certificates import fixed_sequence_certificate
from support.toy_artifacts import guesser

EPISODES = 512
PRICES = (0.05, 0.075, 0.1)


@pytest.fixture(scope="module")
def artifact():
    """With a ladder of three prices for an error probability of 0.6."""
    plain = guesser()
    assert plain.table is not None
    first = plain.table.rows[0]
    rows = tuple(
        dataclasses.replace(first, price=price, accuracy=accuracy, mean_cost=cost)
        for price, accuracy, cost in zip(
            PRICES, (0.5, 0.41, 0.409), (2.0, 1.0, 0.5), strict=True
        )
    )
    return dataclasses.replace(plain, table=dataclasses.replace(plain.table, rows=rows))


@pytest.fixture(scope="module")
def certified(artifact):
    certificate = certify(artifact, error_prob=0.6, episodes=EPISODES)
    assert [test.price for test in certificate.ladder] == list(PRICES)
    assert certificate.price == PRICES[-1]
    return artifact.with_certificate(certificate)


@pytest.fixture(scope="module")
def certified_before(artifact):
    """By exact tests in a fixed sequence, as certificates were made before."""
    certificate = fixed_sequence_certificate(
        artifact, error_prob=0.6, episodes=EPISODES
    )
    assert certificate.price == PRICES[-1]
    return artifact.with_certificate(certificate)


def last(artifact):
    return Certificate.from_dict(artifact.certificates[-1])


def forged(artifact, *, keep=(), **changes):
    """The artifact with its certificate edited, and sealed again by the forger."""
    changed = dataclasses.replace(last(artifact), **changes).sealed()
    kept = [it.to_dict() for it in keep]
    return dataclasses.replace(artifact, certificates=(*kept, changed.to_dict()))


def refused(artifact, sentence, error_prob=0.6):
    """The problems of an artifact that must be refused with this sentence."""
    result = verify(artifact, error_prob)
    assert not result.verified
    assert any(sentence in problem for problem in result.problems), result.problems
    return result.problems


def with_test(certificate, at, **changes):
    """Its ladder with one test changed."""
    return tuple(
        dataclasses.replace(test, **changes) if test.price == at else test
        for test in certificate.ladder
    )


KINDS = ("certified", "certified_before")


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_count_is_refused(kind, request):
    artifact = request.getfixturevalue(kind)
    honest = last(artifact)
    right = honest.ladder[-1].successes
    ladder = with_test(honest, honest.price, successes=right + 40)
    [problem] = refused(forged(artifact, ladder=ladder), "played again, the same")
    assert f"gave {right + 40} right answers" in problem


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_count_of_the_bound_is_refused(kind, request):
    artifact = request.getfixturevalue(kind)
    right = last(artifact).bound_successes + 40
    bound = float(clopper_pearson_lower(right, EPISODES, 0.95))
    changes = {"bound_successes": right, "lower_bound": bound}
    [problem] = refused(forged(artifact, **changes), "The lower bound rests on")
    assert "played again" in problem


def test_a_count_that_was_raised_a_little_to_the_critical_value_is_refused(artifact):
    """One right answer more than there were, which an absolute tolerance would pass."""
    stage = Stage(artifact, None)
    point = artifact.operating_point(price=PRICES[0])
    right = num_correct(stage.play("test", point, EPISODES))
    # The error probability at which just one right answer is missing.
    error_prob = next(
        p / 10_000
        for p in range(4000, 7000)
        if critical_successes(EPISODES, 1 - p / 10_000, 0.95) == right + 1
    )
    table = dataclasses.replace(artifact.table, rows=artifact.table.rows[:1])
    single = dataclasses.replace(artifact, table=table)
    honest = fixed_sequence_certificate(single, error_prob=0.6, episodes=EPISODES)
    changes = {
        "error_prob": error_prob,
        "ladder": (PriceTest(PRICES[0], right + 1, True),),
    }
    edited = forged(single.with_certificate(honest), **changes)
    [problem] = refused(edited, f"the test needs {right + 1}.", error_prob)
    assert f"{EPISODES} test episodes give {right} right answers" in problem


@pytest.mark.parametrize("kind", KINDS)
def test_a_cherry_picked_rung_is_refused(kind, request):
    artifact = request.getfixturevalue(kind)
    honest = last(artifact)
    level = {"level": price_level(0.95, 1, 1)} if honest.test else {}
    changes = {"ladder": honest.ladder[-1:], **level}
    [problem] = refused(forged(artifact, **changes), "Its ladder is 0.1; the operating")
    assert problem.endswith("table gives 0.05, 0.075, 0.1.")


@pytest.mark.parametrize("kind", KINDS)
def test_another_ladder_is_refused(kind, request):
    artifact = request.getfixturevalue(kind)
    first, second, third = last(artifact).ladder
    ladder = (first, dataclasses.replace(second, price=0.08), third)
    refused(forged(artifact, ladder=ladder), "Its ladder is 0.05, 0.08, 0.1; the oper")


def test_a_ladder_planned_for_another_request_is_refused(certified):
    edited = forged(certified, planned_error_prob=0.61)
    refused(edited, "planned for error_prob 0.61, but the first call of the attempt")
    keep = (dataclasses.replace(last(certified), error_prob=0.7, certified=False),)
    keep = (dataclasses.replace(keep[0], planned_error_prob=0.7).sealed(),)
    edited = forged(certified, keep=keep, planned_error_prob=0.7)
    refused(edited, "planned for error_prob 0.7, too far from 0.6")


def test_dropped_episodes_are_found_by_playing_again(certified):
    """Twenty episodes are left out, in which the explorer was wrong."""
    honest = last(certified)
    assert honest.ladder[-1].episodes is not None
    episodes = honest.ladder[-1].episodes - 20
    ladder = with_test(honest, honest.price, episodes=episodes)
    refused(forged(certified, ladder=ladder), "played again, the same episodes give")


def test_episodes_that_an_earlier_certificate_counts_must_not_be_missing(certified):
    honest = last(certified)
    more = with_test(honest, honest.price, episodes=4000, successes=1600, passed=False)
    failed = dataclasses.replace(
        honest, ladder=more, price=PRICES[0], certified=False
    ).sealed()
    refused(forged(certified, keep=(failed,)), "counts more episodes: some were dropp")


def test_another_level_is_refused(certified):
    edited = forged(certified, level=0.05)
    [problem] = refused(edited, "Each price was tested at level 0.05; attempt 1")
    assert "with 3 prices has 0.00833333" in problem


def test_a_lowered_attempt_number_is_refused(artifact):
    for attempt in (1, 2):
        certificate = certify(artifact, error_prob=0.6, episodes=2048, seed=attempt)
        assert (certificate.attempt, certificate.certified) == (attempt, True)
        artifact = artifact.with_certificate(certificate)
    first, _ = map(Certificate.from_dict, artifact.certificates)
    assert verify(forged(artifact, keep=(first,)), 0.6).verified
    changes = {"attempt": 1, "level": first.level}
    # Attempt 1 serves first, so it is made one that does not.
    failed = dataclasses.replace(first, certified=False).sealed()
    edited = forged(artifact, keep=(failed,), **changes)
    refused(edited, "says that it was attempt 1; by the certificates of the file")
    # Without the record of the first attempt its episodes are still others.
    refused(forged(artifact, **changes), "played again, the same episodes give")
    for absurd in (-3, 0, 10**6):
        refused(forged(artifact, attempt=absurd), f"it was attempt {absurd}; by the")


@pytest.mark.parametrize("kind", KINDS)
def test_another_seed_is_refused(kind, request):
    artifact = request.getfixturevalue(kind)
    refused(forged(artifact, seed=3), "not the hash of weights and family")
    edited = forged(artifact, seed=3, seed_is_default=False)
    refused(edited, "played again, the same episodes give")


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_price_is_refused(kind, request):
    artifact = request.getfixturevalue(kind)
    refused(forged(artifact, price=0.06), "not one that passed")
    refused(forged(artifact, price=0.05), "0.05 is not the last that passed")
    refused(forged(artifact, price=7.0), "cannot be played: price must lie in the")
    ladder = with_test(last(artifact), PRICES[-1], price=0.09)
    refused(forged(artifact, price=0.09, ladder=ladder), "Its ladder is 0.05, 0.075, 0")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"lower_bound": 0.9}, "give the lower bound 0.4"),
        ({"error_prob": 0.4}, "do not lead to the recorded outcomes"),
        ({"test": "faith"}, "Its test is 'faith', which this version of icpe does not"),
    ],
)
def test_what_does_not_follow_is_refused(kind, changes, sentence, request):
    refused(forged(request.getfixturevalue(kind), **changes), sentence)


@pytest.mark.parametrize("kind", KINDS)
def test_fresh_episodes_contradict_a_bold_forgery(kind, request):
    artifact = request.getfixturevalue(kind)
    edited = forged(artifact, error_prob=0.1)
    problems = verify(edited, 0.1, seed=1).problems
    assert "Fresh episodes contradict" in problems[-1]


def test_a_certificate_made_before_betting_is_verified_and_serves(certified_before):
    result = verify(certified_before, 0.6)
    assert result.verified, result.problems
    assert "test" not in certified_before.certificates[-1]
    assert last(certified_before).is_intact
    assert certified_before.serve(error_prob=0.6).certified
