"""Durable sessions: what each event does to the state and to the certificate."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

import icpe
from icpe.core.episode import StopReason
from icpe.core.errors import (
    ConflictError,
    InvalidOutcomeError,
    InvalidParameterError,
    OperatingPointError,
    SessionError,
    UnsupportedError,
)
from icpe.deploy import Session, open_session
from icpe.deploy.events import Kind
from icpe.deploy.memory import MemoryStorage
from icpe.families import RandomTests
from support.exports import certified
from support.service_models import BANDIT, small_bandit


@pytest.fixture
def storage():
    return MemoryStorage()


def opened(storage, id="trial", **asked):
    return open_session(
        small_bandit(), storage=storage, id=id, **(asked or {"error_prob": 0.1})
    )


def reopened(storage, id: str | None = "trial"):
    return open_session(small_bandit(), storage=storage, id=id)


def ask(session) -> int:
    query = session.ask()
    assert query is not None
    return query


def state_of(session):
    posterior = session.posterior
    return (
        None if posterior is None else posterior.tolist(),
        session.open_queries,
        session.stop_reason,
        session.certified,
        session.certificate_lost,
        [(it.query, it.outcome.tolist(), it.asked) for it in session.history],
    )


def tell_in_order(session, storage):
    session.tell(ask(session), 0.2)


def tell_late(session, storage):
    query = ask(session)
    later = opened(storage)
    later.tell(query, 0.2)


def ask_again_for_what_was_lost(session, storage):
    assert {ask(session) for _ in range(3)} == {ask(opened(storage))}
    session.tell(ask(session), 0.2)


def repeat_with_its_token(session, storage):
    query = ask(session)
    for _ in range(3):
        session.tell(query, 0.2, token="one")
    assert len(session.history) == 1


def tell_what_was_next_without_asking(session, storage):
    session.tell(session._state.query, 0.2)


def ask_for_two(session, storage):
    session.ask(2)


def tell_out_of_order(session, storage):
    first, second = session.ask(2)
    session.tell(second, 0.2)
    session.tell(first, 0.2)


def tell_another(session, storage):
    session.tell((ask(session) + 1) % 3, 0.2)


def skip(session, storage):
    session.skip()


def undo(session, storage):
    session.tell(ask(session), 0.2)
    session.undo()


def give_a_mask(session, storage):
    session.tell(ask(session), 0.2, query_mask=[True, True, False])


def end_it(session, storage):
    session.tell(ask(session), 0.2, terminated=True)


def close_early(session, storage):
    session.close()


KEEP = [
    tell_in_order,
    tell_late,
    ask_again_for_what_was_lost,
    repeat_with_its_token,
    tell_what_was_next_without_asking,
]
LOSE = {
    ask_for_two: "was asked for while",
    tell_out_of_order: "was asked for while",
    tell_another: "had been asked for",
    skip: "was skipped",
    undo: "was undone",
    give_a_mask: "query_mask is not what the family allows",
    end_it: "never do",
    close_early: "closed before it had stopped",
}


@pytest.mark.parametrize("happens", KEEP, ids=lambda it: it.__name__)
def test_what_keeps_the_certificate(storage, happens):
    happens(opened(storage), storage)
    again = opened(storage)
    assert again.certified and again.certificate_lost is None


@pytest.mark.parametrize("happens", LOSE, ids=lambda it: it.__name__)
def test_what_loses_the_certificate(storage, happens):
    session = opened(storage)
    assert session.certified
    happens(session, storage)
    assert not session.certified
    assert session.certificate_lost is not None
    assert LOSE[happens] in session.certificate_lost
    assert opened(storage).certificate_lost == session.certificate_lost


@pytest.mark.parametrize("happens", [*KEEP, *LOSE], ids=lambda it: it.__name__)
def test_a_session_that_is_opened_again_is_where_it_was(storage, happens):
    session = opened(storage)
    happens(session, storage)
    session.refresh()
    assert state_of(opened(storage)) == state_of(session)


def test_a_session_in_memory_does_the_same(storage):
    local, durable = Session(small_bandit(), budget=8), opened(storage, budget=8)
    for session in (local, durable):
        session.tell(ask(session), 0.3)
        first, second = session.ask(2)
        session.tell(second, -0.2)
        session.skip(first)
        session.undo()
        session.tell(ask(session), 0.9)
    assert state_of(local) == state_of(durable)
    kinds = [event.kind for event in local.events]
    assert kinds == [event.kind for event in durable.events]


def test_questions_that_are_open_together_differ_and_count_to_the_cap(storage):
    session = opened(storage, budget=4)
    queries = session.ask(3)
    assert len(set(queries)) == 3 and session.ask(3) == queries
    fourth = session.ask(9)
    assert len(fourth) == 4  # an arm may be asked for twice, and the budget is 4
    for query in fourth:
        session.tell(query, 0.1)
    assert session.stop_reason is StopReason.BUDGET and session.ask(2) == []


def test_where_a_query_is_made_once_it_is_open_once():
    family = RandomTests(num_conditions=4, num_tests=3)
    session = Session(icpe.make_explorer("information-gain", family), family, budget=3)
    assert sorted(session.ask(5)) == [0, 1, 2]


def test_the_second_answer_of_a_pair_is_taken_after_the_stop(storage):
    session = open_session(
        "binary-search-8", storage=storage, id="pair", error_prob=0.05
    )
    first, second = session.ask(2)
    session.tell(first, 0.0)  # which is the number itself
    assert session.stop_reason is StopReason.EXPLORER
    assert session.ask() is None and session.ask(2) == []
    assert session.open_queries == (second,) and session.recommendation == first
    with pytest.raises(SessionError, match="only answers to its open queries"):
        session.tell(({*range(8)} - {first, second}).pop(), 1.0)
    session.tell(second, float(np.sign(first - second)))
    assert len(session.history) == 2 and session.recommendation == first
    assert session.stop_reason is StopReason.EXPLORER
    with pytest.raises(SessionError, match="the explorer decided to stop"):
        session.tell(second, 1.0)
    again = open_session("binary-search-8", storage=storage, id="pair")
    assert state_of(again) == state_of(session)


def test_a_skipped_query_is_not_asked_again_but_may_be_told(storage):
    session = opened(storage, budget=6)
    query = ask(session)
    session.skip()
    for _ in range(3):
        other = ask(session)
        assert other != query
        session.tell(other, 0.1)
    session.tell(query, 0.2)
    assert session.history[-1].query == query and not session.history[-1].asked


def test_when_everything_is_skipped_the_session_stops_and_undo_brings_it_back(storage):
    session = opened(storage, budget=6)
    for _ in range(3):
        session.skip()
    assert session.stop_reason is StopReason.NO_QUERY
    assert reopened(storage).stop_reason is StopReason.NO_QUERY
    session.undo()
    assert not session.stopped and ask(session) not in session._state.skipped


def test_only_open_questions_can_be_skipped(storage):
    session = opened(storage)
    other = (ask(session) + 1) % 3
    with pytest.raises(SessionError, match="is not open and cannot be skipped"):
        session.skip(other)


def test_undo_goes_back_one_answer_at_a_time_and_keeps_the_record(storage):
    session = opened(storage, budget=8)
    states = []
    for outcome in (0.1, 0.5, -0.3):
        ask(session)
        states.append(state_of(session))
        session.tell(ask(session), outcome)
    ask(session)
    for state in reversed(states):
        session.undo()
        assert state_of(session)[:3] == state[:3]
        assert state_of(session)[5] == state[5]
    with pytest.raises(SessionError, match="nothing to undo"):
        session.undo()
    kinds = [event.kind for event in session.events]
    assert kinds.count(Kind.TOLD) == 3 and kinds.count(Kind.UNDONE) == 3
    assert state_of(reopened(storage)) == state_of(session)


def test_an_undo_with_a_token_is_done_once(storage):
    session = opened(storage, budget=8)
    for outcome in (0.1, 0.5):
        session.tell(ask(session), outcome)
    session.undo(token="u")
    session.undo(token="u")
    assert len(session.history) == 1


def test_of_two_processes_one_is_told_to_look_again(storage):
    mine, yours = opened(storage), opened(storage)
    query = ask(mine)
    assert ask(yours) == query
    mine.tell(query, 0.3)
    with pytest.raises(ConflictError, match="look at the session again"):
        yours.tell(query, 0.3)
    assert state_of(yours) == state_of(mine)
    if not yours.stopped:
        yours.tell(ask(yours), 0.1)
        with pytest.raises(ConflictError):
            mine.skip()
        assert len(opened(storage).history) == 2


def test_the_loser_of_a_race_with_the_same_token_may_repeat(storage):
    mine, yours = opened(storage), opened(storage)
    query = ask(mine)
    ask(yours)
    mine.tell(query, 0.3, token="same")
    with pytest.raises(ConflictError):
        yours.tell(query, 0.3, token="same")
    yours.tell(query, 0.3, token="same")
    assert len(yours.history) == 1
    with pytest.raises(ConflictError, match="use a new token"):
        yours.tell(query, 0.4, token="same")


def test_nothing_is_taken_after_closing(storage):
    session = opened(storage)
    query = ask(session)
    session.close()
    for call in (
        lambda: session.tell(query, 0.1),
        session.skip,
        session.undo,
        session.close,
    ):
        with pytest.raises(SessionError, match="closed"):
            call()
    assert session.ask() is None and session.closed and opened(storage).closed


def test_a_session_is_tied_to_its_artifact_and_request(storage):
    opened(storage)
    changed = dataclasses.replace(small_bandit(), certificates=())
    assert not open_session(changed, storage=storage, id="trial").stopped
    nets = icpe.zoo.load("gaussian-bandit-4")
    with pytest.raises(SessionError, match="belongs to the artifact with hash"):
        open_session(nets, storage=storage, id="trial")
    with pytest.raises(SessionError, match=r"created for error_prob=0.1, not for"):
        opened(storage, budget=3)
    with pytest.raises(icpe.IcpeError, match="cannot be read"):
        open_session("nowhere.safetensors", storage=storage, error_prob=0.1)


def test_after_an_error_nothing_has_changed(storage):
    session = opened(storage)
    query = ask(session)
    before = state_of(session), len(session.events)
    for bad in (float("nan"), "0.5", [1.0, 2.0], None):
        with pytest.raises(InvalidOutcomeError):
            session.tell(query, bad)
    assert (state_of(session), len(session.events)) == before
    assert len(storage.read("trial")) == before[1]


def test_what_cannot_be_written_has_not_happened(storage, monkeypatch):
    session = opened(storage)
    query = ask(session)
    before = state_of(session)

    def fail(*_):
        raise icpe.core.errors.StorageError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(storage, "append", fail)
        with pytest.raises(icpe.core.errors.StorageError):
            session.tell(query, 0.1, token="t")
        assert state_of(session) == before
    session.tell(query, 0.1, token="t")
    assert len(session.history) == 1


def test_sessions_of_one_storage_do_not_touch_each_other(storage):
    one, other = opened(storage, id="one"), opened(storage, id="other")
    one.tell(ask(one), 0.5)
    other.refresh()
    assert len(one.history) == 1 and other.history == ()
    new = open_session(small_bandit(), storage=storage, budget=3)
    assert new.id not in ("one", "other")


KILLED = """
import os, signal, sys
sys.path[:0] = {path!r}
import icpe
session = icpe.open_session({file!r}, storage={url!r}, id="killed", budget=6)
for outcome in (0.25, -0.5, 0.75):
    session.tell(session.ask(), outcome, token=str(outcome))
    print(len(session.history), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_that_is_killed_leaves_all_that_it_acknowledged(tmp_path):
    file, url = str(tmp_path / "m.safetensors"), f"sqlite:///{tmp_path}/trial.db"
    small_bandit().save(file)
    code = KILLED.format(path=sys.path, file=file, url=url)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == -9 and done.stdout.split() == ["1", "2", "3"], done.stderr
    session = open_session(file, storage=url, id="killed")
    assert [it.outcome.item() for it in session.history] == [0.25, -0.5, 0.75]
    whole = Session(small_bandit(), budget=6)
    for outcome in (0.25, -0.5, 0.75):
        whole.tell(ask(whole), outcome)
    assert session.posterior is not None and whole.posterior is not None
    assert np.array_equal(session.posterior, whole.posterior)
    session._storage.close()


def test_events_are_plain_json(storage):
    session = opened(storage)
    session.tell(ask(session), 0.1)
    text = json.dumps([it.to_dict() for it in session.events], allow_nan=False)
    assert "0.1" in text and BANDIT.spec.num_queries == 3


def test_a_session_that_is_not_there_is_not_begun_without_a_request(storage, tmp_path):
    opened(storage, id="trial-7")
    with pytest.raises(SessionError, match="no session 'trial-8'") as it:
        reopened(storage, id="trial-8")
    assert "did you mean 'trial-7'?" in str(it.value)
    assert "to begin one, say what is asked for: error_prob" in str(it.value).lower()
    file = tmp_path / "sessions.db"
    with pytest.raises(SessionError, match="there is no file of sqlite:///"):
        reopened(f"sqlite:///{file}")
    with pytest.raises(OperatingPointError, match="Exactly one of"):
        reopened(f"sqlite:///{file}", id=None)
    with pytest.raises(OperatingPointError, match="between 0 and 1"):
        opened(f"sqlite:///{file}", error_prob=2.0)
    assert not file.exists()
    opened(f"sqlite:///{file}")
    assert file.exists() and reopened(f"sqlite:///{file}").id == "trial"


def test_an_explorer_in_memory_is_to_be_a_file_first(storage):
    family = icpe.make("binary-search", size=4)
    greedy = icpe.make_explorer("information-gain", family)
    with pytest.raises(InvalidParameterError, match=r"icpe\.make_rule\(family"):
        open_session(greedy, family, storage=storage, error_prob=0.1)


def test_the_family_may_be_named_if_it_is_that_of_the_artifact(storage):
    assert open_session(small_bandit(), BANDIT, storage=storage, budget=3).ask() == 0
    with pytest.raises(UnsupportedError, match="family is not the one"):
        open_session(small_bandit(), icpe.make("gaussian-bandit"), storage=storage)


def test_a_session_says_where_it_stands_in_one_line(storage):
    session = opened(storage, budget=2)
    assert repr(session).startswith("<DurableSession 'trial': 0 answers, leader ")
    assert repr(session).endswith("; open; not certified>")
    session.tell(ask(session), 0.2)
    session.tell(ask(session), 0.1)
    text = repr(session)
    assert "2 answers" in text and f"leader {session.recommendation_name}" in text
    assert f"; stopped, because {session.stop_reason.sentence}; " in text
    in_memory = Session(icpe.make_explorer("top-two", BANDIT), BANDIT, budget=1)
    assert "<Session: 0 answers, leader arm 0 with probability 0.33" in repr(in_memory)
    promised = Session(certified(small_bandit()), error_prob=0.1)
    assert repr(promised).endswith("; open; certified>")
    promised.skip()
    assert f"certified, since {promised.certificate_lost}>" in repr(promised)
    assert promised.certificate_lost is not None
