"""Options that every command takes, anywhere among its words.

- `--debug` shows the traceback of an error (`icpe.cli.main` looks for it).
- `--data FOLDER` names the folder of data sets.
- `--import MODULE` imports a module, which registers families or explorers of its
  own; it may be given several times. FILE.py and FILE.py:CLASS name a file, and a
  family in it that it need not register.

They are taken out, and take effect, before a command reads its own words.
"""

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from icpe.core.errors import InvalidParameterError

_FLAG = "--debug"
_WITH_VALUE = ("--data", "--import")
_FILE = re.compile(r"(.+\.py)(?::(\w+))?")


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


def names_file(word: str) -> bool:
    """Whether a word is FILE.py:CLASS, a family in a file."""
    match = _FILE.fullmatch(word)
    return match is not None and match[2] is not None


def check_family_file(word: str, option: str = "FAMILY") -> None:
    """Raises one sentence unless the file of FILE.py:CLASS is there.

    Raises:
        InvalidParameterError: it is not.
    """
    match = _FILE.fullmatch(word)
    assert match is not None
    _existing(match[1], f"{option} {word}")


def family_in_file(word: str, option: str = "FAMILY") -> type:
    """The family FILE.py:CLASS, registered by the name of its class if by no other.

    Raises:
        InvalidParameterError: there is no such file or class, or it is no family.
    """
    from icpe.core.errors import suggesting
    from icpe.core.family import AbstractTaskFamily
    from icpe.families.registry import is_registered, register

    match = _FILE.fullmatch(word)
    assert match is not None
    file, name = match.groups()
    module = _import_file(file, f"{option} {word}")
    families = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, AbstractTaskFamily)
    }
    found = families.get(name)
    if found is None:
        own = [key for key, it in families.items() if it.__module__ == module.__name__]
        raise InvalidParameterError(
            suggesting(
                f"{option} {word}: {file} has no family {name!r}, a subclass of "
                "icpe.AbstractTaskFamily",
                name,
                own,
                f"it has {', '.join(own)}." if own else "write one, or name its file.",
            )
        )
    if not is_registered(found):
        register(name, found)
    return found


def _import_file(file: str, said: str):
    """Runs a Python file as the module of its name, once."""
    path = _existing(file, said)
    folder, name = str(path.parent), path.stem
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    if known is not None or not name.isidentifier():
        raise InvalidParameterError(
            f"{said}: a module cannot be called {name!r}, since "
            f"{'another has that name' if known else 'that is no Python name'}; rename "
            "the file."
        )
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InvalidParameterError(
            f"{said} fails, since {file} raises {type(error).__name__}: "
            f"{str(error).rstrip('.')}; fix it (--debug shows where)."
        ) from error
    return module


def _existing(file: str, said: str) -> Path:
    path = Path(file).absolute()
    if not path.is_file():
        raise InvalidParameterError(
            f"{said}: there is no file {file}; `icpe new {file}` writes one to start "
            "from."
        )
    return path


def import_module(name: str) -> None:
    """Imports a module from the current folder, an installed one, or a file.

    The folder stays on the module path, since a module may import its neighbors later.

    Raises:
        InvalidParameterError: there is no such module, or it raises an error.
    """
    match = _FILE.fullmatch(name)
    if match is not None:
        if match[2] is None:
            _import_file(name, f"--import {name}")
        else:
            family_in_file(name, "--import")
        return
    if not all(map(str.isidentifier, name.split("."))):
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
            f"{str(error).rstrip('.')}; fix it (--debug shows where)."
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
