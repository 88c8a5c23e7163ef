"""The sessions of a worker: states rebuilt from the storage, kept while they fit.

Nothing here is needed to survive. Another worker, or this one after a restart, comes
to the same state from the events in the storage.
"""

import asyncio
import collections
import concurrent.futures
import dataclasses
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from icpe.core.errors import ConflictError, IcpeError, StorageError, UnknownNameError
from icpe.core.request import Request
from icpe.deploy.durable import creation, new_session_id
from icpe.deploy.events import Draft, Event, Kind, Status, numbered
from icpe.deploy.repeats import Repeatable
from icpe.deploy.session_rules import SessionRules
from icpe.deploy.session_state import Change, Result, State, Steps
from icpe.deploy.setup import Setup
from icpe.deploy.storage import AbstractStorage, Summary, check_session_id
from icpe.service.batcher import Batcher
from icpe.service.models import Model, Models
from icpe.service.writer import Writer

_TRIES = 8
_READERS = 4


@dataclasses.dataclass(frozen=True)
class Entry:
    """One session as a worker knows it: its events so far, and what they came to."""

    id: str
    model: Model
    rules: SessionRules
    events: tuple[Event, ...]
    state: State

    @property
    def number(self) -> int:
        """How many events there are."""
        return len(self.events)


Rule = Callable[[Entry], Steps[Change]]


