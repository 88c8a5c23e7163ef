"""Every error a user can meet, under one root.

Each subclass also inherits the builtin a caller would expect, and its message is one
sentence: the argument, what was given, what is allowed, what to do.
"""

import difflib
from collections.abc import Iterable

# A session without the rest of icpe raises these as well, so they are written there.
from icpe.portable import ArtifactError as ArtifactError
from icpe.portable import IcpeError as IcpeError
from icpe.portable import InvalidOutcomeError as InvalidOutcomeError
from icpe.portable import InvalidParameterError as InvalidParameterError
from icpe.portable import MissingExtraError as MissingExtraError
from icpe.portable import OperatingPointError as OperatingPointError
from icpe.portable import SessionError as SessionError


class UnknownNameError(IcpeError, ValueError):
    """A family, explorer, field or zoo entry of that name does not exist."""


class UnsupportedError(IcpeError, ValueError):
    """Two valid things do not fit together, such as an explorer and a family."""


class DataError(IcpeError, RuntimeError):
    """A data set is missing or damaged; the message says what to put where."""


class CheckpointError(IcpeError, ValueError):
    """A checkpoint is damaged or belongs to another configuration."""


class TrainingDivergedError(IcpeError, ArithmeticError):
    """A loss became NaN or infinite; the last good checkpoint was kept."""


class WriteError(IcpeError, OSError):
    """A file could not be written, as on a full disk; what was there is unchanged."""


class InUseError(IcpeError, RuntimeError):
    """Another process writes the same output; the message says which, since when."""


class ConflictError(SessionError):
    """Somebody else has added to the session meanwhile; look again, then retry."""


class StorageError(IcpeError, OSError):
    """Sessions cannot be read or written now, as without disk space or database."""


class ConformanceError(IcpeError, AssertionError):
    """A family or explorer breaks its contract; the message says how."""


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A question to end a message with, empty if no known name is close."""
    close = difflib.get_close_matches(given, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def suggesting(complaint: str, given: str, known: Iterable[str], listing: str) -> str:
    """A message about a name that does not exist: the closest first, then the list.

    Args:
        complaint: what does not exist, without a period.
        given: the name.
        known: the names there are.
        listing: a sentence that names them, with a small first letter and a period.
    """
    close = difflib.get_close_matches(given, list(known), n=1)
    if not close:
        return f"{complaint}; {listing}"
    return f"{complaint}; did you mean {close[0]!r}? {listing[0].upper()}{listing[1:]}"
