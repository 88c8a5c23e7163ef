"""Sessions that outlive their process: every event is kept before it counts."""

import dataclasses
import functools as ft
import importlib.metadata
import os
import secrets
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import jax

from icpe import zoo
from icpe.artifact import Artifact
from icpe.artifact.certificate import digest
from icpe.artifact.trees import hash_arrays
from icpe.core.errors import (
    ConflictError,
    InvalidParameterError,
    SessionError,
    suggesting,
)
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import LEAST_CONFIDENCE, Promise, Request
from icpe.core.units import Units
from icpe.deploy.answers_csv import answers_csv
from icpe.deploy.events import Draft, Event, Kind, numbered
from icpe.deploy.report import session_report
from icpe.deploy.report_html import report_page
from icpe.deploy.session import AbstractSession
from icpe.deploy.session_rules import SessionRules
from icpe.deploy.session_state import Change, complete
from icpe.deploy.setup import Setup, family_of
from icpe.deploy.storage import (
    AbstractStorage,
    check_session_id,
    is_missing,
    open_storage,
)
from icpe.families.registry import describe

_LONGEST_NAME = 200
"""Of a model, in a storage."""
_MOST_LOOKED_AT = 1000
"""Sessions among which one of nearly the same name is looked for."""


def artifact_hash(artifact: Artifact) -> str:
    """Hash of all in an artifact that decides how its sessions go: explorer and guard.

    Certificates and operating table may change; what they gave a session is written
    down when it is created.
    """
    guard = artifact.guard
    watched = guard and (guard.to_dict()["limits"], hash_arrays(guard.law.arrays()))
    return digest([artifact.subject_hash, watched])


