"""Workers take new connections a few at a time, so that each gets its share."""

import socket

import uvicorn

WAITING = 1024
"""Connections that may wait to be accepted."""
TAKEN_AT_ONCE = 2
"""As the backlog of uvicorn's settings, by which asyncio decides how many of the
waiting connections one turn of its loop accepts."""


class SharingServer(uvicorn.Server):
    """Restores how many connections may wait, which the backlog is about as well."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to accept connections."""
        await super().startup(sockets)
        for it in sockets or ():
            it.listen(WAITING)
