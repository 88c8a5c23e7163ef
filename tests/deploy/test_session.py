"""Sessions keep the rules of episodes, and refuse what cannot be true."""

import functools as ft

import jax.random as jr
import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.core.episode import StopReason
from icpe.core.errors import (
    InvalidOutcomeError,
    InvalidParameterError,
    OperatingPointError,
    SessionError,
    UnsupportedError,
)
from icpe.core.fingerprint import fingerprint
from icpe.deploy import Session
from icpe.explorers import make_explorer
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families import BinarySearch, GaussianBandit, Patches
from icpe.nets.transformer import TransformerConfig
from icpe.play.rollout import rollout_chunks
from support.certificates import unearned_certificate
from support.diagnosis import diagnosis
from support.explorers import FirstAllowed
from support.random_weights import random_weights
from support.toy_tasks import Corridor, Hint, Lockers, TwoBits

EPISODES = 6
SEARCH = BinarySearch(size=8)
EXACT = make_explorer("exact-binary-search", SEARCH)
TINY = NetConfig(TransformerConfig(width=8, num_layers=1, num_heads=2))


@ft.cache
def untrained(family):
    nets = random_weights(
        lambda key: ExplorerNets(family.spec, TINY, PriceRange(0.01, 0.2), key=key)
    )
    return Artifact(nets=nets, family=family, training={}, provenance={})


@pytest.fixture
def lockers():
    return untrained(Lockers())


def test_a_session_adds_up_what_queries_cost():
    family = diagnosis()
    session = Session(make_explorer("information-gain", family), family, budget=3)
    assert session.cost == 0.0
    for query in (0, 5, 1):
        session.tell(query, 0.0)
    assert session.cost == 1.0 + 3.0 + 1.0
    search = Session(EXACT, SEARCH, budget=2)
    search.tell(3, 1.0)
    assert search.cost == 1.0


def answer(query, number):
    return float(np.sign(number - query))


def ask(session):
    query = session.ask()
    assert query is not None
    return query


def assert_believes(session, belief):
    assert session.posterior is not None
    np.testing.assert_allclose(session.posterior, belief, rtol=1e-4, atol=1e-6)


def replay(session, transcript, i):
    """Tells an episode of a transcript to a session that must ask the same."""
    masks, history = transcript.query_masks, transcript.history
    for t in range(history.length[i]):
        assert session.ask() == history.queries[i, t]
        mask = None if masks is None else masks[i, t + 1]
        last = t + 1 == history.length[i]
        reason = transcript.ending.stop_reason[i]
        ended = bool(last and reason == StopReason.TERMINATED)
        session.tell(ask(session), history.outcomes[i, t + 1], ended, mask)


@pytest.mark.parametrize(
    "family, request_",
    [
        (SEARCH, {"price": 0.1}),
        (SEARCH, {"budget": 3}),
        (TwoBits(), {"price": 0.02, "max_queries": 2}),
        (Hint(), {"price": 0.05}),
        (Lockers(), {"budget": 5}),
        (Corridor(), {"price": 0.1}),
    ],
    ids=["price", "budget", "cap", "first outcome", "masks", "terminates"],
)
def test_a_trained_explorer_asks_the_same_in_a_session_as_in_a_rollout(
    family, request_
):
    artifact = untrained(family)
    point = artifact.operating_point(**request_)
    [transcript] = rollout_chunks(
        artifact.explorer,
        family,
        point,
        EPISODES,
        key=jr.key(2),
        keep_posterior=True,
    )
    ending = transcript.ending
    assert ending.log_posterior is not None
    assert ending.num_queries.sum() > 0
    for i in range(EPISODES):
        masks = transcript.query_masks
        session = Session(
            artifact,
            **request_,
            first_outcome=transcript.history.outcomes[i, 0],
            query_mask=None if masks is None else masks[i, 0],
        )
        replay(session, transcript, i)
        assert session.ask() is None
        assert session.stopped
        assert session.stop_reason == ending.stop_reason[i]
        assert session.recommendation == ending.recommendation[i]
        assert_believes(session, np.exp(ending.log_posterior[i]))


