"""From words on the command line to the `Args` of a command."""

import contextlib
import dataclasses
import io
import re
from collections.abc import Sequence
from typing import TypeVar

import tyro

from icpe.core.errors import InvalidParameterError

Args = TypeVar("Args")

PREFIXES = {"settings": "--family.", "train_settings": "--train."}
"""Fields of a command's dataclass that collect unparsed settings, by their prefix."""
_BOX = re.compile(r"[│╭╮╰╯]|\x1b\[[0-9;]*m")
_MEANT = re.compile(r"Perhaps you meant:\s+(--\S+)")
_MISSING = re.compile(r"Missing from [^:]*:$")
_CHOICE = re.compile(r"invalid choice (.*) for argument '(.*)'. Expected .*\((.*)\)")
_VALUE_ERROR = re.compile(r"Error parsing (\S+?):? .*from \[(.*?)\]")


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
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            args = tyro.cli(
                args_type,
                args=words,
                prog=prog,
                config=(tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as stop:
        if not stop.code:
            return None
        raise InvalidParameterError(condense(complaint.getvalue(), prog)) from None
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


def condense(complaint: str, prog: str) -> str:
    """Turns tyro's boxed explanation into one sentence."""
    lines = [_BOX.sub("", line).strip() for line in complaint.splitlines()]
    body = []
    for line in lines[1:]:
        if body and (not line or line.startswith("─")):
            break
        body.append(line)
    text = " ".join(filter(None, body))
    if len(body) > 1 and _MISSING.match(body[0]):
        text = f"{body[1]} is missing"
    elif match := _CHOICE.search(text):
        choices = [it for it in re.findall(r"'(.*?)'", match[3]) if it != "None"]
        text = f"{match[1]} is not one of {', '.join(sorted(choices))}"
        if match[2].startswith("--"):
            text = f"{match[2]} {text}"
    elif match := _VALUE_ERROR.search(text):
        text = f"{match[1]} cannot be {match[2]}"
    elif match := _MEANT.search(" ".join(lines)):
        return f"{text}; did you mean {match[1]}? See {prog} --help."
    return f"{text.rstrip('.')}; see {prog} --help."