def creation(setup: Setup, artifact: str, model: str | None) -> dict[str, Any]:
    """The body of the event that creates a session."""
    return {
        "artifact": artifact,
        "model": model,
        "family": describe(setup.family),
        **setup.to_dict(),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """With which programs a session runs."""
    return {"icpe": _own_version(), "jax": jax.__version__}


@ft.cache
def _own_version() -> str:
    try:
        return importlib.metadata.version("icpe")
    except importlib.metadata.PackageNotFoundError:
        return "source tree"


def check_artifact(created: Event, found: str, session: str) -> None:
    """Raises one sentence unless a session was created with this artifact."""
    wanted = created.body["artifact"]
    if found != wanted:
        raise SessionError(
            f"Session {session!r} belongs to the artifact with hash {wanted[:16]}, and "
            f"this one has {found[:16]}; open it with the file it was created with."
        )


def new_session_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_hex(16)


class DurableSession(AbstractSession):
    """A session whose events are in a storage; made by `open_session`.

    An answer is in the storage before `tell` returns. Several processes may open the
    same session: who adds to it after somebody else has gets a `ConflictError`, has
    changed nothing, and sees the newest state from then on. `ask` looks into the
    storage first, and so does `refresh`.
    """

    def __init__(
        self,
        artifact: Artifact,
        storage: AbstractStorage,
        id: str,
        events: tuple[Event, ...],
    ):
        self.id = id
        self._storage = storage
        self._turns = threading.Lock()
        check_artifact(events[0], artifact_hash(artifact), id)
        self._rules = SessionRules(Setup.from_dict(events[0].body, artifact))
        self._events = events
        self._state = complete(self._rules.rebuild(events), self._rules.live)

    def refresh(self) -> None:
        """Takes notice of what other processes have told."""
        with self._turns:
            self._look()

    def report(self) -> dict[str, Any]:
        """What was asked, answered and believed, as JSON-compatible values.

        `icpe replay` checks it.
        """
        with self._turns:
            return session_report(self.id, self._rules, self._events)

    def answers_csv(self) -> str:
        """All answers as a table, one row each."""
        with self._turns:
            return answers_csv(self._rules, self._events)

    def report_html(self) -> str:
        """The report as one page that needs nothing else."""
        return report_page(self.report())

    @property
    def _called(self) -> str:
        return f" {self.id!r}"

    def _look(self) -> None:
        new = tuple(self._storage.read(self.id, len(self._events)))
        if not new:
            return
        events = (*self._events, *new)
        if any(it.kind is Kind.UNDONE for it in new):
            steps = self._rules.rebuild(events)
        else:
            steps = self._rules.follow(self._state, new)
        self._state = complete(steps, self._rules.live)
        self._events = events

    def _keep(self, events: tuple[Event, ...]) -> None:
        try:
            self._storage.append(self.id, events)
        except ConflictError:
            self._look()
            raise


def open_session(
    artifact: Artifact | str | Path | Any,
    family: AbstractTaskFamily | None = None,
    *,
    storage: str | AbstractStorage,
    id: str | None = None,
    error_prob: float | None = None,
    budget: int | None = None,
    price: float | None = None,
    max_queries: int | None = None,
    confidence: float = LEAST_CONFIDENCE,
    promise: Promise | str = Promise.AVERAGE,
    first_outcome: Any = None,
    query_mask: Any = None,
    seed: int = 0,
    on_alarm: Literal["go on", "stop"] = "go on",
    units: Units | Any = None,
    names: Sequence[str] | Any = None,
) -> DurableSession:
    """A durable session: the one of this id if there is one, else a new one.

    Args:
        artifact: a trained explorer or a saved rule, its file, or its name in the zoo.
        family: that of the artifact if None; it must be the same.
        storage: where sessions are kept: `sqlite:///trial.db`,
            `postgresql://USER@HOST/DATABASE`, `memory://`, or a storage.
        id: of the session; a new session gets one that nobody can guess if None.
        error_prob: what is asked for, with the arguments below, as in `icpe.Session`;
            to reopen a session they may be left out.
        budget: see `icpe.Session`.
        price: see `icpe.Session`.
        max_queries: see `icpe.Session`.
        confidence: see `icpe.Session`.
        promise: see `icpe.Session`.
        first_outcome: see `icpe.Session`.
        query_mask: see `icpe.Session`.
        seed: see `icpe.Session`.
        on_alarm: see `icpe.Session`.
        units: see `icpe.Session`.
        names: see `icpe.Session`.

    Raises:
        SessionError: there is a session of this id with another artifact or request,
            or with other units or names; or there is none, and nothing is asked for.
        StorageError: the storage cannot be used now.
        IcpeError: the arguments are refused as by `icpe.Session`.
    """
    artifact, model = _loaded(artifact)
    family = family_of(artifact, family)
    asked = (error_prob, budget, price, max_queries, confidence, promise)
    goals = (error_prob, budget, price)
    if id is not None:
        check_session_id(id)
        events = ()
        if not is_missing(storage):
            storage = open_storage(storage)
            events = tuple(storage.read(id))
        if events:
            assert not isinstance(storage, str)
            if goals != (None, None, None):
                _check_request(events[0], Request(*asked), id)
            _check_words(events[0], units, names, id)
            return DurableSession(artifact, storage, id, events)
        if goals == (None, None, None):
            raise SessionError(_not_there(id, storage))
    setup = Setup.of(
        artifact,
        family,
        Request(*asked),
        first_outcome=first_outcome,
        query_mask=query_mask,
        seed=seed,
        on_alarm=on_alarm,
        units=units,
        names=names,
    )
    storage = open_storage(storage)  # which makes a file; all is checked by now
    id = id or new_session_id()
    rules = SessionRules(setup)
    begun: Change = complete(rules.begin(), rules.live)
    created = Draft(Kind.CREATED, creation(setup, artifact_hash(artifact), model))
    events = numbered((created, *begun.drafts), 0, begun.state.status)
    try:
        storage.append(id, events)
    except ConflictError:  # another process was quicker, which is as good
        events = tuple(storage.read(id))
        _check_request(events[0], setup.request, id)
    return DurableSession(artifact, storage, id, events)


def _not_there(id: str, storage: str | AbstractStorage) -> str:
    """A message about a session that was to be opened again."""
    begin = "to begin one, say what is asked for: error_prob, budget or price."
    if isinstance(storage, str):
        return f"There is no session {id!r}: there is no file of {storage}; {begin}"
    near = [it.id for it in storage.sessions(_MOST_LOOKED_AT)]
    return suggesting(f"There is no session {id!r} in this storage", id, near, begin)


def _loaded(artifact: Artifact | str | Path | Any) -> tuple[Artifact, str | None]:
    """The explorer, and its name: in the zoo, or that of its file."""
    if isinstance(artifact, Artifact):
        return artifact, None
    if isinstance(artifact, AbstractExplorer):
        raise InvalidParameterError(
            "artifact must be a file or what icpe.train and icpe.make_rule return, so "
            "that the session can be opened again; got an explorer in memory: make a "
            "rule with icpe.make_rule(family, score) or the command icpe rule."
        )
    if not isinstance(artifact, str | os.PathLike):
        raise InvalidParameterError(
            "artifact must be a trained explorer, its file, or its name in the zoo; "
            f"got {artifact!r}."
        )
    if isinstance(artifact, str) and artifact in zoo.names():
        return zoo.load(artifact), artifact
    return Artifact.load(Path(artifact)), Path(artifact).name[-_LONGEST_NAME:]


def _check_request(created: Event, request: Request, id: str) -> None:
    found = Request(**created.body["request"])
    if found != request:
        raise SessionError(
            f"Session {id!r} was created for {found}, not for {request}; leave the "
            "request out, or choose another id."
        )


def _check_words(created: Event, units: Any, names: Any, id: str) -> None:
    """Answers in other units, or to questions under other names, would be mistaken."""
    given: dict[str, Any] = {}
    if isinstance(units, Units):
        given["units"] = dataclasses.asdict(units)
    if names is not None and not isinstance(names, str):
        given["names"] = list(map(str, names))
    for name, value in given.items():
        found = created.body[name]
        if found != value:
            raise SessionError(
                f"Session {id!r} was created with {name} {found}, not {value}; leave "
                f"{name} out, or choose another id."
            )
