"""The command as it was typed, for advice on how to go on."""

import shlex
from collections.abc import Sequence

_words: list[str] = []


def remember(words: Sequence[str]) -> None:
    """Keeps the words after `icpe`."""
    _words[:] = words


def again_with(option: str) -> str:
    """The same command with one option more, to be typed again."""
    more = [] if option in _words else [option]
    return shlex.join(["icpe", *_words, *more])
