"""Files that are never half written."""

import contextlib
import errno
import fcntl
import glob
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from icpe.core.errors import WriteError

_LONGEST_PREFIX = 200
"""Characters of a file's name in that of its temporary file, so that it is not too
long."""
_RANDOM, _SUFFIX = "????????", ".tmp"
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
in_flight: set[Path] = set()
"""Temporary files that this process is writing, for whoever ends it at once."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when all went well.

    It is flushed to the disk before it is renamed; on an error it is removed and
    what was at `path` stays. The mode of a file that is replaced is kept, and a
    symbolic link is written through. What writers that were killed have left beside
    `path` is removed.

    Raises:
        OSError: `path` is not to be written to; see `check_writable`.
        WriteError: writing failed, as on a full disk.
    """
    check_writable(path)
    target = Path(os.path.realpath(path))
    _remove_stale(target)
    with writing(path):
        temporary, handle = _new_temporary(target)
    in_flight.add(temporary)
    try:
        with writing(path):
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            _take_mode(target, temporary)
            temporary.replace(target)
            _sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)
        in_flight.discard(temporary)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what goes wrong while a file is written into one sentence."""
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(
            f"{path} could not be written: {reason}; what was there is as before; "
            f"{_REMEDIES.get(error.errno or 0, 'fix that')} and try again."
        ) from error


_REMEDIES = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room within your quota",
    errno.EFBIG: "allow larger files",
}


def _new_temporary(target: Path) -> tuple[Path, int]:
    """A temporary file, and a handle whose lock says that its writer is alive."""
    while True:
        handle, name = tempfile.mkstemp(
            prefix=_prefix(target), suffix=_SUFFIX, dir=target.parent
        )
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:  # else taken for a stale one just before
            return Path(name), handle
        os.close(handle)


def _remove_stale(target: Path) -> None:
    """Removes temporary files whose writers are gone."""
    pattern = glob.escape(_prefix(target)) + _RANDOM + _SUFFIX
    for path in target.parent.glob(pattern):
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(handle)


def _prefix(target: Path) -> str:
    return f".{target.name[:_LONGEST_PREFIX]}."


def _take_mode(target: Path, temporary: Path) -> None:
    """Gives the new file the mode and owner of the old one, or those of any new one."""
    try:
        old = target.stat()
    except FileNotFoundError:
        temporary.chmod(0o666 & ~_umask())
        return
    new = temporary.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with contextlib.suppress(PermissionError):
            os.chown(temporary, old.st_uid, old.st_gid)
    temporary.chmod(stat.S_IMODE(old.st_mode))


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_plain(path: Path) -> None:
    """Raises OSError unless what is at `path`, if anything, is a plain file."""
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(f"{path} is a folder, not a file")
    if kind != stat.S_IFREG:
        raise OSError(f"{path} is {_KINDS.get(kind, 'something else')}, not a file")


def check_writable(path: Path) -> None:
    """Raises OSError now if `path` could not be written later.

    A file without permission to write is refused, even where its folder would let it
    be replaced.
    """
    check_plain(path)
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder {folder} cannot be written to")
    if path.exists() and not (path.stat().st_mode & 0o222 and os.access(path, os.W_OK)):
        raise PermissionError(f"{path} is read-only")


def check_folder(folder: Path) -> None:
    """Makes a folder; raises OSError now if files could not be written to it later."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file, not a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"the folder cannot be made or written to ({error.strerror})"
        ) from error
