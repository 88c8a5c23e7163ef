"""The file of a storage is moved, hidden or write-protected: nothing is lost."""

import os
import shutil

import pytest

from icpe.core.errors import StorageError
from icpe.deploy.events import Event, Kind, Status
from icpe.deploy.sql import SqlStorage


def event(number: int) -> Event:
    kind = Kind.TOLD if number else Kind.CREATED
    return Event(number, kind, float(number), {"artifact": "a"}, Status.OPEN, None)


def opened(path) -> SqlStorage:
    return SqlStorage(f"sqlite:///{path}")


def numbers(path) -> list[int]:
    storage = opened(path)
    found = [it.number for it in storage.read("one")]
    storage.close()
    return found


@pytest.fixture
def place(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "sessions.db"


@pytest.fixture
def moved(place):
    return place.parent / "elsewhere" / "moved.db"


def test_a_file_that_is_moved_takes_nothing_more_and_has_everything(place, moved):
    storage, other = opened(place), opened(place)
    storage.append("one", [event(0)])
    other.append("one", [event(1)])
    os.rename(place, moved)
    for attempt in (
        lambda: storage.append("one", [event(2)]),
        lambda: other.read("one"),
        storage.check,
    ):
        with pytest.raises(StorageError, match=r"sessions\.db was moved, removed"):
            attempt()
    assert not place.exists()
    assert numbers(shutil.copy(moved, moved.with_name("copy.db"))) == [0, 1]
    os.rename(moved, place)
    storage.append("one", [event(2)])
    assert len(other.read("one")) == 3
    storage.close()
    other.close()


def test_a_file_that_was_moved_has_everything_when_its_process_ends(place, moved):
    storage = opened(place)
    storage.append("one", [event(0), event(1)])
    os.rename(place, moved)
    storage.close()
    assert numbers(moved) == [0, 1]


def test_another_file_in_its_place_is_not_taken_for_it(place, moved):
    storage = opened(place)
    storage.append("one", [event(0)])
    another = place.with_name("another.db")
    opened(another).close()
    os.rename(place, moved)
    os.rename(another, place)
    with pytest.raises(StorageError, match="replaced while it was in use"):
        storage.append("one", [event(1)])
    storage.close()
    assert numbers(moved) == [0]


def test_a_log_without_its_file_is_not_thrown_away(place, moved):
    storage = opened(place)
    storage.append("one", [event(0)])
    log = place.with_name("sessions.db-wal")
    for it in (place, log):  # as after a power cut
        shutil.copy(it, moved.with_name(it.name))
    storage.close()
    after = moved.with_name("sessions.db")
    os.rename(after, moved)
    with pytest.raises(
        StorageError, match=r"sessions\.db-wal is still there and holds"
    ):
        opened(after)
    os.rename(moved, after)
    assert numbers(after) == [0]


def test_a_folder_and_a_read_only_place_are_said_to_be_that(place, monkeypatch):
    with pytest.raises(StorageError, match="that is a folder; name a file in it"):
        opened(place.parent)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(StorageError, match="or its folder is read-only"):
        opened(place)
    assert not place.exists()
