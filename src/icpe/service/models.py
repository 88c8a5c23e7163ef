"""The models of a service: artifacts in a folder, by name and by hash."""

import contextlib
import dataclasses
import functools as ft
import math
import os
import threading
from pathlib import Path
from typing import Any

from icpe.artifact import Artifact
from icpe.artifact.document import read_card
from icpe.artifact.player import Player
from icpe.artifact.serving import serve
from icpe.core.errors import (
    ArtifactError,
    IcpeError,
    SessionError,
    StorageError,
    UnknownNameError,
    suggesting,
)
from icpe.core.request import Request
from icpe.deploy.durable import artifact_hash
from icpe.deploy.events import Event
from icpe.deploy.setup import Setup
from icpe.zoo import SUFFIX

_MOST_LOADED, _MOST_REQUESTS = 64, 1000


@dataclasses.dataclass(frozen=True)
class Model:
    """An artifact that is loaded, and the hash that sessions know it by."""

    name: str
    artifact: Artifact
    hash: str
    players: dict[Request, Player] = dataclasses.field(default_factory=dict)

    @ft.cached_property
    def certified_error_probs(self) -> list[float]:
        """The error probabilities that certificates serve, the smallest first."""
        return self.artifact.certified_error_probs

    @property
    def smallest_error_prob(self) -> float | None:
        """The smallest that the operating table serves, None if it serves none."""
        table = self.artifact.table
        if table is None or not table.priced():
            return None
        return table.smallest_error_prob()

    @property
    def usual_error_prob(self) -> float:
        """What is offered: the best certified one, else 0.05 or what can be served."""
        if self.certified_error_probs:
            return self.certified_error_probs[0]
        return max(0.05, math.ceil(100 * (self.smallest_error_prob or 0.0)) / 100)

    def setup(self, request: Request, **given: Any) -> Setup:
        """The setup of a new session; who serves a request is looked up once."""
        if request not in self.players:
            if len(self.players) >= _MOST_REQUESTS:
                self.players.clear()
            player = serve(self.artifact, request, self.artifact.family)
            self.players[request] = player
        player = self.players[request]
        return Setup.of(self.artifact, None, request, player=player, **given)


class Models:
    """Artifacts of a folder, loaded when they are first needed.

    A file that is replaced serves new sessions at once. Sessions of the file before go
    on as long as a file of their hash lies in the folder, under whatever name.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: dict[tuple[Any, ...], Model] = {}
        self._cards: dict[tuple[Any, ...], dict[str, Any]] = {}

    def names(self) -> list[str]:
        """The names of all models, sorted.

        Raises:
            StorageError: the folder cannot be read.
        """
        try:
            files = [it for it in os.listdir(self._folder) if it.endswith(SUFFIX)]
        except OSError as error:
            raise StorageError(
                f"The folder of models cannot be read now: {error.strerror}; whoever "
                "runs the service can put it back."
            ) from error
        return sorted(it.removesuffix(SUFFIX) for it in files if it[0] != ".")

    def cards(self) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
        """What usable files say about themselves, and what is wrong with others."""
        cards: dict[str, dict[str, Any]] = {}
        problems: dict[str, str] = {}
        for name in self.names():
            try:
                cards[name] = self.card(name)
            except IcpeError as error:
                problems[name] = str(error)
        return cards, problems

    def get(self, name: str) -> Model:
        """The model of a name, as its file is now.

        Raises:
            UnknownNameError: there is none.
            ArtifactError: its file cannot be used.
        """
        path = self._path(name)
        with _explained(path):
            version = _version(path)
            with self._lock:
                if version not in self._loaded:
                    artifact = Artifact.load(path)
                    model = Model(name, artifact, artifact_hash(artifact))
                    while len(self._loaded) >= _MOST_LOADED:
                        self._loaded.pop(next(iter(self._loaded)))
                    self._loaded[version] = model
                return self._loaded[version]

    def card(self, name: str) -> dict[str, Any]:
        """What the file of a model says about itself.

        Raises:
            UnknownNameError: there is none.
            ArtifactError: its file cannot be used.
        """
        path = self._path(name)
        with _explained(path):
            version = _version(path)
            if version not in self._cards:
                self._cards[version] = read_card(path)
            return self._cards[version]

    def of_session(self, created: Event, session: str) -> Model:
        """The model that a session was created with.

        Raises:
            SessionError: its file is not there any more.
        """
        wanted, name = created.body["artifact"], created.body.get("model")
        names = self.names()
        for candidate in sorted(names, key=lambda it: it != name):
            with contextlib.suppress(IcpeError):
                model = self.get(candidate)
                if model.hash == wanted:
                    return model
        raise SessionError(
            f"Session {session!r} was created with the model {name!r} of hash "
            f"{wanted[:16]}, and no model here has that hash, so its file was replaced "
            "or removed; put that file back, under any name."
        )

    def _path(self, name: str) -> Path:
        names = self.names()
        if name not in names:
            given = name[:100]
            raise UnknownNameError(
                suggesting(
                    f"There is no model {given!r}",
                    given,
                    names,
                    "those there are stand at /v1/models.",
                )
            )
        return self._folder / f"{name}{SUFFIX}"


def _version(path: Path) -> tuple[Any, ...]:
    """Changes when the file does."""
    it = path.stat()
    return str(path), it.st_ino, it.st_mtime_ns, it.st_size


@contextlib.contextmanager
def _explained(path: Path):
    try:
        yield
    except ArtifactError as error:
        # Clients need not know where files lie.
        raise ArtifactError(str(error).replace(str(path), path.name)) from error
    except OSError as error:
        if isinstance(error, IcpeError):
            raise
        raise ArtifactError(
            f"The model {path.name.removesuffix(SUFFIX)!r} cannot be read now: "
            f"{error.strerror}."
        ) from error
