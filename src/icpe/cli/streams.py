"""Standard streams that any terminal, pipe or file can take.

Characters that an encoding lacks get plain ones in their place. Streams that are
closed lead nowhere, so that no file that is opened later takes their place.
"""

import codecs
import contextlib
import os
import sys
from typing import Any

_PLAIN = {
    **dict.fromkeys("█▉▊▋", "#"),
    **dict.fromkeys("▌▍▎▏", "|"),
    **dict.fromkeys("▁▂▃", "_"),
    **dict.fromkeys("▄▅▆", "="),
    **dict.fromkeys("▇", "#"),
    **dict.fromkeys("─━╌–—", "-"),
    **dict.fromkeys("│┃", "|"),
    "·": ".",
    "•": "*",
    "→": ">",
    "≥": ">=",
    "≤": "<=",
    "±": "+/-",
    "×": "x",
    "°": "deg",
    "…": "...",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
}
_NAME = "icpe-plain"


def prepare_streams() -> None:
    """Opens what is closed, and lets every character be written somehow."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    codecs.register_error(_NAME, _plain)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError):
            stream.reconfigure(errors=_NAME)  # pyright: ignore[reportAttributeAccessIssue]


_STYLES = {"heading": "1;32", "name": "1;36", "error": "1;31"}


def styled(text: str, style: str, stream: Any) -> str:
    """Text in the colors that people know, where the stream is a terminal with colors.

    Args:
        text: what is written.
        style: heading, name or error.
        stream: where it is written.
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not stream.isatty():
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that cannot be encoded."""
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c, "?") for c in missing), error.end


def forget_output() -> None:
    """Sends the rest of standard output nowhere."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
