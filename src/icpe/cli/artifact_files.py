"""From FILE on the command line to the file of a trained explorer.

FILE is a path, or the name of an explorer of the zoo. A word with a folder or with
the suffix of artifacts is a path, whatever the zoo has.
"""

import os
from pathlib import Path
from typing import Any

from icpe import zoo
from icpe.cli.similar_files import similar_file
from icpe.core.errors import (
    ArtifactError,
    InvalidParameterError,
    UnknownNameError,
    UnsupportedError,
    suggesting,
)
from icpe.core.files import check_writable


def file_named(word: str) -> Path | None:
    """The file that a word names, None if it names none; a path need not exist."""
    if word.endswith(zoo.SUFFIX) or os.sep in word:
        return Path(word)
    if word in zoo.names():
        return zoo.path(word)
    return Path(word) if Path(word).is_file() else None


def readable_file(word: str) -> Path:
    """The file that a word names.

    Raises:
        UnknownNameError: it is neither a file nor a name of the zoo.
    """
    path = file_named(word)
    if path is None:
        check_is_no_other(word)
        raise UnknownNameError(
            suggesting(
                f"{word!r} is not a file, and the zoo has no explorer of that name",
                word,
                zoo.names(),
                f"it has {', '.join(zoo.names())}.",
            )
        )
    _check_is_there(path)
    return path


def check_is_no_other(word: str, *, baselines: bool = True) -> None:
    """Complains about a word that is a folder, a family or a baseline.

    Args:
        word: what was given where a trained explorer was wanted.
        baselines: whether a baseline will not do either.

    Raises:
        UnknownNameError: it is.
    """
    from icpe.cli import catalog

    if Path(word).is_dir():
        raise UnknownNameError(f"{word!r} is a folder; name the file of an explorer.")
    meant = similar_file(Path(word), zoo.SUFFIX)
    if meant is not None and word not in catalog.baseline_names():
        raise UnknownNameError(f"There is no file {word}; did you mean {meant}?")
    if word in catalog.family_names():
        trained = [it for it in zoo.names() if zoo.card(it).family["name"] == word]
        has = f"the zoo has {', '.join(trained)} for it, and " if trained else ""
        raise UnknownNameError(
            f"{word!r} is a family, not an explorer; {has}icpe tasks {word} lists who "
            "plays it."
        )
    if baselines and word in catalog.baseline_names():
        raise UnknownNameError(
            f"{word!r} is a baseline and has no file; icpe baselines {word} describes "
            "it."
        )


def check_readable(path: Path) -> dict[str, Any]:
    """What the file of a trained explorer says about itself.

    Raises:
        ArtifactError: it is none that can be used.
    """
    from icpe.artifact.document import explained, read_card
    from icpe.core.files import check_plain

    _check_is_there(path)
    with explained(path):
        check_plain(path)
    return read_card(path)


def _check_is_there(path: Path) -> None:
    """Complains about a file that is not there where one has nearly its name."""
    meant = None if path.exists() else similar_file(path, zoo.SUFFIX)
    if meant is not None:
        raise ArtifactError(f"There is no file {path}; did you mean {meant}?")


def changeable_file(word: str) -> Path:
    """The file that a word names, for commands that write to it.

    Raises:
        UnknownNameError: it is neither a file nor a name of the zoo.
        UnsupportedError: it is an explorer of the zoo.
    """
    path = readable_file(word)
    if path.parent == zoo.folder():
        raise UnsupportedError(
            f"{word} is shipped with icpe and stays as it is; make a copy of your own "
            f"with icpe zoo {word} --out FILE."
        )
    return path


def check_out(out: Path, *, overwrite: bool, option: str = "--out") -> None:
    """Finds out before any work whether a trained explorer may be written to a file.

    Raises:
        InvalidParameterError: it cannot be written, or it is there already, perhaps
            with certificates and attempts at them, and is not to be replaced.
    """
    try:
        check_writable(out)
    except OSError as error:
        raise InvalidParameterError(
            f"{option} {out} cannot be written: {error}."
        ) from error
    if out.exists() and not overwrite:
        raise InvalidParameterError(
            f"{option} {out} exists; choose a new name, or add --overwrite to "
            "replace it."
        )
