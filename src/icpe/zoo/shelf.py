"""Where the shipped explorers lie, and how they are found by name."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from icpe.core.errors import UnknownNameError, suggesting

if TYPE_CHECKING:
    from icpe.artifact import Artifact
else:
    Artifact = Any  # which needs jax

SUFFIX = ".safetensors"


def folder() -> Path:
    """The folder of the shipped files, one `NAME.safetensors` each."""
    return Path(__file__).parent / "files"


def names() -> tuple[str, ...]:
    """The names of the shipped explorers, sorted."""
    return tuple(sorted(file.stem for file in folder().glob(f"*{SUFFIX}")))


def path(name: str) -> Path:
    """The file of a shipped explorer, which is not to be changed.

    Raises:
        UnknownNameError: there is none of that name; the message lists them.
    """
    known = names()
    if name not in known:
        raise UnknownNameError(
            suggesting(
                f"The zoo has no explorer {name!r}",
                name,
                known,
                f"it has {', '.join(known)}.",
            )
        )
    return folder() / f"{name}{SUFFIX}"


def load(name: str) -> Artifact:
    """A shipped explorer.

    Raises:
        UnknownNameError: there is none of that name; the message lists them.
    """
    from icpe.artifact.artifact import Artifact

    return Artifact.load(path(name))
