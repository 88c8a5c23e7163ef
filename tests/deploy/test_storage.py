"""Storages keep their contract, and say in one sentence what is wrong with them."""

import sqlite3
import threading
import time

import pytest
import sqlalchemy as sa

from icpe.core.errors import (
    ConflictError,
    InvalidParameterError,
    MissingExtraError,
    StorageError,
)
from icpe.deploy import sqlite_file
from icpe.deploy.events import Event, Kind, Status
from icpe.deploy.memory import MemoryStorage
from icpe.deploy.sql import SqlStorage
from icpe.deploy.sql_schema import STEPS, VERSION
from icpe.deploy.storage import check_serve_extra, check_session_id, open_storage
from icpe.testing import check_storage
from support.ports import free_port


def event(number, **changes):
    values = {"kind": Kind.TOLD, "time": 1.0, "body": {}, "status": Status.OPEN}
    return Event(number, **values | changes)


def test_a_storage_in_memory_keeps_the_contract():
    storage = MemoryStorage()
    check_storage(lambda: storage)


def test_a_storage_in_sqlite_keeps_the_contract(tmp_path):
    opened = []

    def open_again():
        opened.append(open_storage(f"sqlite:///{tmp_path}/trial.db"))
        return opened[-1]

    check_storage(open_again)
    for storage in opened:
        storage.close()


def test_a_missing_folder_is_named(tmp_path):
    folder = tmp_path / "nowhere"
    with pytest.raises(StorageError) as caught:
        open_storage(f"sqlite:///{folder}/trial.db")
    assert f"there is no folder {folder}; make it" in str(caught.value)
    assert f"sqlite:///{folder}/trial.db" in str(caught.value)


@pytest.mark.parametrize("package", ["uvicorn", "prometheus_client"])
def test_a_missing_package_names_its_extra_for_clones_as_well(monkeypatch, package):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        check_serve_extra(package, "icpe serve")
    assert str(caught.value) == (
        f"icpe serve needs {package}, of the extra serve; install it with pip install "
        '"icpe[serve]", or in a clone of icpe with pip install ".[serve]".'
    )


def test_a_package_that_lacks_a_part_is_missing(monkeypatch, tmp_path):
    (tmp_path / "half_there.py").write_text("import nothing_of_that_name")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(MissingExtraError, match="icpe serve needs half_there, of the"):
        check_serve_extra("half_there", "icpe serve")


@pytest.mark.services
def test_a_storage_in_postgresql_keeps_the_contract(postgres):
    opened = []

    def open_again():
        opened.append(open_storage(postgres.url))
        return opened[-1]

    check_storage(open_again)
    for storage in opened:
        storage.close()


@pytest.mark.services
def test_a_database_that_was_gone_is_used_again_when_it_is_back(postgres):
    storage = open_storage(postgres.new_database("gone"))
    storage.append("one", [event(0)])
    postgres.stop()
    try:
        with pytest.raises(StorageError, match="cannot be used now"):
            storage.append("one", [event(1)])
        with pytest.raises(StorageError, match="cannot be used now"):
            storage.read("one")
    finally:
        postgres.start()
    storage.append("one", [event(1)])
    assert len(storage.read("one")) == 2
    storage.close()


def test_a_full_disk_is_one_sentence_and_adds_nothing(tmp_path):
    storage = SqlStorage(f"sqlite:///{tmp_path}/full.db")
    storage.append("one", [event(0)])
    with storage._engine.connect() as connection:
        used = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={used}")
    large = event(1, body={"text": "x" * 100_000})
    with pytest.raises(StorageError, match="disk is full"):
        storage.append("one", [large])
    assert len(storage.read("one")) == 1
    with storage._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    storage.append("one", [large])
    assert storage.read("one")[1] == large
    storage.close()


