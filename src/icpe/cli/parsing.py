"""From words on the command line to the `Args` of a command."""

import contextlib
import dataclasses
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import tyro

from icpe.cli.option_table import HELP, check_words, options_of
from icpe.core.errors import InvalidParameterError

Args = TypeVar("Args")

PREFIXES = {"settings": "--family.", "train_settings": "--train."}
"""Fields of a command's dataclass that collect unparsed settings, by their prefix."""
_CONFIG = (tyro.conf.FlagCreatePairsOff,)


def parse(args_type: type[Args], words: Sequence[str], *, prog: str) -> Args | None:
    """Fills a command's dataclass; None if help was asked for and printed.

    Words `--family.x VALUE` or `--family.x=VALUE` go unparsed into the field
    `settings`, since their types are known only once the family is; words
    `--train.x VALUE` go into `train_settings`.

    Raises:
        InvalidParameterError: the words do not fit, in one sentence.
    """
    fields = {field.name for field in dataclasses.fields(args_type)}  # pyright: ignore[reportArgumentType]
    collected = {}
    for field, prefix in PREFIXES.items():
        words, settings = split_settings(words, prefix)
        if field in fields:
            collected[field] = settings
        elif settings:
            raise InvalidParameterError(
                f"{prefix}{next(iter(settings))} has no meaning for {prog}; leave it "
                "out."
            )
    if any(word in HELP for word in words):
        with contextlib.suppress(SystemExit):
            tyro.cli(args_type, args=["--help"], prog=prog, config=_CONFIG)
        return None
    check_words(options_of(args_type), words, prog, _settings(collected))
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            args = tyro.cli(args_type, args=words, prog=prog, config=_CONFIG)
    except SystemExit:
        raise InvalidParameterError(
            f"The words {' '.join(words)!r} do not fit; see {prog} --help."
        ) from ValueError(told.getvalue())
    return dataclasses.replace(args, **collected)  # pyright: ignore[reportArgumentType]


def split_settings(
    words: Sequence[str], prefix: str = PREFIXES["settings"]
) -> tuple[list[str], dict[str, str]]:
    """Takes `--family.x VALUE` out of the words; hyphens in x become underscores.

    A setting without a value, at the end or before another option, is "true".
    """
    rest, settings = [], {}
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if not word.startswith(prefix):
            rest.append(word)
            continue
        name, equals, value = word.removeprefix(prefix).partition("=")
        if not equals:
            value = queue.pop(0) if queue and queue[0][:2] != "--" else "true"
        settings[name.replace("-", "_")] = value
    return rest, settings


def _settings(fields: Iterable[str]) -> Iterator[str]:
    """What `--family.x` and `--train.x` may set; looked up only where it is needed."""
    from icpe.cli import catalog
    from icpe.cli.data_files import SETTINGS

    for field in fields:
        if field == "settings":
            cards = [it for card in catalog.family_cards() for it in card["parameters"]]
            names = [it["name"] for it in cards]
            names += [it for settings in SETTINGS.values() for it in settings]
        else:
            names = [it["name"] for it in catalog.learner_settings("universal")]
        yield from (PREFIXES[field] + it.replace("_", "-") for it in names)
