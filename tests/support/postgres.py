"""A PostgreSQL server of its own for tests, from Debian's packages."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from support.ports import free_port


def find_binaries() -> Path | None:
    """The folder of the server's programs, None if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return None if initdb is None else Path(os.path.realpath(initdb)).parent


class Server:
    """A server on a loopback port, which may be stopped and started."""

    def __init__(self, binaries: Path, folder: Path, port: int):
        self._binaries, self._folder, self._port = binaries, folder, port
        self._run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        options = f"-p {self._port} -k {self._folder} -c listen_addresses=127.0.0.1"
        self._run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", "data", "-w", "-m", mode, "stop")

    def new_database(self, name: str) -> str:
        """The URL of a database that was not there before."""
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self._port), name)
        return f"postgresql://postgres@127.0.0.1:{self._port}/{name}"

    def _run(self, program: str, *words: str) -> None:
        # A server that is started keeps its output open, so nobody waits for it.
        user = "postgres" if os.getuid() == 0 else None  # it refuses to run as root
        subprocess.run(
            [str(self._binaries / program), *words],
            cwd=self._folder,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"LC_ALL": "C", "PGUSER": "postgres"},
            user=user,
            group=user,
        )


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    binaries = find_binaries()
    assert binaries is not None
    folder = Path(tempfile.mkdtemp(prefix="icpe-postgres-"))
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
    server = Server(binaries, folder, free_port())
    try:
        yield server
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)
