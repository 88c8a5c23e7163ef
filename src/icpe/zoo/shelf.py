"""Where the shipped explorers lie, and how they are found by name."""

import difflib
from pathlib import Path

from icpe.artifact import Artifact
from icpe.exceptions import UnknownNameError

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
        close = difflib.get_close_matches(name, known, n=1)
        raise UnknownNameError(
            f"The zoo has no explorer {name!r}; it has {', '.join(known)}."
            + (f" Did you mean {close[0]!r}?" if close else "")
        )
    return folder() / f"{name}{SUFFIX}"


def load(name: str) -> Artifact:
    """A shipped explorer.

    Raises:
        UnknownNameError: there is none of that name; the message lists them.
    """
    return Artifact.load(path(name))
