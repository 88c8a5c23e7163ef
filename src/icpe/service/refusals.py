"""Which HTTP status tells a client what kind of error it is."""

from icpe.core.errors import (
    ConflictError,
    IcpeError,
    InvalidOutcomeError,
    SessionError,
    StorageError,
    UnknownNameError,
)


def status_of(error: IcpeError) -> int:
    """The HTTP status that tells a client what kind of error it is."""
    if isinstance(error, StorageError):
        return 503
    if isinstance(error, UnknownNameError):
        return 404
    if isinstance(error, ConflictError | SessionError):
        return 422 if isinstance(error, InvalidOutcomeError) else 409
    return 422
