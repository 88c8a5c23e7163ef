"""Workers are killed, databases go and come back: nothing acknowledged is lost."""

import random
import socket
import threading
import time

import pytest

from icpe import Client
from icpe.core.errors import IcpeError
from icpe.deploy.events import Kind, effective
from icpe.deploy.session_rules import SessionRules
from icpe.deploy.session_state import complete
from icpe.deploy.setup import Setup
from icpe.deploy.storage import open_storage
from support.running_service import running_service
from support.service_models import BANDIT_MODEL, models_folder, small_bandit

pytestmark = pytest.mark.services
KILLS = [6, pytest.param(50, marks=pytest.mark.slow)]
CLIENTS = 6
PATIENCE = 300.0


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return models_folder(tmp_path_factory.mktemp("models"))


class Person(threading.Thread):
    """Asks and tells until it is told to stop, and remembers what was acknowledged."""

    def __init__(self, url: str, number: int, enough: threading.Event):
        super().__init__(daemon=True)
        self._url, self._number, self._enough = url, number, enough
        self.acknowledged: list[tuple[str, float]] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.failure = error

    def _work(self) -> None:
        with Client(self._url, patience=PATIENCE, timeout=60) as client:
            told = 0
            while not self._enough.is_set():
                session = client.create_session(BANDIT_MODEL, budget=8)
                while not self._enough.is_set():
                    query = session.ask()
                    if query is None:
                        break
                    told += 1
                    outcome = self._number + told / 4096  # exact as a float32
                    session.tell(query, outcome)
                    self.acknowledged.append((session.id, outcome))


def check_nothing_lost(storage_url: str, people: list[Person]) -> int:
    storage = open_storage(storage_url)
    kept: dict[str, list[float]] = {}
    for person in people:
        for id, outcome in person.acknowledged:
            if id not in kept:
                events = storage.read(id)
                assert [it.number for it in events] == list(range(len(events)))
                told = [it for it in effective(events) if it.kind is Kind.TOLD]
                kept[id] = [it.body["outcome"][0] for it in told]
                assert len(set(kept[id])) == len(kept[id]), "an answer is there twice"
                rules = SessionRules(Setup.from_dict(events[0].body, small_bandit()))
                state = complete(rules.rebuild(events), rules.live)
                assert len(state.history) == len(kept[id])
            assert kept[id].count(outcome) == 1, "an acknowledged answer is lost"
    storage.close()
    return sum(len(person.acknowledged) for person in people)


def wait_for_progress(people: list[Person], seconds: float = PATIENCE) -> None:
    """Until everybody has had another answer acknowledged."""
    reached = [len(person.acknowledged) for person in people]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = [len(person.acknowledged) for person in people]
        if all(n > r for n, r in zip(now, reached, strict=True)):
            return
        for person in people:
            assert person.failure is None, person.failure
        time.sleep(0.02)
    raise TimeoutError("sessions do not go on")


def kill_under_load(url: str, storage_url: str, service, kills: int) -> None:
    enough = threading.Event()
    people = [Person(url, number, enough) for number in range(CLIENTS)]
    for person in people:
        person.start()
    chance = random.Random(0)
    killed = 0
    while killed < kills:
        # At times the next one is killed while the last is being replaced.
        if chance.random() < 0.7:
            wait_for_progress(people)
        time.sleep(chance.uniform(0.0, 0.5))
        killed += service.kill_one(chance.choice)
    wait_for_progress(people)
    enough.set()
    for person in people:
        person.join(PATIENCE)
        assert person.failure is None, person.failure
        assert not person.is_alive()
    total = check_nothing_lost(storage_url, people)
    assert total > kills * CLIENTS // 2
    print(f"{killed} kills, {total} acknowledged answers, none lost, none doubled")


@pytest.mark.parametrize("kills", KILLS)
def test_killed_workers_lose_and_double_nothing_on_sqlite(models, tmp_path, kills):
    url = f"sqlite:///{tmp_path}/sessions.db"
    with running_service(url, models, tmp_path / "log") as service:
        kill_under_load(service.url, url, service, kills)


