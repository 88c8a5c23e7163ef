"""The options of a command, read from its dataclass, and what is wrong with words.

tyro fills the dataclass and prints the help. Words that do not fit are found here,
before, so that each complaint is one sentence of ours.
"""

import dataclasses
import difflib
import re
import types
import typing
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import tyro

from icpe.cli.values import describe_type
from icpe.core.errors import InvalidParameterError
from icpe.zoo import SUFFIX

_POSITIONAL = typing.get_args(tyro.conf.Positional[int])[1]
_SUPPRESS = typing.get_args(tyro.conf.Suppress[int])[1]
HELP = ("-h", "--help")


@dataclasses.dataclass(frozen=True)
class Option:
    """One option or positional argument of a command.

    Attributes:
        name: such as `--error-prob`, or the metavar of a positional argument.
        kind: type of one value; None if there is no simple check of it.
        metavar: what stands for the value in the help.
        positional: whether it has no name on the command line.
        many: whether it takes several values, or may do so.
        flag: whether it takes none.
        required: whether it must be given.
    """

    name: str
    kind: Any
    metavar: str
    positional: bool
    many: bool
    flag: bool
    required: bool

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be, where there are few."""
        if typing.get_origin(self.kind) is not typing.Literal:
            return ()
        return tuple(map(str, typing.get_args(self.kind)))

    def check(self, word: str) -> None:
        """Raises one sentence unless the word can be a value."""
        if self.choices and word not in self.choices:
            if "|" in self.name:  # which is the list of them
                raise InvalidParameterError(
                    f"{word!r} must be one of {', '.join(self.choices)}"
                )
            raise InvalidParameterError(
                f"{self.name} must be one of {', '.join(self.choices)}; got {word!r}"
            )
        if self.kind in (int, float):
            try:
                self.kind(word)
            except ValueError:
                raise InvalidParameterError(
                    f"{self.name} must be {describe_type(self.kind)}; got {word!r}"
                    f"{self._rewritten(word)}"
                ) from None

    def _rewritten(self, word: str) -> str:
        """How a number that people write otherwise is written here, if it is one."""
        if self.kind is float and re.fullmatch(r"\d+([.,]\d+)? ?%", word):
            share = float(word.rstrip(" %").replace(",", ".")) / 100
            return f"; write {share:g}"
        if self.many and re.fullmatch(r"[-\d.]+(,[-\d.]+)+,?", word):
            return f"; write {' '.join(filter(None, word.split(',')))}"
        if self.kind is float and re.fullmatch(r"-?\d*,\d+", word):
            return f"; write {word.replace(',', '.')}"
        return ""


def options_of(args_type: type) -> list[Option]:
    """The options of a command; those of nested dataclasses stand beside them."""
    hints = typing.get_type_hints(args_type, include_extras=True)
    options = []
    for field in dataclasses.fields(typing.cast(Any, args_type)):
        plain, notes = _unwrapped(hints[field.name])
        if _SUPPRESS in notes:
            continue
        if dataclasses.is_dataclass(plain):
            options += options_of(typing.cast(type, plain))
            continue
        options.append(_option(field, plain, notes))
    return options


def _option(field: dataclasses.Field, plain: Any, notes: Sequence[Any]) -> Option:
    positional = _POSITIONAL in notes
    named = [name for note in notes if (name := getattr(note, "name", None))]
    metavars = [it for note in notes if (it := getattr(note, "metavar", None))]
    word = named[0] if named else field.name.replace("_", "-")
    kind, many = _one_value(plain)
    missing = dataclasses.MISSING
    metavar = metavars[0].split(" [")[0].strip("[]") if metavars else word.upper()
    return Option(
        name=metavar if positional else f"--{word}",
        kind=kind,
        metavar=metavar,
        positional=positional,
        many=many,
        flag=kind is bool and not positional,
        required=field.default is missing and field.default_factory is missing,
    )


def _unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its annotations, and these."""
    if typing.get_origin(hint) is not typing.Annotated:
        return hint, ()
    plain, *notes = typing.get_args(hint)
    inner, more = _unwrapped(plain)
    return inner, (*more, *notes)


