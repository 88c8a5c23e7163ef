"""Model calls of all sessions of a worker, run together where they can be."""

import asyncio
import concurrent.futures
import queue
import threading
import time
from typing import Any, NamedTuple

from icpe.deploy.session_rules import SessionRules
from icpe.deploy.session_state import Advance, Call, Result, Steps
from icpe.play.together import CAPACITIES, Step, TogetherSteps

_MOST, _MOST_PROGRAMS = CAPACITIES[-1], 64


class _Job(NamedTuple):
    rules: SessionRules
    call: Call
    done: concurrent.futures.Future[Any]


class Batcher:
    """A thread that runs model calls; those of one model at the same time are one.

    Args:
        gather_seconds: how long the first call waits for others.
        observe: is told how many calls were run together.
    """

    def __init__(self, gather_seconds: float = 0.001, observe=lambda number: None):
        self._gather, self._observe = gather_seconds, observe
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._together: dict[Any, TogetherSteps] = {}
        self._thread = threading.Thread(target=self._work, name="models", daemon=True)
        self._thread.start()

    async def complete(self, rules: SessionRules, steps: Steps[Result]) -> Result:
        """What a rule returns, its calls being run here."""
        try:
            call = next(steps)
            while True:
                job = _Job(rules, call, concurrent.futures.Future())
                self._jobs.put(job)
                waiting = asyncio.wrap_future(job.done)
                call = steps.send(await asyncio.shield(waiting))
        except StopIteration as end:
            return end.value

    def close(self) -> None:
        """Ends when all calls have been run."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        ended = False
        while not ended:
            first = self._jobs.get()
            if first is None:
                return
            jobs, end = [first], time.monotonic() + self._gather
            while len(jobs) < _MOST:
                try:
                    left = end - time.monotonic()
                    job = self._jobs.get(timeout=max(left, 0.0))
                except queue.Empty:
                    break
                if job is None:
                    ended = True
                    break
                jobs.append(job)
            self._run(jobs)

    def _run(self, jobs: list[_Job]) -> None:
        groups: dict[Any, list[_Job]] = {}
        for job in jobs:
            key = _group(job)
            if key is None:
                self._run_alone(job)
            else:
                groups.setdefault(key, []).append(job)
        for key, group in groups.items():
            self._run_together(key, group)

    def _run_alone(self, job: _Job) -> None:
        try:
            job.done.set_result(job.call(job.rules.live))
        except BaseException as error:
            job.done.set_exception(error)
        self._observe(1)

    def _run_together(self, key: Any, group: list[_Job]) -> None:
        live = group[0].rules.live
        if key not in self._together:
            regime = live.operating_point.regime
            if len(self._together) >= _MOST_PROGRAMS:
                self._together.clear()
            program = TogetherSteps(live.explorer, live.spec, regime)
            self._together[key] = program
        try:
            turns = self._together[key]([_step(job) for job in group])
        except Exception:
            for job in group:  # so that only whoever is at fault is told
                self._run_alone(job)
            return
        for job, turn in zip(group, turns, strict=True):
            job.done.set_result(turn)
        self._observe(len(group))


def _group(job: _Job) -> Any:
    """Calls with the same key can be run together; None if alone.

    Programs hold on to their explorer, so its id is that of no other.
    """
    if not isinstance(job.call, Advance):
        return None
    live = job.rules.live
    return id(live.explorer), live.operating_point.regime


def _step(job: _Job) -> Step:
    call = job.call
    assert isinstance(call, Advance)
    return Step(
        job.rules.row,
        call.turn,
        call.query,
        call.outcome,
        call.query_mask,
        call.terminated,
    )
