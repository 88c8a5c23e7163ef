"""Calls that may be repeated: a token says which of them are the same."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from icpe.core.errors import ConflictError, IcpeError, InvalidParameterError
from icpe.deploy.events import Event, Kind

LONGEST_TOKEN = 200


@dataclasses.dataclass(frozen=True)
class Repeatable:
    """A call with the client's token, and what it is to do; None if it has no token."""

    token: str | None = None
    kind: Kind = Kind.ASKED
    content: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        token = self.token
        if token is None:
            return
        if not isinstance(token, str) or not 1 <= len(token) <= LONGEST_TOKEN:
            raise InvalidParameterError(
                f"token must be a text of 1 to {LONGEST_TOKEN} characters; "
                f"got {token!r}."
            )

    def was_done(
        self, events: Sequence[Event], read: Callable[[int, Any], np.ndarray]
    ) -> bool:
        """Whether these events have it already.

        Args:
            events: all of the session.
            read: the outcome that an answer to a query stands for.

        Raises:
            ConflictError: its token came with something else.
        """
        if self.token is None:
            return False
        for event in events:
            if event.token != self.token:
                continue
            if event.kind is self.kind and self._agrees(event.body, read):
                return True
            raise ConflictError(
                f"token {self.token!r} was used before, for event {event.number} "
                f"({event.kind}), which says something else; use a new token for each "
                "call, and the same one only to repeat it."
            )
        return False

    def _agrees(
        self, body: dict[str, Any], read: Callable[[int, Any], np.ndarray]
    ) -> bool:
        given = self.content
        query = given.get("query")
        named = query is None or isinstance(query, str)
        if not named and query != body.get("query"):
            return False
        if "outcome" not in given:
            return True
        if body.get("told") is not None:
            return bool(
                np.array_equal(np.reshape(given["outcome"], -1), [body["told"]])
            )
        try:
            return read(body["query"], given["outcome"]).tolist() == body["outcome"]
        except IcpeError:
            return False
