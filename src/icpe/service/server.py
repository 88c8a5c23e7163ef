"""Runs the app: worker processes behind one socket, watched and stopped with care."""

import functools as ft
import os
import shutil
import socket
import tempfile
from typing import Any

from icpe.core import signals
from icpe.core.errors import InvalidParameterError
from icpe.service.settings import Settings

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_GRACEFUL_SECONDS = 20
_IN_MEMORY = "/dev/shm"
"""Workers count in files that are mapped into memory. On a disk that is full, to write
there would kill them."""


def check_address(host: str, open_to_all: bool) -> None:
    """Raises one sentence where strangers could use a service without tokens."""
    if open_to_all and host not in LOOPBACK:
        raise InvalidParameterError(
            f"--open lets everybody in, so --host must be one of {', '.join(LOOPBACK)}"
            f"; got {host}. Leave --open out and make tokens with icpe token create."
        )


def run_server(settings: Settings, door: socket.socket, workers: int) -> None:
    """Serves until a signal asks to stop; requests in flight are finished first.

    Workers that die are replaced.

    Args:
        settings: how it runs.
        door: the socket that workers accept connections from.
        workers: how many there are.
    """
    memory = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    metrics = tempfile.mkdtemp(prefix="icpe-metrics-", dir=memory)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = metrics  # read by the imports below

    import uvicorn

    from icpe.service.app import create_app
    from icpe.service.sharing import TAKEN_AT_ONCE, SharingServer
    from icpe.service.slow_clients import PatientProtocol
    from icpe.service.warming import Warming, warm_models
    from icpe.service.workers import Workers

    warming = Warming()

    def work() -> None:
        options: dict[str, Any] = {
            "http": PatientProtocol,
            "backlog": TAKEN_AT_ONCE,
            "ws": "none",
            "lifespan": "on",
            "access_log": False,
            "log_level": "warning",
            "server_header": False,
            "proxy_headers": False,
            "timeout_keep_alive": 30,
            "timeout_graceful_shutdown": _GRACEFUL_SECONDS,
        }
        config = uvicorn.Config(create_app(settings, warming=warming), **options)
        server = SharingServer(config)
        server.run(sockets=[door])
        if not server.started:
            raise SystemExit(1)

    try:
        with signals.handed_over():
            beside = None
            if settings.warm:
                beside = ft.partial(warm_models, settings.models_folder, warming)
            else:
                warming.end()
            patience = _GRACEFUL_SECONDS + 5
            Workers(workers, work, patience, beside, warming.end).run()
    finally:
        shutil.rmtree(metrics, ignore_errors=True)
