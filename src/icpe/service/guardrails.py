"""What every request passes before and after the routes: limits, log, headers."""

import asyncio
import json
import random
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from icpe.service.metrics import Metrics
from icpe.service.settings import Settings

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "testserver")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)


class Guardrails:
    """Bounds the size and duration of requests, and logs and counts them.

    A body is read as a whole before anything is done, so that a client that sends
    slowly holds nothing but its own connection.
    """

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics):
        self._app, self._settings, self._metrics = app, settings, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send)
        try:
            refusal = self._refusal(scope)
            if refusal is not None:
                await exchange.refuse(*refusal)
            else:
                await self._answer(exchange, receive)
        finally:
            self._record(exchange)

    async def _answer(self, exchange: "_Exchange", receive: Receive) -> None:
        settings = self._settings
        try:
            async with asyncio.timeout(settings.body_seconds):
                body = await _read(receive, settings.max_body)
        except TimeoutError:
            await exchange.refuse(
                408,
                f"The request took longer than {settings.body_seconds:g} seconds to "
                "arrive.",
            )
            return
        if body is None:
            await exchange.refuse(413, self._too_large())
            return
        try:
            async with asyncio.timeout(settings.request_seconds):
                await self._app(
                    exchange.scope, _replaying(body, receive), exchange.send
                )
        except TimeoutError:
            await exchange.refuse(
                504,
                f"This took longer than {settings.request_seconds:g} seconds and was "
                "given up; if it was to change a session, repeat it with its token.",
            )

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        length = headers.get(b"content-length", "0")
        if length.isdigit() and int(length) > self._settings.max_body:
            return 413, self._too_large()
        host = headers.get(b"host", "")
        name = host.rpartition(":")[0] if not host.endswith("]") else host
        if self._settings.open and (name or host) not in _LOOPBACK:
            return 403, "Without tokens this service answers only on its own machine."
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "Pages of other sites may not use this service."
        return None

    def _too_large(self) -> str:
        return f"The request is larger than {self._settings.max_body} bytes."

    def _record(self, exchange: "_Exchange") -> None:
        scope = exchange.scope
        route = getattr(scope.get("route"), "path", "unknown")
        seconds = time.monotonic() - exchange.begun
        status = exchange.status or 499
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.requests.labels(method, route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if not self._settings.log:
            return
        state = scope.get("state", {})
        log(
            request=exchange.id,
            method=method,
            path=scope["path"][:200],
            status=status,
            ms=round(1000 * seconds, 1),
            token=state.get("token_id"),
        )


_METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH")


def log(**values: Any) -> None:
    """One line of JSON to standard error. Never give it a secret or a body."""
    line = json.dumps({"time": round(time.time(), 3), **values})
    print(line, file=sys.stderr, flush=True)


class _Exchange:
    """One request and what has been sent in answer."""

    def __init__(self, scope: Scope, send: Send):
        self.scope, self._send = scope, send
        self.begun, self.id = time.monotonic(), f"{random.getrandbits(64):016x}"
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        """Sends, with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = (*_HEADERS, (b"x-request-id", self.id.encode()))
            if self.scope["path"].startswith("/v1"):
                own = (*own, (b"cache-control", b"no-store"))
            message = {**message, "headers": [*message["headers"], *own]}
        await self._send(message)

    async def refuse(self, status: int, sentence: str) -> None:
        """Answers with a problem, unless an answer has begun."""
        if self.status is not None:
            return
        body = json.dumps({"detail": sentence}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        start = {"type": "http.response.start", "status": status, "headers": headers}
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})


async def _read(receive: Receive, most: int) -> bytes | None:
    """The whole body, None if it is too large."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return body
        body += message.get("body", b"")
        if len(body) > most:
            return None
        if not message.get("more_body", False):
            return body


def _replaying(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
