"""Events of all sessions of a worker on their way to the storage.

One thread writes. While it waits for the disk, further events queue up, and go into
the next transaction together. After a transaction it leaves the storage to others for
as long as it had it itself, since workers that share a file of SQLite take turns.
"""

import asyncio
import concurrent.futures
import queue
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from icpe.deploy.events import Event
from icpe.deploy.storage import AbstractStorage

_MOST = 256
_LONGEST_PAUSE = 0.02


class _Job(NamedTuple):
    session: str
    events: Sequence[Event]
    done: concurrent.futures.Future[None]


class Writer:
    """Adds events to a storage, several sessions in a transaction."""

    def __init__(self, storage: AbstractStorage, observe=lambda number: None):
        self._storage, self._observe = storage, observe
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    async def append(self, session: str, events: Sequence[Event]) -> None:
        """Returns when the events are durable; raises what the storage raises."""
        job = _Job(session, events, concurrent.futures.Future())
        self._jobs.put(job)
        # A client that goes away does not take back what may be written already.
        await asyncio.shield(asyncio.wrap_future(job.done))

    def close(self) -> None:
        """Ends when everything has been written."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        ended = False
        while not ended:
            job = self._jobs.get()
            jobs: list[_Job] = []
            while job is not None:
                jobs.append(job)
                if len(jobs) >= _MOST:
                    break
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
            ended = job is None
            if jobs:
                begun = time.monotonic()
                self._write(jobs)
                if not ended:
                    time.sleep(min(time.monotonic() - begun, _LONGEST_PAUSE))

    def _write(self, jobs: list[_Job]) -> None:
        failures: Sequence[Exception | None]
        try:
            failures = self._storage.append_all([(it[0], it[1]) for it in jobs])
        except Exception as error:
            failures = [error] * len(jobs)
        for job, failure in zip(jobs, failures, strict=True):
            if failure is None:
                job.done.set_result(None)
            else:
                job.done.set_exception(failure)
        self._observe(len(jobs))
