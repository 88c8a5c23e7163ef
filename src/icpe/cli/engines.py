"""Which engine runs the work of a command."""

import contextlib

from icpe.core.engine import AbstractEngine, spread_over
from icpe.core.errors import InvalidParameterError


def make_engine(
    name: str, address: str | None = None, *, cpus: float = 1.0, gpus: float = 0.0
) -> AbstractEngine | None:
    """The engine of this name; None stands for this process.

    Raises:
        InvalidParameterError: an address without an engine that has one, or nothing is
            left to run on.
        MissingExtraError: the engine's library is not installed.
    """
    check_address(name, address)
    if name == "local":
        return None
    if not (cpus > 0 or gpus > 0) or cpus < 0 or gpus < 0:
        raise InvalidParameterError(
            f"--cpus and --gpus must not be negative, nor both 0; got {cpus:g} and "
            f"{gpus:g}."
        )
    from icpe.integrations.cluster import RayEngine

    return RayEngine(address, cpus=cpus, gpus=gpus)


def check_address(name: str, address: str | None) -> None:
    """Complains about an address for work that is done here.

    Raises:
        InvalidParameterError: there is one.
    """
    if name == "local" and address is not None:
        raise InvalidParameterError(
            f"--address {address} is for --engine ray; add that, or leave it out."
        )


def spread(name: str, address: str | None) -> contextlib.AbstractContextManager[None]:
    """Lets the episodes of a command be played by the engine of this name."""
    engine = make_engine(name, address)
    return contextlib.nullcontext() if engine is None else spread_over(engine)
