"""Options that every command takes, anywhere among its words.

- `--debug` shows the traceback of an error (`icpe.cli.main` looks for it).
- `--data FOLDER` names the folder of data sets.
- `--import MODULE` imports a module, which registers families or explorers of its
  own; it may be given several times.

They are taken out, and take effect, before a command reads its own words.
"""

import importlib
import os
import sys
from collections.abc import Sequence

from icpe.core.errors import InvalidParameterError

_FLAG = "--debug"
_WITH_VALUE = ("--data", "--import")


def take_anywhere(words: Sequence[str]) -> list[str]:
    """Obeys these options, and gives the words without them.

    Raises:
        InvalidParameterError: a folder does not exist, or a module cannot be imported.
    """
    rest, taken = split_anywhere(words)
    # A module may look for data as soon as it is imported.
    for option, obey in (("--data", _use_folder), ("--import", import_module)):
        for name, value in taken:
            if name == option:
                obey(value)
    return rest


def split_anywhere(words: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The words without these options, and the options with their values.

    A value may follow as a word or behind `=`; one that is missing, at the end or
    before another option, is empty. What stood before and after an option never
    becomes one: a setting such as `--family.x` that had no value gets none.
    """
    rest: list[str] = []
    taken: list[tuple[str, str]] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        option, _, value = word.partition("=")
        if word != _FLAG and option not in _WITH_VALUE:
            rest.append(word)
            continue
        if word in _WITH_VALUE and queue and not queue[0].startswith("--"):
            value = queue.pop(0)
        taken.append((option, value))
        if rest:
            rest[-1] = _without_value(rest[-1])
    return rest, taken


def import_module(name: str) -> None:
    """Imports a module from the current folder, or an installed one.

    The folder stays on the module path, since a module may import its neighbors later.

    Raises:
        InvalidParameterError: there is no such module, or it raises an error.
    """
    if name.endswith(".py") or not all(map(str.isidentifier, name.split("."))):
        raise InvalidParameterError(
            "--import must be followed by the name of a module, such as mine for the "
            f"file mine.py in the current folder; got {name or 'nothing'}."
        )
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            raise InvalidParameterError(
                f"--import {name} finds no such module, neither in the current folder "
                f"{folder} nor installed; change to its folder, or install it."
            ) from error
        raise InvalidParameterError(
            f"--import {name} fails, since the module raises {type(error).__name__}: "
            f"{str(error).rstrip('.')}; mend it (--debug shows where)."
        ) from error


def _use_folder(folder: str) -> None:
    """Makes a folder known to those who look for data."""
    if not os.path.isdir(folder):
        raise InvalidParameterError(
            "--data must be followed by a folder that exists, such as one that holds "
            f"mnist/; got {folder or 'nothing'}."
        )
    os.environ["ICPE_DATA"] = folder


def _without_value(word: str) -> str:
    """A setting without a value, written so that the next word is not taken for it."""
    from icpe.cli.parsing import PREFIXES

    is_open = word.startswith(tuple(PREFIXES.values())) and "=" not in word
    return f"{word}=true" if is_open else word
