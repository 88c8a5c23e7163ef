"""Connections on which a request does not get on are closed."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0


class PatientProtocol(H11Protocol):
    """Gives a client some seconds to send the head of a request, then hangs up.

    Bodies are watched by `icpe.service.guardrails`, idle connections by uvicorn.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport) -> None:  # pyright: ignore
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        waiting = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]
        if not waiting:
            self._stop_timer()
        elif self._timer is None:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(HEADER_SECONDS, self._hang_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hang_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
