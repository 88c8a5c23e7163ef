"""From EXPLORER words on the command line to explorers and the family they play.

The one place that knows what an EXPLORER can be: the file of a trained explorer, the
name of one of the zoo, the name of a baseline, or an explorer that is built on one of
these, as in `i-dpt:FILE`. A word that is no path by its looks is looked for in the zoo
first, then among files, then among the baselines; see `icpe.cli.artifact_files`.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from icpe import zoo
from icpe.artifact import Artifact
from icpe.artifact.serving import Contender, check_numbers, serve
from icpe.cli.artifact_files import file_named
from icpe.cli.families import build_family, convert
from icpe.core.errors import (
    InvalidParameterError,
    UnknownNameError,
    did_you_mean,
)
from icpe.core.request import Request
from icpe.explorers import (
    AbstractExplorer,
    explorer_names,
    explorer_parameters,
    make_explorer,
)
from icpe.explorers.wrappers import WRAPPERS, wrap_explorer
from icpe.families import AbstractTaskFamily
from icpe.families.registry import family_names

_ERROR_PROB = ",error_prob="


@dataclasses.dataclass(frozen=True)
class Cast:
    """Explorers by the words that named them, and the family they are to play."""

    explorers: Mapping[str, Contender]
    family: AbstractTaskFamily


def resolve(
    words: Sequence[str], family_name: str | None, settings: Mapping[str, str]
) -> Cast:
    """Finds explorers and family.

    Args:
        words: files, names of the zoo, baselines as NAME or
            NAME:parameter=value,parameter=value, and WRAPPER:EXPLORER where EXPLORER
            is one of these.
        family_name: the family to play; that of the files if None.
        settings: its unparsed parameters.

    Raises:
        UnknownNameError: an explorer, family or parameter does not exist.
        UnsupportedError: an explorer cannot serve the family.
        ArtifactError: a file cannot be used.
        InvalidParameterError: nothing to run, or no family.
    """
    if not words:
        raise InvalidParameterError(
            "EXPLORER is missing; give the file of a trained one, or one or more of "
            f"{', '.join((*zoo.names(), *explorer_names()))}."
        )
    if len(set(words)) < len(words):
        raise InvalidParameterError(
            f"An explorer may be named only once; got {' '.join(words)}."
        )
    inner = {word: _inner(word) for word in words}
    paths = {word: file_named(inner[word]) for word in words}
    for word, path in paths.items():
        if path is None:
            _check_baseline(inner[word])
    files = {
        word: Artifact.load(path) for word, path in paths.items() if path is not None
    }
    family = _family(files, family_name, settings)
    for artifact in files.values():
        check_numbers(artifact.family.spec, family)
    explorers: dict[str, Contender] = {}
    for word in words:
        if word in files:
            explorers[word] = files[word]
        else:
            explorers[word] = _baseline(inner[word], family)
        if inner[word] != word:
            explorers[word] = _wrapped(word, explorers[word], family)
    return Cast(explorers, family)


def _inner(word: str) -> str:
    """The explorer inside `WRAPPER:EXPLORER`; the word itself where there is none."""
    name, _, inner = word.partition(":")
    if name not in WRAPPERS or Path(word).is_file():
        return word
    inner = inner.rpartition(_ERROR_PROB)[0] or inner
    if not inner:
        raise InvalidParameterError(
            f"Explorer {name!r} is built on another one; write {name}:FILE with the "
            f"file of a trained explorer, or {name}:NAME with one of the zoo or a "
            "baseline."
        )
    return inner


def _wrapped(
    word: str, contender: Contender, family: AbstractTaskFamily
) -> AbstractExplorer:
    """The explorer `WRAPPER:EXPLORER[,error_prob=P]`, EXPLORER already found."""
    name = word.partition(":")[0]
    point = None
    if WRAPPERS[name].explores:
        number = word.rpartition(_ERROR_PROB)[2] if _ERROR_PROB in word else "0.1"
        error_prob = convert(f"{name}:error_prob", number, float)
        request = Request(error_prob=error_prob)
        point = serve(contender, request, family).operating_point
    elif _ERROR_PROB in word:
        raise InvalidParameterError(
            f"{word} has error_prob, which {name!r} does not take; ask for it with "
            "--error-prob."
        )
    inner = contender.explorer if isinstance(contender, Artifact) else contender
    return wrap_explorer(name, inner, family, point)


def _family(
    files: Mapping[str, Artifact], name: str | None, settings: Mapping[str, str]
) -> AbstractTaskFamily:
    if name is not None:
        return build_family(name, settings)
    if settings:
        raise InvalidParameterError(
            f"--family.{next(iter(settings))} needs --family NAME, the family it "
            "belongs to."
        )
    for artifact in files.values():
        return artifact.family
    raise InvalidParameterError(
        "--family is missing; a baseline serves several families, so name one of "
        f"{', '.join(family_names())}."
    )


def _baseline(word: str, family: AbstractTaskFamily) -> AbstractExplorer:
    name, _, tail = word.partition(":")
    known = explorer_parameters(name)
    values = {}
    for assignment in filter(None, tail.split(",")):
        parameter, _, value = assignment.partition("=")
        parameter = parameter.replace("-", "_")
        values[parameter] = (
            convert(f"{name}:{parameter}", value, known[parameter].annotation)
            if parameter in known
            else value
        )
    return make_explorer(name, family, **values)


def _check_baseline(word: str) -> None:
    """Complains about a word that is neither a file nor a name."""
    name = word.partition(":")[0]
    if name in explorer_names():
        return
    names = (*zoo.names(), *explorer_names())
    raise UnknownNameError(
        f"There is no explorer {name!r}: it is no file, the zoo has "
        f"{', '.join(zoo.names())}, and the baselines are "
        f"{', '.join(explorer_names())}." + did_you_mean(name, names)
    )