def _one_value(plain: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there may be several."""
    if typing.get_origin(plain) in (typing.Union, types.UnionType):
        parts = [it for it in typing.get_args(plain) if it is not types.NoneType]
        return _one_value(parts[0]) if len(parts) == 1 else (None, True)
    if typing.get_origin(plain) is tuple:
        return typing.get_args(plain)[0], True
    simple = (int, float, bool, str, Path)
    literal = typing.get_origin(plain) is typing.Literal
    return (plain, False) if plain in simple or literal else (None, True)


def check_words(
    options: Sequence[Option],
    words: Sequence[str],
    prog: str,
    settings: Iterable[str] = (),
) -> None:
    """Raises one sentence unless the words fit the options of a command.

    Args:
        options: those of the command.
        words: what was typed.
        prog: the command, for its help.
        settings: what else the command takes, such as `--family.x`, to be suggested.

    Raises:
        InvalidParameterError: an option that does not exist, a value that is missing
            or of the wrong type, an argument that is missing or one too many.
    """
    try:
        given = set()
        positionals = [it for it in options if it.positional]
        for option, values in _grouped(options, words, settings):
            if option is None:
                given |= _place(positionals, values, {it.name for it in options})
                continue
            given.add(option.name)
            for value in values:
                option.check(value)
        for option in options:
            if option.required and option.name not in given and not option.many:
                if "|" in option.name:
                    raise InvalidParameterError(
                        f"One of {', '.join(option.choices)} is missing"
                    )
                value = "" if option.positional else f" {option.metavar}"
                raise InvalidParameterError(f"{option.name}{value} is missing")
    except InvalidParameterError as error:
        ends = str(error).endswith("?")
        see = f" See {prog} --help." if ends else f"; see {prog} --help."
        raise InvalidParameterError(f"{error}{see}") from None


def _place(
    positionals: Sequence[Option], values: Sequence[str], known: Collection[str]
) -> set[str]:
    """Checks words without a name, one after the other; the names they fill."""
    names = set()
    for index, value in enumerate(values):
        if not positionals:
            said = f"{value!r} is one word too many"
            if value.endswith(SUFFIX) and "--models" in known:
                folder = Path(value).parent
                said += f"; give the folder of trained explorers by --models {folder}"
            raise InvalidParameterError(said)
        option = positionals[min(index, len(positionals) - 1)]
        if index >= len(positionals) and not option.many:
            raise InvalidParameterError(f"{value!r} is one word too many")
        option.check(value)
        names.add(option.name)
    return names


def _grouped(
    options: Sequence[Option], words: Sequence[str], settings: Iterable[str]
) -> Iterator[tuple[Option | None, list[str]]]:
    """Each option with its values, and at last all words without a name."""
    by_name = {it.name: it for it in options if not it.positional}
    queue, loose = list(words), []
    while queue:
        word = queue.pop(0)
        if not word.startswith("--"):
            if re.match(r"-[A-Za-z]", word):
                raise InvalidParameterError(f"There is no option {word}")
            loose.append(word)
            continue
        written, equals, value = word.partition("=")
        option = by_name.get(written.replace("_", "-"))
        if option is None:
            raise InvalidParameterError(_unknown(written, (*by_name, *settings)))
        values = [value] if equals else []
        if option.flag:
            if equals:
                raise InvalidParameterError(f"{written} takes no value; got {value!r}")
        elif not equals:
            while queue and not queue[0].startswith("--"):
                values.append(queue.pop(0))
                if not option.many:
                    break
            if not values:
                raise InvalidParameterError(
                    f"{written} lacks its value {option.metavar}"
                )
        yield option, values
    yield None, loose


_OTHER_WORDS = {
    "delta": "error-prob",
    "epochs": "num-iterations",
    "lr": "learning-rate",
    "output": "out",
}
"""What others call some of our options."""


def _unknown(written: str, known: Iterable[str]) -> str:
    """A complaint; suggests by the names behind the hyphens, which all have.

    A parameter of some family is suggested only by its own name.
    """
    by_end = {it.lstrip("-").rpartition(".")[2]: it for it in reversed([*known])}
    end = written.lstrip("-").replace("_", "-")
    end = _OTHER_WORDS.get(end, end)
    names = [it for it in by_end if not by_end[it].startswith("--family.")]
    meant = [end] if end in by_end else []
    meant += difflib.get_close_matches(end, names, n=1, cutoff=0.7)
    meant += [it for it in names if len(end) > 2 and it.startswith(end)]
    did = f"; did you mean {by_end[meant[0]]}?" if meant else ""
    return f"There is no option {written}{did}"
