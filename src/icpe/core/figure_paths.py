"""Where figures may be written; checked before any work, and without matplotlib."""

from pathlib import Path

from icpe.core.errors import InvalidParameterError
from icpe.core.files import check_writable

SUFFIXES = (".svg", ".png", ".pdf")


def check_figure_path(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Raises one sentence unless a figure could be written there.

    Raises:
        InvalidParameterError: the suffix is another, or the file cannot be written.
    """
    if path.suffix.lower() not in suffixes:
        raise InvalidParameterError(
            f"A figure's file must end in {', '.join(suffixes)}; got {str(path)!r}."
        )
    if path.is_dir():
        raise InvalidParameterError(
            f"The figure cannot be written to {str(path)!r}, which is a folder; add "
            "a file name."
        )
    try:
        check_writable(path)
    except OSError as error:
        raise InvalidParameterError(
            f"The figure cannot be written to {str(path)!r} "
            f"({error.strerror or error}); choose another place."
        ) from error
