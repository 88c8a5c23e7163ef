"""Where the shipped explorers lie, and how they are found by name."""

from pathlib import Path

from icpe.artifact import Artifact
from icpe.core.errors import UnknownNameError, did_you_mean

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
            f"The zoo has no explorer {name!r}; it has {', '.join(known)}."
            + did_you_mean(name, known)
        )
    return folder() / f"{name}{SUFFIX}"


def load(name: str) -> Artifact:
    """A shipped explorer.

    Raises:
        UnknownNameError: there is none of that name; the message lists them.
    """
    return Artifact.load(path(name))
