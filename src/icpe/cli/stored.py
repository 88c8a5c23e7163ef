"""Storages of sessions on the command line: those that are there already."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

_SQLITE = "sqlite:///"


def check_stored(url: str) -> None:
    """Raises one sentence unless a storage may have sessions, before it is opened.

    Raises:
        InvalidParameterError: it has none.
    """
    from icpe.core.errors import InvalidParameterError

    if url.startswith("memory:"):
        raise InvalidParameterError(
            f"STORAGE must be sqlite:///FILE or postgresql://USER@HOST/DATABASE; {url} "
            "ends with the process that has it."
        )
    check_storage("STORAGE", url, exists=True)


def check_storage(option: str, url: str, *, exists: bool) -> None:
    """Raises one sentence unless a URL can name a storage, before it is opened.

    Args:
        option: what the URL is given by.
        url: as it was given.
        exists: whether it must be there. To open a database of SQLite makes one, which
            is wrong where it is only read.

    Raises:
        InvalidParameterError: it cannot.
    """
    from icpe.core.errors import InvalidParameterError

    if "://" not in url:
        raise InvalidParameterError(
            f"{option} must be sqlite:///FILE or postgresql://USER@HOST/DATABASE; got "
            f"{url!r}; for a file write sqlite:///{url}."
        )
    if not url.startswith(("memory:", "sqlite:", "postgres")):
        raise InvalidParameterError(
            f"{option} must be sqlite:///FILE or postgresql://USER@HOST/DATABASE; got "
            f"one that begins with {url.partition(':')[0]!r}."
        )
    path = url.removeprefix(_SQLITE)
    if exists and path != url and not Path(path.partition("?")[0]).is_file():
        raise InvalidParameterError(
            f"{option} {url} does not exist: there is no file {path}."
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
