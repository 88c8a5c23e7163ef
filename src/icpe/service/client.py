"""A client of the service, with the methods of a session."""

import secrets
import time
from collections.abc import Sequence
from typing import Any, overload

from icpe.core.errors import (
    ConflictError,
    IcpeError,
    InvalidParameterError,
    SessionError,
    StorageError,
    UnknownNameError,
)
from icpe.deploy.storage import check_serve_extra

_FIRST_WAIT = 0.1
_PASSING = (408, 429, 502, 503, 504)
_KINDS: dict[int, type[IcpeError]] = {
    404: UnknownNameError,
    409: SessionError,
    413: InvalidParameterError,
    422: InvalidParameterError,
}


class AccessError(IcpeError, PermissionError):
    """The service does not let this client do that."""


class Client:
    """Speaks to a service at a URL.

    Calls that change something carry a token of their own, so that they are repeated
    when the service or the network fails, and are carried out once.

    Args:
        url: of the service, such as http://127.0.0.1:8000.
        token: made by `icpe token create`; None where the service is open.
        timeout: seconds to wait for an answer.
        patience: seconds in which a call that fails is tried again.

    Raises:
        MissingExtraError: httpx is not installed.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        token: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 10.0,
    ):
        check_serve_extra("httpx", "icpe.Client")
        import httpx

        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._patience = patience
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives up connections."""
        self._http.close()

    def models(self) -> list[dict[str, Any]]:
        """All models that can be used."""
        return self._call("GET", "/v1/models")["models"]

    def model(self, name: str) -> dict[str, Any]:
        """A model with its card and certificates."""
        return self._call("GET", f"/v1/models/{_path(name)}")

    def sessions(
        self, limit: int = 100, *, before: str | None = None, status: str | None = None
    ) -> list[dict[str, Any]]:
        """Sessions in short, the latest first."""
        given = {"limit": limit, "before": before, "status": status}
        given = {name: it for name, it in given.items() if it is not None}
        return self._call("GET", "/v1/sessions", params=given)["sessions"]

    def create_session(self, model: str, **asked: Any) -> "RemoteSession":
        """Starts a session.

        Args:
            model: name of the model.
            **asked: what is asked for, as in `icpe.open_session`, and its `id`.
        """
        given = {"model": model, "token": _new_token(), **asked}
        units = asked.get("units")
        if units is not None and not isinstance(units, dict):
            given["units"] = vars(units)
        return RemoteSession(self, self._call("POST", "/v1/sessions", json=given))

    def session(self, id: str) -> "RemoteSession":
        """A session that is there already."""
        return RemoteSession(self, self._call("GET", f"/v1/sessions/{_path(id)}"))

    def next(
        self, model: str, history: Sequence[dict[str, Any]] = (), **asked: Any
    ) -> dict[str, Any]:
        """Next query, belief and stop after a history, without a session.

        Args:
            model: name of the model.
            history: `query` and `outcome` of each answer, first to last.
            **asked: what is asked for, as in `icpe.open_session`.
        """
        given = {"model": model, "history": list(history), **asked}
        return self._call("POST", "/v1/next", json=given)

    def _call(self, method: str, path: str, **given: Any) -> Any:
        return self._answer(method, path, **given).json()

    def _answer(self, method: str, path: str, **given: Any) -> Any:
        """Repeats what may pass, then raises one sentence."""
        import httpx

        if "json" in given:
            given["json"] = _plain(given["json"])
        wait, end = _FIRST_WAIT, time.monotonic() + self._patience
        while True:
            try:
                answer = self._http.request(method, path, **given)
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}"
            else:
                if answer.status_code not in _PASSING:
                    return _checked(answer)
                problem = _detail(answer)
            if time.monotonic() + wait > end:
                break
            time.sleep(wait)
            wait = min(2 * wait, 2.0)
        raise StorageError(
            f"The service at {self._http.base_url} does not answer: "
            f"{problem.rstrip('.')}; see whether it runs, and try again."
        )


