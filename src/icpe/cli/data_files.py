"""Complaints about data of the user's own, before anything is loaded."""

from pathlib import Path

from icpe.cli.options import Source
from icpe.core.errors import DataError, InvalidParameterError

_NEEDS = {
    "target": "network",
    "queries": "network",
    "cuts": "items",
    "costs": "likelihoods",
}


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
                f"--{option} goes with --{needed} FILE; give that too."
            )
    if source.network is not None and source.target is None:
        check_data_file(source.network)
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
            check_data_file(path)


def check_data_file(path: Path) -> None:
    """Raises one sentence unless a file can be opened and has something in it.

    Raises:
        DataError: it cannot, or has not.
    """
    try:
        with path.open("rb") as file:
            first = file.read(1)
    except IsADirectoryError:
        raise DataError(f"{path} cannot be read: it is a folder.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    if not first:
        raise DataError(f"{path} is empty; give a file with data in it.")