class Sessions:
    """Reads, changes and lists sessions.

    Args:
        storage: where their events are.
        models: whose sessions they are.
        batcher: runs the models.
        writer: writes to the storage.
        cache_bytes: how much memory states may take.
    """

    def __init__(
        self,
        storage: AbstractStorage,
        models: Models,
        batcher: Batcher,
        writer: Writer,
        cache_bytes: int,
    ):
        self._storage, self._models = storage, models
        self._batcher, self._writer = batcher, writer
        self._threads = concurrent.futures.ThreadPoolExecutor(_READERS, "storage")
        self._cache = Cache(cache_bytes)
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = (
            weakref.WeakValueDictionary()
        )

    async def blocking(self, function: Callable[..., Any], *args: Any) -> Any:
        """Runs what waits for a disk or a network, in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, function, *args)

    async def create(
        self,
        name: str,
        request: Request,
        *,
        id: str | None,
        token: str | None,
        **given: Any,
    ) -> Entry:
        """A new session.

        Raises:
            ConflictError: there is one of this id, unless the same token made it.
            IcpeError: as `icpe.open_session`.
        """
        id = new_session_id() if id is None else check_session_id(id)
        Repeatable(token)
        model: Model = await self.blocking(self._models.get, name)
        setup: Setup = await self.blocking(lambda: model.setup(request, **given))
        rules = SessionRules(setup)
        begun = await self._batcher.complete(rules, rules.begin())
        body = creation(setup, model.hash, name)
        drafts = (Draft(Kind.CREATED, body), *begun.drafts)
        events = numbered(drafts, 0, begun.state.status, token)
        try:
            await self._writer.append(id, events)
        except ConflictError:
            entry = await self.read(id)
            if token is None or entry.events[0].token != token:
                raise
            return entry
        entry = Entry(id, model, rules, events, begun.state)
        self._cache.put(entry)
        return entry

    async def read(self, id: str) -> Entry:
        """A session as it is now.

        Raises:
            UnknownNameError: there is none of that id.
            SessionError: its model has been replaced.
        """
        async with self._lock(id):
            return await self._newest(id)

    async def change(
        self,
        id: str,
        rule: Rule,
        repeatable: Repeatable,
        at: int | None = None,
    ) -> Entry:
        """A session after a rule was followed and its events are durable.

        Who meets the events of another worker follows the rule again from there.

        Args:
            id: of the session.
            rule: what is to be done.
            repeatable: the client's token, and what a repeated call is known by.
            at: how many events the client has seen; more are a conflict.

        Raises:
            ConflictError: there are other events than the client has seen.
            IcpeError: the rule does not allow it.
        """
        async with self._lock(id):
            entry, fresh = self._cache.get(id), False
            for _ in range(_TRIES):
                if entry is None:
                    entry, fresh = await self._newest(id), True
                if repeatable.was_done(entry.events, entry.rules.read):
                    return entry
                try:
                    _check_at(entry, at)
                    change = await self._batcher.complete(entry.rules, rule(entry))
                except IcpeError:
                    if fresh:
                        raise
                    entry = None
                    continue
                if not change.drafts:
                    if fresh:
                        return entry
                    entry = None
                    continue
                after = _extended(entry, change, repeatable.token)
                try:
                    await self._writer.append(id, after.events[entry.number :])
                except ConflictError:
                    entry, fresh = None, False
                    continue
                except StorageError:
                    self._cache.drop(id)
                    raise
                self._cache.put(after)
                return after
        raise ConflictError(
            f"Session {id!r} is being changed by many at once; try again."
        )

    async def list(
        self, limit: int, before: str | None, status: Status | None
    ) -> list[Summary]:
        """Sessions in the storage, the latest first."""
        return await self.blocking(
            lambda: self._storage.sessions(limit, before=before, status=status)
        )

    async def follow(
        self, model: Model, setup: Setup, answers: Sequence[dict[str, Any]]
    ) -> tuple[SessionRules, State]:
        """The state of a session with these answers that is not kept."""
        rules = SessionRules(setup)

        def steps() -> Steps[State]:
            state = (yield from rules.begin()).state
            for answer in answers:
                state = (yield from rules.tell(state, **answer)).state
            return state

        return rules, await self._batcher.complete(rules, steps())

    async def complete(self, rules: SessionRules, steps: Steps[Result]) -> Result:
        """What rules return, their model calls being run with those of others."""
        return await self._batcher.complete(rules, steps)

    def close(self) -> None:
        """Ends the threads."""
        self._threads.shutdown()

    def _lock(self, id: str) -> asyncio.Lock:
        lock = self._locks.get(id)
        if lock is None:
            lock = self._locks[id] = asyncio.Lock()
        return lock

    async def _newest(self, id: str) -> Entry:
        """The cached state with the events that have come since."""
        known = self._cache.get(id)
        start = 0 if known is None else known.number
        new = tuple(await self.blocking(self._storage.read, id, start))
        if known is None:
            if not new:
                raise UnknownNameError(f"There is no session {id[:100]!r}.")
            model = await self.blocking(self._models.of_session, new[0], id)
            rules = SessionRules(Setup.from_dict(new[0].body, model.artifact))
            events, steps = new, rules.rebuild(new)
        elif not new:
            return known
        else:
            model, rules = known.model, known.rules
            events = (*known.events, *new)
            undone = any(it.kind is Kind.UNDONE for it in new)
            steps = rules.rebuild(events) if undone else rules.follow(known.state, new)
        state = await self._batcher.complete(rules, steps)
        entry = Entry(id, model, rules, events, state)
        self._cache.put(entry)
        return entry


class Cache:
    """The sessions used last, as far as memory reaches."""

    def __init__(self, most_bytes: int):
        self._most, self._bytes = most_bytes, 0
        self._entries: collections.OrderedDict[str, _Kept] = collections.OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, id: str) -> Entry | None:
        """The session, which counts as used."""
        if id not in self._entries:
            return None
        self._entries.move_to_end(id)
        return self._entries[id].entry

    def put(self, entry: Entry) -> None:
        """Keeps a session, and lets go those that were not used for longest."""
        known = self._entries.get(entry.id)
        arrays = _array_bytes(entry) if known is None else known.array_bytes
        self.drop(entry.id)
        self._entries[entry.id] = kept = _Kept(entry, arrays)
        self._bytes += kept.num_bytes
        while self._bytes > self._most and len(self._entries) > 1:
            self.drop(next(iter(self._entries)))

    def drop(self, id: str) -> None:
        """Forgets a session."""
        kept = self._entries.pop(id, None)
        self._bytes -= 0 if kept is None else kept.num_bytes


class _Kept(NamedTuple):
    """An entry, and how large the arrays of its turn are, which does not change."""

    entry: Entry
    array_bytes: int

    @property
    def num_bytes(self) -> int:
        """About what the entry takes: arrays, and some KB for each event."""
        return self.array_bytes + 2_000 * len(self.entry.events) + 10_000


def _array_bytes(entry: Entry) -> int:
    leaves = jax.tree.leaves(entry.state.turn)
    return sum(getattr(leaf, "nbytes", 8) for leaf in leaves)


def _extended(entry: Entry, change: Change, token: str | None) -> Entry:
    status = change.state.status
    new = numbered(change.drafts, entry.number, status, token)
    return dataclasses.replace(entry, events=(*entry.events, *new), state=change.state)


def _check_at(entry: Entry, at: int | None) -> None:
    if at is not None and at != entry.number:
        raise ConflictError(
            f"Session {entry.id!r} has {entry.number} events and not {at}, so somebody "
            "else was there meanwhile; look at it again and retry."
        )