def test_every_commit_is_flushed_to_the_disk(tmp_path):
    storage = SqlStorage(f"sqlite:///{tmp_path}/trial.db")
    with storage._engine.connect() as connection:
        settings = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous")
        ]
    assert settings == ["wal", 2]
    storage.close()


def test_whoever_wants_to_write_waits_for_its_turn_and_not_forever(
    tmp_path, monkeypatch
):
    storage = SqlStorage(f"sqlite:///{tmp_path}/trial.db")
    other = sqlite3.connect(
        tmp_path / "trial.db", isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")
    leaving = threading.Timer(0.3, other.rollback)
    leaving.start()
    begun = time.monotonic()
    storage.append("a", [event(0, kind=Kind.CREATED)])
    assert 0.2 < time.monotonic() - begun < 10
    leaving.join()
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(sqlite_file, "_BUSY_SECONDS", 0.2)
    with pytest.raises(StorageError, match="database is locked; fix that"):
        storage.append("a", [event(1)])
    other.rollback()
    storage.append("a", [event(1)])
    assert len(storage.read("a")) == 2
    other.close()
    storage.close()


def test_tables_of_an_older_version_are_brought_up_to_date(tmp_path):
    url = f"sqlite:///{tmp_path}/old.db"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        VERSION.create(connection)
        STEPS[0](connection)
        connection.execute(sa.insert(VERSION).values(version=1))
        connection.exec_driver_sql(
            "INSERT INTO icpe_sessions VALUES ('kept', 1.0, 'm', 'x')"
        )
        connection.exec_driver_sql(
            "INSERT INTO icpe_events VALUES "
            "('kept', 0, 'told', 1.0, '{}', 'open', NULL)"
        )
    engine.dispose()
    storage = open_storage(url)
    assert storage.read("kept") == [event(0)]
    assert storage.tokens() == []
    storage.close()
    with sqlite3.connect(f"{tmp_path}/old.db") as connection:
        [version] = connection.execute("SELECT version FROM icpe_schema").fetchall()
    connection.close()
    assert version == (len(STEPS),)


def test_tables_of_a_newer_version_are_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/new.db"
    storage = open_storage(url)
    storage.close()
    connection = sqlite3.connect(f"{tmp_path}/new.db")
    connection.execute("UPDATE icpe_schema SET version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(StorageError, match=r"version 99, newer than .*install a newer"):
        open_storage(url)


@pytest.mark.parametrize(
    "place", ["trial.db", "mysql://x/y", "sqlite://", "", "sqlite:///:memory:"]
)
def test_what_is_no_storage_is_refused(place):
    with pytest.raises(InvalidParameterError, match="storage"):
        open_storage(place)


def test_a_file_that_is_no_database_is_one_sentence(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be read as one " * 20)
    with pytest.raises(StorageError, match=f"in sqlite:///{path} .* not a database"):
        open_storage(f"sqlite:///{path}")


def test_a_password_is_not_repeated(tmp_path):
    with pytest.raises(InvalidParameterError) as caught:
        open_storage("mysql://me:secret@host/db")
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_named_without_the_password():
    port = free_port()
    with pytest.raises(StorageError) as caught:
        open_storage(f"postgresql://me:secret@127.0.0.1:{port}/db")
    said = str(caught.value)
    assert f"in postgresql://me:***@127.0.0.1:{port}/db cannot be used now" in said
    assert said.endswith("Connection refused; fix that and try again.")


@pytest.mark.parametrize("id", ["", "-a", "a/b", "a b", "x" * 101, "a\n", "ä", None, 3])
def test_what_is_no_id_is_refused(id):
    with pytest.raises(InvalidParameterError, match="id must be"):
        check_session_id(id)


def test_losing_a_race_says_what_to_do(tmp_path):
    storage = MemoryStorage()
    storage.append("one", [event(0)])
    storage.append("one", [event(1, time=time.time())])
    with pytest.raises(ConflictError, match=r"Somebody else.*retry"):
        storage.append("one", [event(1)])