class RemoteSession:
    """A session of a service; `view` is what the service said last."""

    def __init__(self, client: Client, view: dict[str, Any]):
        self._client, self.view = client, view

    @property
    def id(self) -> str:
        """By which it is opened again."""
        return self.view["id"]

    @overload
    def ask(self) -> int | None: ...
    @overload
    def ask(self, count: int) -> list[int]: ...
    def ask(self, count: int | None = None) -> int | list[int] | None:
        """The query to make next, None after the stop; a list if a count is given."""
        self._post("ask", count=1 if count is None else count)
        found = [it["query"] for it in self.view["open"]]
        if self.stopped:
            found = []
        return found if count is not None else (found[0] if found else None)

    def tell(
        self,
        query: int | str,
        outcome: Any,
        terminated: bool = False,
        query_mask: Any = None,
        *,
        token: str | None = None,
        unasked: bool = False,
    ) -> None:
        """Takes in the outcome of a query, which is durable when this returns.

        An answer to a question that is not open is refused, unless `unasked` is true.
        """
        self._post(
            "tell",
            query=query,
            outcome=outcome,
            terminated=terminated,
            query_mask=query_mask,
            token=token or _new_token(),
            unasked=unasked,
        )

    def skip(self, query: int | str | None = None, *, token: str | None = None) -> None:
        """Withdraws an open question for good; ask for another."""
        self._post("skip", query=query, token=token or _new_token())

    def undo(self, *, token: str | None = None) -> None:
        """Takes back the last answer or skip."""
        self._post("undo", token=token or _new_token())

    def close(self, *, token: str | None = None) -> None:
        """Takes nothing more."""
        self._post("close", token=token or _new_token())

    def refresh(self) -> None:
        """Looks at the session again."""
        self.view = self._client._call("GET", f"/v1/sessions/{_path(self.id)}")

    def events(self) -> list[dict[str, Any]]:
        """Everything that happened, first to last."""
        path = f"/v1/sessions/{_path(self.id)}/history"
        return self._client._call("GET", path)["events"]

    def report(self) -> dict[str, Any]:
        """What was asked, answered and believed; `icpe replay` checks it."""
        return self._client._call("GET", f"/v1/sessions/{_path(self.id)}/report")

    @property
    def stopped(self) -> bool:
        """Whether no more queries are to be made."""
        return self.view["stopped"]

    @property
    def stop_reason(self) -> str:
        """Why it stopped, in one word."""
        return self.view["stop_reason"]

    @property
    def open_queries(self) -> tuple[int, ...]:
        """Queries that were asked for and have no answer yet, the oldest first."""
        return tuple(it["query"] for it in self.view["open"])

    @property
    def recommendation(self) -> int:
        """The hypothesis it names now."""
        return self.view["recommendation"]

    @property
    def posterior(self) -> list[float] | None:
        """Probability of each hypothesis now."""
        return self.view["posterior"]

    @property
    def cost(self) -> float:
        """What the answers so far have cost."""
        return self.view["cost"]

    @property
    def certified(self) -> bool:
        """Whether a certificate covers the request, and nothing has voided it."""
        return self.view["certified"]

    @property
    def certificate_lost(self) -> str | None:
        """Why the certificate no longer holds, in words."""
        return self.view["certificate_lost"]

    @property
    def alarm(self) -> str | None:
        """What does not look like the family, in words."""
        return self.view["alarm"]

    def _post(self, action: str, **given: Any) -> None:
        path = f"/v1/sessions/{_path(self.id)}/{action}"
        self.view = self._client._call("POST", path, json=given)


def _checked(answer: Any) -> Any:
    status = answer.status_code
    if status < 400:
        return answer
    sentence = _detail(answer)
    if status in (401, 403):
        raise AccessError(sentence)
    if status == 409 and ("somebody else" in sentence.lower()):
        raise ConflictError(sentence)
    raise _KINDS.get(status, SessionError)(sentence)


def _detail(answer: Any) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the service answered with status {answer.status_code}."


def _plain(value: Any) -> Any:
    """Arrays as lists, for JSON."""
    if isinstance(value, dict):
        return {name: _plain(it) for name, it in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(it) for it in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _path(word: str) -> str:
    from urllib.parse import quote

    return quote(word, safe="")


def _new_token() -> str:
    return secrets.token_hex(12)
