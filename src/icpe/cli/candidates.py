"""What may come next on a command line, for shells that complete words.

The scripts of `icpe completion` ask `icpe __complete WORD ..` with the words so far, of
which the last is unfinished and may be empty.
"""

import importlib
from collections.abc import Iterable, Sequence

from icpe import zoo
from icpe.cli import catalog
from icpe.cli.option_table import Option, options_of
from icpe.cli.parsing import PREFIXES

_ANYWHERE = ("--import", "--data", "--debug", "--help")
_FAMILY, _TRAIN = PREFIXES["settings"], PREFIXES["train_settings"]


def candidates(words: Sequence[str], commands: Iterable[str]) -> list[str]:
    """The words that can stand in the place of the last one, sorted."""
    *before, last = words or [""]
    if not before:
        return _beginning(last, commands)
    command = before[0]
    if command not in set(commands):
        return []
    args = importlib.import_module(f"icpe.cli.{command.replace('-', '_')}").Args
    options = options_of(args)
    if last.startswith(_FAMILY) or last.startswith(_TRAIN):
        return _beginning(last, _settings(before))
    if last.startswith("-"):
        names = [it.name for it in options if not it.positional]
        return _beginning(last, (*names, *_ANYWHERE, _FAMILY))
    return _beginning(last, _values(options, before))


def _values(options: Sequence[Option], before: Sequence[str]) -> Iterable[str]:
    """Values of the option that stands before, or of a positional argument."""
    named = {it.name: it for it in options if not it.positional}
    option = named.get(before[-1].replace("_", "-"))
    if option is not None and not option.flag:
        if option.name == "--family":
            return catalog.family_names()
        return option.choices
    command = before[0]
    for option in options:
        if not option.positional:
            continue
        if option.choices:
            return option.choices
        if option.metavar == "FAMILY" or command == "tasks":
            return catalog.family_names()
        if option.metavar == "EXPLORER":
            wrappers = (f"{it}:" for it in catalog.wrapper_names())
            return (*zoo.names(), *catalog.baseline_names(), *wrappers)
        if command == "baselines":
            return (*catalog.baseline_names(), *catalog.wrapper_names())
        if option.metavar == "FILE" or command == "zoo":
            return zoo.names()
    return ()


def _settings(before: Sequence[str]) -> Iterable[str]:
    """`--family.x` of the family that was named, and `--train.x` of the learner."""
    for name in before:
        if name in catalog.family_names():
            for parameter in catalog.family_card(name)["parameters"]:
                yield _FAMILY + parameter["name"].replace("_", "-")
    if before[0] == "train":
        learner = "paper" if "paper" in before else "universal"
        for setting in catalog.learner_settings(learner):
            yield _TRAIN + setting["name"].replace("_", "-")


def _beginning(start: str, words: Iterable[str]) -> list[str]:
    return sorted(word for word in words if word.startswith(start))