def test_a_baseline_finds_every_number():
    for number in range(8):
        session = Session(EXACT, SEARCH, error_prob=0.01)
        while (query := session.ask()) is not None:
            session.tell(query, answer(query, number))
        assert session.recommendation == number
        assert session.stop_reason is StopReason.EXPLORER
        assert len(session.history) <= 3


def test_asking_again_gives_the_same_query_until_it_is_told():
    session = Session(make_explorer("uniform", SEARCH), SEARCH, budget=6)
    asked = []
    for _ in range(6):
        query = ask(session)
        assert [session.ask() for _ in range(3)] == [query] * 3
        session.tell(query, answer(query, 5))
        asked.append(query)
    assert [told.query for told in session.history] == asked
    assert len(set(asked)) > 1


def test_the_seed_decides_what_a_random_explorer_asks():
    uniform = make_explorer("uniform", SEARCH)

    def queries(seed):
        session = Session(uniform, SEARCH, budget=6, seed=seed)
        while (query := session.ask()) is not None:
            session.tell(query, answer(query, 5))
        return [told.query for told in session.history]

    assert queries(1) == queries(1)
    # Six uniform draws from 8 numbers agree with probability 4e-6.
    assert queries(1) != queries(2)


def test_a_query_that_was_not_asked_conditions_the_explorer():
    session = Session(EXACT, SEARCH, error_prob=0.01)
    assert ask(session) not in (0, 7)
    session.tell(1, answer(1, 0))
    assert session.stopped
    assert session.recommendation == 0
    assert [(told.query, told.asked) for told in session.history] == [(1, False)]
    assert_believes(session, np.eye(8)[0])


def test_the_history_keeps_what_was_told_even_if_the_caller_changes_it():
    session = Session(EXACT, SEARCH, error_prob=0.01)
    outcome = np.array([1.0])
    session.tell(ask(session), outcome)
    outcome[0] = -1.0
    [told] = session.history
    assert told.outcome == 1.0
    with pytest.raises(ValueError, match="read-only"):
        told.outcome[0] = 0.0


def test_the_horizon_forces_an_answer_and_a_cap_uses_up_the_budget():
    reasons = []
    for cap in (None, 2):
        session = Session(EXACT, SEARCH, error_prob=1e-6, max_queries=cap)
        while not session.stopped:
            session.tell(ask(session) and 0, 1.0)
        reasons.append((session.stop_reason, len(session.history)))
    assert reasons == [(StopReason.HORIZON, 6), (StopReason.BUDGET, 2)]


def test_the_task_may_end_the_session():
    session = Session(EXACT, SEARCH, error_prob=0.01)
    session.tell(ask(session), 1.0, terminated=True)
    assert session.stop_reason is StopReason.TERMINATED


ALL = [True] * 3


def test_a_mask_that_only_the_user_knows_is_demanded_with_every_answer(lockers):
    with pytest.raises(InvalidOutcomeError, match="query_mask is missing"):
        Session(lockers, budget=5)
    session = Session(lockers, budget=5, query_mask=ALL)
    mask = np.array([False, True, False])
    session.tell(0, 0.0, query_mask=mask)
    mask[:] = False
    assert session.ask() == 1
    with pytest.raises(InvalidOutcomeError, match="query_mask is missing"):
        session.tell(1, 0.0)
    assert len(session.history) == 1


def test_a_mask_that_the_family_knows_is_not_asked_for():
    family = GaussianBandit(num_arms=4, vary_arms=True)
    explorer = make_explorer("top-two", family)
    with pytest.raises(InvalidOutcomeError, match="give reward, number of arms"):
        Session(explorer, family, budget=3)
    session = Session(explorer, family, budget=3, first_outcome=[0.0, 2.0])
    with pytest.raises(InvalidOutcomeError, match="those allowed are arm 0, arm 1"):
        session.tell(2, [1.0, 0.0])
    session.tell(ask(session), [1.0, 0.0])
    assert session.ask() in (0, 1)


