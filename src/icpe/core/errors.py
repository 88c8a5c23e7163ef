"""Every error a user can meet, under one root.

Each subclass also inherits the builtin a caller would expect, and its message is one
sentence: the argument, what was given, what is allowed, what to do.
"""

from collections.abc import Iterable

# A session without the rest of icpe raises these as well, so they are written there.
from icpe.portable.errors import ArtifactError as ArtifactError
from icpe.portable.errors import IcpeError as IcpeError
from icpe.portable.errors import InvalidOutcomeError as InvalidOutcomeError
from icpe.portable.errors import InvalidParameterError as InvalidParameterError
from icpe.portable.errors import MissingExtraError as MissingExtraError
from icpe.portable.errors import OperatingPointError as OperatingPointError
from icpe.portable.errors import SessionError as SessionError
from icpe.portable.errors import UnsupportedError as UnsupportedError
from icpe.portable.errors import suggesting as suggesting


def missing_extra(needing: str, extra: str) -> MissingExtraError:
    """The error where a package of an extra is not installed.

    Args:
        needing: what needs which package, such as "Figures need matplotlib".
        extra: by which the package is installed.
    """
    return MissingExtraError(
        f"{needing}, of the extra {extra}; install it with pip install "
        f'"icpe[{extra}]", or in a clone of icpe with pip install ".[{extra}]".'
    )


def not_served(
    explorer: str,
    family: str,
    served: Iterable[str],
    others: Iterable[str],
    lacks: str = "",
) -> str:
    """A message about an explorer that cannot play a family.

    Args:
        explorer: its name.
        family: the family's name.
        served: the families that it serves.
        others: the explorers that serve the family.
        lacks: what the family lacks for it, where that is known.
    """
    cannot = f"Explorer {explorer!r} cannot serve family {family!r}"
    others = tuple(others)
    if not others:
        return (
            f"{cannot}, and no other baseline can: it gives neither an exact posterior "
            "nor the law of its arms. Add log_likelihood or exact_belief to its class "
            "for rules such as 'top-two' (for 'information-gain' exact_belief must be "
            "an AbstractPredictiveBelief), arms() for methods such as "
            "'track-and-stop', or train an explorer."
        )
    why = f": {lacks}" if lacks else f", only {', '.join(served)}"
    return (
        f"{cannot}{why}; the explorers that serve {family!r} are: {', '.join(others)}."
    )


class UnknownNameError(IcpeError, ValueError):
    """A family, explorer, field or zoo entry of that name does not exist."""


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
