"""What can be known of several processes without starting them."""

import socket
import time

import pytest

from icpe.core import distributed
from icpe.core.distributed import (
    LostProcessError,
    ProcessEngine,
    Processes,
    exchange,
    join,
    joined,
    leads,
    noticing_losses,
    saying_if_lost,
    share,
)
from icpe.core.engine import chosen_engine
from icpe.core.errors import InvalidParameterError
from support.ports import free_port


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (("node0", 2, 0), "coordinator must be HOST:PORT, .*got 'node0'"),
        ((":12", 2, 0), "coordinator must be HOST:PORT"),
        (("node0:port", 2, 0), "coordinator must be HOST:PORT"),
        (("node0:70000", 2, 0), "a port below 65536"),
        (("node0:1234", 0, 0), "num_processes must be at least 1; got 0"),
        (("node0:1234", 2, 2), "process_id must be between 0 and 1, .*got 2"),
        (("node0:1234", 2, -1), "process_id must be between 0 and 1, .*got -1"),
        (("node0:1234", 2, 1, 0.0), "timeout must be greater than 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(given, complaint):
    with pytest.raises(InvalidParameterError, match=complaint) as caught:
        Processes(*given)
    assert str(caught.value).count(". ") == 0


def test_hosts_may_be_names_and_numbers():
    assert Processes("node-0.cluster:80", 1, 0).address == ("node-0.cluster", 80)
    assert Processes("[::1]:80", 1, 0).address == ("::1", 80)


def test_a_coordinator_that_does_not_answer_is_given_up_in_time():
    address = f"127.0.0.1:{free_port()}"
    began = time.monotonic()
    complaint = f"No coordinator answered at {address} within 0.5 seconds"
    with pytest.raises(InvalidParameterError, match=complaint):
        join(Processes(address, 2, 1, timeout=0.5))
    assert time.monotonic() - began < 30


def test_a_port_that_is_taken_is_refused():
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidParameterError, match="choose another port"):
            join(Processes(f"localhost:{port}", 2, 0))


def test_one_process_alone_needs_no_others():
    assert distributed.count() == 1
    assert distributed.is_first() and leads()
    assert exchange("mine") == ["mine"]
    assert share("mine") == "mine"
    assert list(ProcessEngine().run(str, [3, 4])) == [(0, "3"), (1, "4")]
    with joined(None):
        assert chosen_engine() is None


def test_what_differs_between_processes_is_said(monkeypatch):
    distributed.check_same(seed=0)
    theirs = {"seed": 0, "plot": None, "budget": 4}
    monkeypatch.setattr(distributed, "exchange", lambda own: [own, own, theirs])
    complaint = "plot differs: a.svg in process 0, nothing in process 2; start all"
    with pytest.raises(InvalidParameterError, match=complaint):
        distributed.check_same(seed=0, plot="a.svg", budget=4)
    with pytest.raises(InvalidParameterError, match="budget differs: nothing in"):
        distributed.check_same(seed=0)
    distributed.check_same(**theirs)


def test_a_loss_is_told_from_other_failures(monkeypatch):
    failure = RuntimeError("Gloo AllReduce failed: Connection closed by peer")
    with pytest.raises(RuntimeError, match="Gloo"), noticing_losses():
        raise failure  # of one process alone, it is something else
    monkeypatch.setattr(distributed, "count", lambda: 2)
    with (
        pytest.raises(LostProcessError, match=r"has ended.*; go on from here"),
        saying_if_lost(lambda: "go on from here"),
        noticing_losses(),
    ):
        raise failure
    with pytest.raises(ZeroDivisionError), noticing_losses():
        _ = 1 / 0