def test_each_query_is_asked_once_where_the_family_says_so():
    family = Patches(images="drawn-digits", patch_size=14)
    session = Session(FirstAllowed(), family, budget=4)
    for tile in range(4):
        assert session.ask() == tile
        session.tell(tile, np.zeros(196))
    assert session.stop_reason is StopReason.BUDGET


def test_without_any_query_left_a_session_stops(lockers):
    assert Session(lockers, budget=5, query_mask=[False] * 3).stop_reason is (
        StopReason.NO_QUERY
    )
    session = Session(lockers, budget=5, query_mask=ALL)
    session.tell(0, 0.0, query_mask=[False] * 3)
    assert session.stop_reason is StopReason.NO_QUERY
    assert session.ask() is None


BAD = {
    "a query below 0": ((-1, 1.0), "whole number from 0 to 2; got -1"),
    "a query too large": ((3, 1.0), "whole number from 0 to 2; got 3"),
    "a query that is a truth value": ((True, 1.0), "got True"),
    "a masked query": ((2, 1.0), "query 2 is not allowed now; those allowed are 0, 1"),
    "nan": ((0, float("nan")), "outcome must be finite; got nan"),
    "infinity": ((0, [float("inf")]), "outcome must be finite"),
    "more than a float32 holds": ((0, 1e300), "outcome must be finite"),
    "too many numbers": ((0, [1.0, 2.0]), r"one number; got an array of shape \(2,\)"),
    "a matrix": ((0, [[1.0]]), r"one number; got an array of shape \(1, 1\)"),
    "a ragged list": ((0, [[1.0], [1.0, 2.0]]), "must be one number"),
    "a word": ((0, "0.5"), "must be one number; got '0.5'"),
    "nothing": ((0, None), "must be one number; got None"),
    "a mask of numbers": ((0, 1.0, False, [1, 1, 0]), "3 truth values"),
    "a short mask": ((0, 1.0, False, [True]), "3 truth values"),
}


@pytest.mark.parametrize("told, message", BAD.values(), ids=BAD)
def test_what_cannot_be_true_is_refused_and_changes_nothing(lockers, told, message):
    session = Session(lockers, budget=3, query_mask=[True, True, False])
    before = (session.ask(), session.history, session.stop_reason)
    belief = session.posterior
    with pytest.raises(InvalidOutcomeError, match=message) as caught:
        session.tell(*told)
    assert str(caught.value).count(".") >= 1 and "\n" not in str(caught.value)
    assert (session.ask(), session.history, session.stop_reason) == before
    assert session.posterior is belief
    session.tell(0, 1.0, query_mask=ALL)
    assert len(session.history) == 1


def test_numbers_that_are_missing_are_named():
    family = GaussianBandit(num_arms=3, vary_arms=True)
    explorer = make_explorer("top-two", family)
    session = Session(explorer, family, budget=3, first_outcome=[0.0, 3.0])
    wanted = r"outcome must be 2 numbers \(reward, number of arms\); got an array of"
    with pytest.raises(InvalidOutcomeError, match=wanted):
        session.tell(0, 1.0)


def test_an_impossible_outcome_changes_nothing_in_a_session():
    session = Session(EXACT, SEARCH, error_prob=0.01)
    with pytest.raises(InvalidOutcomeError, match=r"or 1 \(higher\); got \[7.0\]"):
        session.tell(ask(session), [7.0])
    assert session.history == ()
    assert not Session(EXACT, SEARCH, error_prob=0.1, first_outcome=0.3).stopped


