"""What every storage of sessions must satisfy, as one function for any test."""

import itertools
import threading
import time
from collections.abc import Callable

from icpe.core.errors import ConflictError, ConformanceError, UnknownNameError
from icpe.deploy.events import Event, Kind, Status
from icpe.deploy.storage import AbstractStorage, AccessToken

_THREADS, _ROUNDS = 4, 12


def check_storage(open_again: Callable[[], AbstractStorage]) -> None:
    """Checks that a storage keeps the contract of `icpe.deploy.storage`.

    Args:
        open_again: opens the same, at first empty, place each time it is called; a
            storage in memory gives the same object.

    Raises:
        ConformanceError: one sentence that says what is wrong.
    """
    storage = open_again()
    _check_order(storage)
    _check_reopened(storage, open_again())
    _check_tokens_of_clients(storage)
    _check_batches(storage)
    _check_races(storage, open_again())
    _check_lists(storage)
    _check_access_tokens(storage, open_again())


def _event(
    number: int, token: str | None = None, status: Status = Status.OPEN
) -> Event:
    kind = Kind.TOLD if number else Kind.CREATED
    body = {"outcome": [0.1, -2.5e-30], "text": "ä €", "artifact": "x", "model": "m"}
    return Event(number, kind, time.time(), body, status, token)


def _demand(holds: bool, sentence: str) -> None:
    if not holds:
        raise ConformanceError(f"The storage breaks its contract: {sentence}.")


def _conflicts(action: Callable[[], None]) -> bool:
    try:
        action()
    except ConflictError:
        return True
    return False


def _check_order(storage: AbstractStorage) -> None:
    _demand(storage.read("order") == [], "a session that is not there has events")
    events = [_event(0), _event(1), _event(2)]
    storage.append("order", events[:1])
    storage.append("order", events[1:])
    _demand(storage.read("order") == events, "events do not come back as they were")
    _demand(storage.read("order", 2) == events[2:], "reading from a number on is wrong")
    _demand(storage.read("order", 3) == [], "there are events that nobody added")
    for number, what in (
        (2, "number again"),
        (4, "number after a gap"),
        (0, "session"),
    ):
        again = _conflicts(lambda n=number: storage.append("order", [_event(n)]))
        _demand(again, f"the same {what} is taken")
    _demand(storage.read("order") == events, "a refused event was added all the same")


def _check_reopened(storage: AbstractStorage, other: AbstractStorage) -> None:
    storage.append("kept", [_event(0)])
    _demand(len(other.read("kept")) == 1, "what was added is not there for others")


def _check_tokens_of_clients(storage: AbstractStorage) -> None:
    storage.append("token", [_event(0, "a")])
    storage.append("token", [_event(1, "b")])
    refused = _conflicts(lambda: storage.append("token", [_event(2), _event(3, "b")]))
    _demand(refused, "a client's token is taken twice in a session")
    _demand(len(storage.read("token")) == 2, "a part of what was refused was added")
    storage.append("another", [_event(0, "a")])


def _check_batches(storage: AbstractStorage) -> None:
    storage.append("batch", [_event(0)])
    found = storage.append_all(
        [("new", [_event(0), _event(1)]), ("batch", [_event(5)]), ("last", [_event(0)])]
    )
    kinds = [type(it) for it in found]
    _demand(
        kinds == [type(None), ConflictError, type(None)],
        "one session that is refused keeps others from being added, or is not told",
    )
    numbers = [len(storage.read(it)) for it in ("new", "batch", "last")]
    _demand(numbers == [2, 1, 1], "a batch was not added as a whole")


def _check_races(storage: AbstractStorage, other: AbstractStorage) -> None:
    """Several add the same numbers; of each exactly one succeeds."""
    storage.append("race", [_event(0)])
    won: list[list[int]] = [[] for _ in range(_THREADS)]
    failures: list[BaseException] = []

    def run(me: int) -> None:
        place = (storage, other)[me % 2]
        try:
            for number in range(1, _ROUNDS + 1):
                while len(place.read("race")) < number:
                    time.sleep(0.001)
                if not _conflicts(
                    lambda n=number: place.append("race", [_event(n, f"{me}-{n}")])
                ):
                    won[me].append(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(me,)) for me in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    _demand(
        sorted(itertools.chain(*won)) == list(range(1, _ROUNDS + 1)),
        "of several who add one number not exactly one succeeds",
    )
    tokens = {it.number: it.token for it in storage.read("race")}
    kept = all(tokens[n] == f"{me}-{n}" for me in range(_THREADS) for n in won[me])
    _demand(kept, "an event is that of somebody who was refused")


def _check_lists(storage: AbstractStorage) -> None:
    for i, status in enumerate((Status.OPEN, Status.STOPPED, Status.CLOSED)):
        storage.append(f"list-{i}", [_event(0), _event(1, status=status)])
        time.sleep(0.01)
    latest = storage.sessions(3)
    names = [it.id for it in latest]
    _demand(names == ["list-2", "list-1", "list-0"], f"the latest three are {names}")
    first = latest[0]
    described = (first.model, first.artifact, first.number, first.status)
    _demand(described == ("m", "x", 2, Status.CLOSED), f"a summary says {described}")
    names = [it.id for it in storage.sessions(1, before="list-2")]
    _demand(names == ["list-1"], f"before list-2 comes {names}")
    names = [it.id for it in storage.sessions(10, status=Status.STOPPED)]
    _demand(names == ["list-1"], f"of those that have stopped there are {names}")


def _check_access_tokens(storage: AbstractStorage, other: AbstractStorage) -> None:
    token = AccessToken("ab12", "digest", "me", ("read", "run"), 1.5, expires=2.5)
    storage.add_token(token)
    _demand(other.find_token("ab12") == token, "an access token is not as it was")
    _demand(_conflicts(lambda: storage.add_token(token)), "a token is added twice")
    for moment in (3.0, 4.0):
        other.revoke_token("ab12", moment)
    found = storage.find_token("ab12")
    _demand(found is not None and found.revoked == 3.0, "a token is not revoked once")
    _demand(storage.find_token("cd34") is None, "there is a token that nobody added")
    _demand([it.id for it in storage.tokens()] == ["ab12"], "tokens are not listed")
    try:
        storage.revoke_token("cd34", 1.0)
    except UnknownNameError:
        return
    _demand(False, "a token that is not there is revoked")
