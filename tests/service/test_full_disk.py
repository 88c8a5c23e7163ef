"""The disk of a service fills up, and is given room again."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from icpe.deploy.sql import SqlStorage
from icpe.service.app import create_app
from icpe.service.settings import Settings
from support.service_models import BANDIT_MODEL, models_folder


class Disk:
    """Says how many pages the file of a storage may have."""

    def __init__(self, storage: SqlStorage):
        self.most_pages = 2**30
        event.listen(storage._engine, "checkout", self._limit)
        self._storage = storage

    def fill(self) -> None:
        with self._storage._engine.connect() as connection:
            used = connection.exec_driver_sql("PRAGMA page_count").scalar()
        assert used is not None
        self.most_pages = used

    def make_room(self) -> None:
        self.most_pages = 2**30

    def _limit(self, connection, record, proxy) -> None:
        connection.execute(f"PRAGMA max_page_count={self.most_pages}")


@pytest.fixture
def storage(tmp_path):
    found = SqlStorage(f"sqlite:///{tmp_path}/sessions.db")
    yield found
    found.close()


def test_on_a_full_disk_nothing_is_acknowledged_and_nothing_is_lost(storage, tmp_path):
    (tmp_path / "models").mkdir()
    folder = models_folder(tmp_path / "models")
    settings = Settings("", models=str(folder), open=True, rate=0, log=False)
    disk = Disk(storage)
    with TestClient(create_app(settings, storage)) as client:

        def start(number: int):
            asked = {"model": BANDIT_MODEL, "budget": 6, "id": f"s{number}"}
            return client.post("/v1/sessions", json=asked | {"token": f"t{number}"})

        assert start(0).status_code == 201
        disk.fill()
        refused = next(i for i in range(1, 100) if start(i).status_code != 201)
        answer = start(refused)
        assert answer.status_code == 503 and "disk is full" in answer.text
        assert answer.headers["Retry-After"] == "1"
        kept = client.get("/v1/sessions").json()["sessions"]
        assert {it["id"] for it in kept} == {f"s{i}" for i in range(refused)}
        disk.make_room()
        assert [start(refused).status_code for _ in range(2)] == [201, 201]
        view = client.post("/v1/sessions/s0/ask").json()
        told = {"query": view["open"][0]["query"], "outcome": 0.5}
        view = client.post("/v1/sessions/s0/tell", json=told).json()
        assert view["num_queries"] == 1