def test_an_outcome_after_the_stop_is_refused():
    session = Session(EXACT, SEARCH, error_prob=0.01)
    session.tell(ask(session), 0.0)
    history = session.history
    with pytest.raises(SessionError, match="the explorer decided to stop"):
        session.tell(0, 1.0)
    assert session.history is history


def test_the_first_outcome_and_mask_are_checked_as_well(lockers):
    with pytest.raises(InvalidOutcomeError, match="first_outcome must be finite"):
        Session(lockers, budget=3, first_outcome=float("nan"), query_mask=ALL)
    with pytest.raises(InvalidOutcomeError, match="query_mask must be 3 truth values"):
        Session(lockers, budget=3, query_mask=True)


@pytest.mark.parametrize(
    "request_",
    [{}, {"budget": 2, "price": 0.1}, {"budget": 99}, {"price": 5.0}],
)
def test_a_malformed_request_is_refused(lockers, request_):
    with pytest.raises(OperatingPointError):
        Session(lockers, **request_)


def test_a_baseline_refuses_what_it_cannot_serve():
    with pytest.raises(OperatingPointError):
        Session(make_explorer("uniform", SEARCH), SEARCH, price=0.1)


def test_a_baseline_needs_its_family_and_an_artifact_knows_it(lockers):
    with pytest.raises(InvalidParameterError, match="family is missing"):
        Session(EXACT, error_prob=0.1)
    with pytest.raises(UnsupportedError, match="not the one"):
        Session(lockers, SEARCH, budget=3)
    session = Session(lockers, Lockers(), budget=3, query_mask=ALL)
    assert session.ask() is not None


def certified_at(artifact, error_prob, price, **changes):
    """The artifact with a certificate that was never earned."""
    certificate = unearned_certificate(
        error_prob=error_prob,
        price=price,
        **changes,
        weights=artifact.weights_hash,
        fingerprint=fingerprint(artifact.family),
    )
    return artifact.with_certificate(certificate)


@pytest.mark.parametrize("asked", [True, False])
def test_only_queries_that_were_asked_for_keep_a_certificate(asked):
    artifact = certified_at(untrained(Corridor()), error_prob=0.1, price=0.05)
    session = Session(artifact, error_prob=0.2)
    assert float(session.operating_point.price) == pytest.approx(0.05)
    assert session.certified
    query = ask(session)
    session.tell(query if asked else (query + 1) % 3, 0.0)
    assert session.certified is asked
    session.tell(ask(session), 0.0)
    assert session.certified is asked


def test_a_session_names_its_certificate_and_may_ask_for_less_confidence():
    artifact = certified_at(untrained(Corridor()), 0.05, price=0.02)
    artifact = certified_at(artifact, 0.1, price=0.05, confidence=0.8)
    session = Session(artifact, error_prob=0.1)
    assert session.certificate is not None
    assert session.certificate.confidence == 0.95
    assert float(session.operating_point.price) == pytest.approx(0.02)
    session = Session(artifact, error_prob=0.1, confidence=0.8)
    assert session.certificate is not None
    assert session.certificate.confidence == 0.8
    session.tell((ask(session) + 1) % 3, 0.0)
    assert session.certificate is None


def test_without_a_certificate_nothing_is_certified(lockers):
    assert not Session(lockers, budget=3, query_mask=ALL).certified
    assert not Session(EXACT, SEARCH, error_prob=0.01).certified


@pytest.mark.slow
def test_outcomes_and_new_sessions_do_not_compile_again(monkeypatch):
    traces = []
    tell = NeuralExplorer.tell

    def counting(self, state, query, outcome):
        traces.append(1)
        return tell(self, state, query, outcome)

    monkeypatch.setattr(NeuralExplorer, "tell", counting)
    artifact = untrained(BinarySearch(size=5))
    for budget in (6, 4):
        session = Session(artifact, budget=budget)
        while (query := session.ask()) is not None:
            session.tell(query, answer(query, 2))
    assert len(traces) == 1
