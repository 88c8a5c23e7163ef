"""Storages of sessions on the command line: those that are there already."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

_SQLITE = "sqlite:///"


def check_stored(url: str) -> None:
    """Raises one sentence unless a storage may have sessions, before it is opened.

    To open a database of SQLite makes one, which is wrong where it is only read.

    Raises:
        InvalidParameterError: it has none.
    """
    from icpe.core.errors import InvalidParameterError

    if url.startswith("memory:"):
        raise InvalidParameterError(
            f"STORAGE must be sqlite:///FILE or postgresql://USER@HOST/DATABASE; {url} "
            "ends with the process that has it."
        )
    path = url.removeprefix(_SQLITE)
    if path != url and not Path(path.partition("?")[0]).is_file():
        raise InvalidParameterError(
            f"STORAGE {url} does not exist: there is no file {path}."
        )


@contextlib.contextmanager
def stored(url: str) -> Iterator:
    """The storage of a URL, which must be there already."""
    check_stored(url)
    from icpe.deploy.storage import open_storage

    storage = open_storage(url)
    try:
        yield storage
    finally:
        storage.close()
