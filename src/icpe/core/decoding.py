"""Text of files in the encodings that people have, with letters in one form."""

import re
import unicodedata
import warnings
from pathlib import Path

from icpe.core.errors import DataError

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_MOST_FOREIGN = 0.6
"""Share of letters beyond ASCII, in the words of a text that have any."""


def decoded(given: bytes, path: Path, *, remedy: str) -> str:
    """The content of a file as text: UTF-8 or UTF-16, or Windows-1252 with a warning.

    Args:
        given: the bytes of the file.
        path: what it is called in complaints.
        remedy: how such a file is saved so that it can be read, such as "save it as
            CSV UTF-8".

    Raises:
        DataError: it is in none of these encodings.
    """
    try:
        text = given.decode("utf-16" if given[:2] in _UTF_16 else "utf-8-sig")
        return composed(text)
    except UnicodeDecodeError:
        text = _windows_text(given)
    if text is None:
        raise DataError(f"{path} is not text in UTF-8; {remedy}.")
    warnings.warn(
        f"{path} is not text in UTF-8; it is read as Windows-1252, which Excel and "
        f"others write in Western Europe. If letters look wrong, {remedy}.",
        stacklevel=4,
    )
    return composed(text)


def composed(text: str) -> str:
    """The text with each letter and its accent as one character.

    Some programs write two, above all on a Mac, which look the same and are not equal.
    """
    return unicodedata.normalize("NFC", text)


def _windows_text(given: bytes) -> str | None:
    """Text in Windows-1252, None if it is probably something else.

    Nearly all bytes are letters in it. Words of Western Europe have some letters beyond
    ASCII; those of another code page, such as a Cyrillic one, have no others.
    """
    try:
        text = given.decode("cp1252")
    except UnicodeDecodeError:
        return None
    if any(it < " " and it not in "\t\r\n\f" for it in text):
        return None
    letters = "".join(it for it in re.findall(r"[^\W\d_]+", text) if not it.isascii())
    foreign = sum(not it.isascii() for it in letters)
    return text if foreign <= _MOST_FOREIGN * len(letters) else None
