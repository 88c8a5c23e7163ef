"""Standard streams that any terminal, pipe or file can take.

Characters that an encoding lacks get plain ones in their place. Streams that are
closed lead nowhere, so that no file that is opened later takes their place.
"""

import codecs
import contextlib
import os
import sys

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
