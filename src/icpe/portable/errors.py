"""Errors of sessions, and how their messages help."""

import difflib
from collections.abc import Iterable


class IcpeError(Exception):
    """Root of all errors raised on purpose by icpe."""


class InvalidParameterError(IcpeError, ValueError):
    """A parameter has an impossible value."""


class UnsupportedError(IcpeError, ValueError):
    """Two valid things do not fit together, such as an explorer and a family."""


class MissingExtraError(IcpeError, ImportError):
    """An optional dependency is needed; the message names the extra to install."""


class ArtifactError(IcpeError, ValueError):
    """A file is not an artifact this version can read, or does not fit its use."""


class OperatingPointError(IcpeError, ValueError):
    """A price, budget or error probability that the explorer cannot serve."""


class SessionError(IcpeError, RuntimeError):
    """A call that the state of the session does not allow."""


class InvalidOutcomeError(SessionError, ValueError):
    """An outcome or query told to a session is malformed."""


_LONG_LIST = 160


def suggesting(
    complaint: str, given: str, known: Iterable[str], listing: str = ""
) -> str:
    """A message about a name that does not exist: the closest one, and the list.

    A long list is left out where there is a close name, which would drown in it.

    Args:
        complaint: what does not exist, without a period.
        given: the name.
        known: the names there are.
        listing: a sentence that names them, with a small first letter and a period.
    """
    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(given.casefold(), list(folded), n=1)
    if not close:
        return f"{complaint}; {listing}" if listing else f"{complaint}."
    meant = f"{complaint}; did you mean {folded[close[0]]!r}?"
    if not 0 < len(listing) <= _LONG_LIST:
        return meant
    return f"{meant} {listing[0].upper()}{listing[1:]}"
