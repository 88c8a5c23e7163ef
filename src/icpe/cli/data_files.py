"""Complaints about data of the user's own, before anything is loaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icpe.cli.options import Source
from icpe.cli.similar_files import similar_file
from icpe.cli.values import convert
from icpe.core.csv_text import holds_tensors, read_cells
from icpe.core.decoding import composed
from icpe.core.errors import (
    DataError,
    InvalidParameterError,
    UnknownNameError,
    suggesting,
)

_NEEDS = {
    "target": "network",
    "queries": "network",
    "cuts": "items",
    "bands": "items",
    "content_limits": "items",
    "costs": "likelihoods",
}
SETTINGS: dict[str, dict[str, type]] = {
    "likelihoods": {"once": bool, "horizon": int},
    "network": {"horizon": int},
    "items": {"max_items": int, "mean": float, "deviation": float},
}
"""What may be said by --family.x of a family from data."""
_CONTENT = ("content", "domain")
"""What the column of contents may be called."""


def check_source(source: Source) -> None:
    """Whether options go together, and whether their files can be opened.

    Raises:
        InvalidParameterError: options that do not go together, or one is missing.
        DataError: a file that cannot be read, or is empty.
    """
    kinds = ("likelihoods", "network", "items")
    given = [kind for kind in kinds if getattr(source, kind) is not None]
    if len(given) > 1:
        raise InvalidParameterError(
            f"--{given[0]} and --{given[1]} are two families; leave one out."
        )
    for option, needed in _NEEDS.items():
        stray = needed not in given and (option != "costs" or not given)
        if getattr(source, option) and stray:
            raise InvalidParameterError(
                f"--{option.replace('_', '-')} goes with --{needed} FILE; give that "
                "too."
            )
    if source.network is not None and source.target is None:
        check_data_file(source.network, "a network")
        from icpe.families.network.reading import variables_in_words

        raise InvalidParameterError(
            "--target is missing: the variable of the network whose state is the "
            f"answer; {variables_in_words(source.network)}"
        )
    if source.items is not None and not source.cuts:
        raise InvalidParameterError(
            "--cuts is missing: the abilities that divide the bands."
        )
    if list(source.cuts) != sorted(set(source.cuts)):
        given = " ".join(f"{cut:g}" for cut in source.cuts)
        raise InvalidParameterError(f"--cuts must rise; got {given}.")
    for path in (source.likelihoods, source.network, source.items, source.costs):
        if path is not None:
            check_data_file(path, "a network" if path == source.network else "a table")
    if source.items is not None:
        _check_bands(source)
        _check_contents(source.items, content_limits(source))


def read_settings(source: Source, settings: Mapping[str, str]) -> dict[str, Any]:
    """The values of `--family.x` for a family from data.

    Raises:
        UnknownNameError: a setting that such a family does not have.
        InvalidParameterError: a value of the wrong type.
    """
    kind = next(kind for kind in SETTINGS if getattr(source, kind) is not None)
    allowed = SETTINGS[kind]
    for name in settings:
        if name not in allowed:
            raise UnknownNameError(
                suggesting(
                    f"A family from --{kind} has no parameter {name!r} here",
                    name,
                    allowed,
                    f"it has {', '.join(allowed)}.",
                )
            )
    return {
        name: convert(f"--family.{name.replace('_', '-')}", word, allowed[name])
        for name, word in settings.items()
    }


def content_limits(source: Source) -> dict[str, int]:
    """Most items of each content, read from words such as `algebra=6`.

    Raises:
        InvalidParameterError: a word is written otherwise, or names a content twice.
    """
    limits: dict[str, int] = {}
    for word in map(composed, source.content_limits):
        content, equals, number = word.rpartition("=")
        if not equals or not content.strip() or not number.strip().isdecimal():
            raise InvalidParameterError(
                "--content-limits must be words such as algebra=6, a content and the "
                f"most items of it; got {word!r}."
            )
        if content.strip() in limits:
            raise InvalidParameterError(
                f"--content-limits names {content.strip()!r} twice; leave one out."
            )
        limits[content.strip()] = int(number)
    return limits


def _check_bands(source: Source) -> None:
    bands, number = source.bands, len(source.cuts) + 1
    if bands and len(bands) != number:
        raise InvalidParameterError(
            f"--bands must be {number} names, one more than there are cuts; got "
            f"{' '.join(bands)}."
        )
    if len(set(bands)) < len(bands):
        raise InvalidParameterError(
            f"--bands must have different names; got {' '.join(bands)}."
        )


def _check_contents(items: Path, limits: Mapping[str, int]) -> None:
    """Complains about limits of contents that no item of a bank has."""
    if not limits:
        return
    cells = read_cells(items, ("item",))
    titles = [title.strip().lower() for title in cells.header]
    column = next((titles.index(name) for name in _CONTENT if name in titles), None)
    if column is None:
        raise DataError(
            f"{items} has no column 'content', which --content-limits is about."
        )
    contents = dict.fromkeys(row[column] for row in cells.rows if row[column])
    for name in limits:
        if name not in contents:
            raise UnknownNameError(
                suggesting(
                    f"--content-limits names {name!r}, which no item of {items} is "
                    "about",
                    name,
                    contents,
                    f"their contents are {', '.join(contents)}.",
                )
            )


def check_data_file(path: Path, what: str = "a table") -> None:
    """Raises one sentence unless a file can be opened and may hold data.

    Args:
        path: the file.
        what: what is wanted, in complaints.

    Raises:
        DataError: it cannot be opened, is empty, or is a trained explorer.
    """
    try:
        with path.open("rb") as file:
            first = file.read(16)
    except IsADirectoryError:
        raise DataError(f"{path} cannot be read: it is a folder.") from None
    except OSError as error:
        meant = None if path.exists() else similar_file(path)
        if meant is not None:
            raise DataError(f"There is no file {path}; did you mean {meant}?") from None
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    if not first:
        raise DataError(f"{path} is empty; give a file with data in it.")
    if holds_tensors(first):
        raise DataError(
            f"{path} is an icpe file, not {what}: a trained explorer, which `icpe show "
            f"{path}` describes."
        )
