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
_SHORTEST_PART, _MOST_SUGGESTED = 3, 6
"""A part of a name, of that length or more, stands for the names that have it."""


def suggesting(
    complaint: str, given: str, known: Iterable[str], listing: str = ""
) -> str:
    """A message about a name that does not exist: what was meant, and the list.

    Few names that contain the given one are all suggested, else the closest one. A long
    list is left out then, since the suggestion would drown in it.

    Args:
        complaint: what does not exist, without a period.
        given: the name.
        known: the names there are.
        listing: a sentence that names them, with a small first letter and a period.
    """
    names = _names_meant(given.casefold(), {name.casefold(): name for name in known})
    if not names:
        return f"{complaint}; {listing}" if listing else f"{complaint}."
    *others, last = map(repr, names)
    all_of_them = f"{', '.join(others)} or {last}" if others else last
    meant = f"{complaint}; did you mean {all_of_them}?"
    if not 0 < len(listing) <= _LONG_LIST:
        return meant
    return f"{meant} {listing[0].upper()}{listing[1:]}"


def _names_meant(given: str, known: dict[str, str]) -> list[str]:
    """The names that may have been meant."""
    containing = [name for name in known if given in name]
    if len(given) >= _SHORTEST_PART and 0 < len(containing) <= _MOST_SUGGESTED:
        return [known[name] for name in containing]
    return [known[name] for name in difflib.get_close_matches(given, list(known), n=1)]