@pytest.mark.parametrize("kills", KILLS)
def test_killed_workers_lose_and_double_nothing_on_postgresql(
    models, tmp_path, postgres, kills
):
    url = postgres.new_database(f"kills{kills}")
    with running_service(url, models, tmp_path / "log") as service:
        kill_under_load(service.url, url, service, kills)


def test_a_service_without_its_database_says_so_and_goes_on_when_it_is_back(
    models, tmp_path, postgres
):
    url = postgres.new_database("away")
    with running_service(url, models, tmp_path / "log", workers=1) as service:
        impatient = Client(service.url, patience=0)
        session = impatient.create_session(BANDIT_MODEL, budget=6)
        query = session.ask()
        assert query is not None
        postgres.stop("immediate")
        try:
            with pytest.raises(IcpeError, match="cannot be used now"):
                session.tell(query, 0.25, token="a")
            assert impatient._http.get("/readyz").status_code == 503
            assert impatient._http.get("/healthz").status_code == 200
        finally:
            postgres.start()
        session.tell(query, 0.25, token="a")
        session.tell(query, 0.25, token="a")
        assert session.view["num_queries"] == 1
        impatient.close()


def test_a_storage_that_is_moved_says_so_and_goes_on_when_it_is_back(models, tmp_path):
    place, moved = tmp_path / "sessions.db", tmp_path / "moved.db"
    with running_service(f"sqlite:///{place}", models, tmp_path / "log") as service:
        people = [Client(service.url, patience=0) for _ in range(4)]
        session = people[0].create_session(BANDIT_MODEL, budget=6)
        query = session.ask()
        assert query is not None
        session.tell(query, 0.25, token="a")
        place.rename(moved)
        for client in people:  # connections go to either worker
            assert client._http.get("/readyz").status_code == 503
            with pytest.raises(IcpeError, match="was moved, removed or replaced"):
                client.session(session.id)
        query = session.view["next"]["query"]
        with pytest.raises(IcpeError, match="was moved, removed or replaced"):
            session.tell(query, 0.5, token="b")
        assert not place.exists()
        moved.rename(place)
        for client in people:
            client.session(session.id).tell(query, 0.5, token="b")
            client.close()
    storage = open_storage(f"sqlite:///{place}")
    told = [it.token for it in storage.read(session.id) if it.kind is Kind.TOLD]
    storage.close()
    assert told == ["a", "b"]


def test_workers_share_sessions_and_a_stop_finishes_what_was_begun(models, tmp_path):
    url = f"sqlite:///{tmp_path}/sessions.db"
    with running_service(url, models, tmp_path / "log") as service:
        people = [Client(service.url) for _ in range(6)]
        id = people[0].create_session(BANDIT_MODEL, budget=8).id
        for i in range(8):  # connections go to either worker
            session = people[i % 6].session(id)
            query = session.ask()
            assert query is not None
            session.tell(query, i / 8)
        view = people[3].session(id).view
        assert view["num_queries"] == 8 and view["stop_reason"] == "budget"
        text = people[0]._http.get("/metrics").text
        assert 'route="/v1/sessions/{id}/tell"' in text
        for client in people:
            client.close()
        assert service.stop() in (0, -15, 143)


def test_a_client_that_is_slow_is_given_up_and_disturbs_nobody(models, tmp_path):
    url = f"sqlite:///{tmp_path}/sessions.db"
    with running_service(url, models, tmp_path / "log", workers=1) as service:
        slow = [
            socket.create_connection(("127.0.0.1", service.port)) for _ in range(20)
        ]
        for i, connection in enumerate(slow):
            head = b"POST /v1/next HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            whole = b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
            connection.sendall(head + (whole if i % 2 else b""))
            connection.settimeout(120)
        with Client(service.url) as client:
            begun = time.monotonic()
            assert client.models()
            assert time.monotonic() - begun < 8  # they are given up after ten
        answers = [connection.recv(1000) for connection in slow]
        assert all(not answer for answer in answers[::2])
        assert all(answer.startswith(b"HTTP/1.1 408") for answer in answers[1::2])
        for connection in slow:
            connection.close()
