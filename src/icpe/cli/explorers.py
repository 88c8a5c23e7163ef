"""From EXPLORER words on the command line to explorers and the family they play.

The one place that knows what an EXPLORER can be: the file of a trained explorer, the
name of one of the zoo, the name of a baseline, or an explorer that is built on one of
these, as in `i-dpt:FILE`. A word that is no path by its looks is looked for in the zoo
first, then among files, then among the baselines; see `icpe.cli.artifact_files`.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icpe import zoo
from icpe.cli import catalog
from icpe.cli.artifact_files import check_is_no_other, check_readable, file_named
from icpe.cli.families import (
    build_family,
    changed_family,
    check_family,
    known_name,
)
from icpe.cli.options import Source, as_options
from icpe.cli.served import check_request
from icpe.cli.values import convert, described_type
from icpe.core.errors import (
    InvalidParameterError,
    UnknownNameError,
    UnsupportedError,
    suggesting,
)
from icpe.core.goals import Request

if TYPE_CHECKING:
    from icpe.artifact import Artifact
    from icpe.artifact.serving import Contender
    from icpe.explorers import AbstractExplorer
    from icpe.families import AbstractTaskFamily
else:  # these need jax
    Artifact = Contender = AbstractExplorer = AbstractTaskFamily = Any

_ERROR_PROB = ",error_prob="


@dataclasses.dataclass(frozen=True)
class Cast:
    """Explorers by the words that named them, and the family they are to play.

    `files` are those that the explorers were read from.
    """

    explorers: Mapping[str, Contender]
    family: AbstractTaskFamily
    files: Sequence[Path] = ()


def resolve(
    words: Sequence[str],
    family_name: str | None,
    settings: Mapping[str, str],
    source: Source | None = None,
) -> Cast:
    """Finds explorers and family.

    Args:
        words: files, names of the zoo, baselines as NAME or
            NAME:parameter=value,parameter=value, and WRAPPER:EXPLORER where EXPLORER
            is one of these.
        family_name: the family to play; that of the first file if None.
        settings: its unparsed parameters; those left out are the file's where the
            family is.
        source: data that make the family, in place of its name.

    Raises:
        UnknownNameError: an explorer, family or parameter does not exist.
        UnsupportedError: an explorer cannot serve the family.
        ArtifactError: a file cannot be used.
        InvalidParameterError: nothing to run, or no family.
    """
    if family_name is not None:
        family_name = known_name(family_name)  # files may be about it
    check_words(words, family_name, settings, source)
    from icpe.artifact.artifact import Artifact

    inner = {word: _inner(word) for word in words}
    paths = {word: file_named(inner[word]) for word in words}
    files = {
        word: Artifact.load(path) for word, path in paths.items() if path is not None
    }
    family = _family(files, family_name, settings, source)
    for word, artifact in files.items():
        _check_plays(word, artifact, family, files, family_name)
    explorers: dict[str, Contender] = {}
    for word in words:
        if word in files:
            explorers[word] = files[word]
        else:
            explorers[word] = _baseline(inner[word], family)
        if inner[word] != word:
            explorers[word] = _wrapped(word, explorers[word], family)
    read = tuple(path for path in paths.values() if path is not None)
    return Cast(explorers, family, read)


def _check_plays(
    word: str,
    artifact: Artifact,
    family: AbstractTaskFamily,
    files: Mapping[str, Artifact],
    named: str | None,
) -> None:
    """Complains, with the names of both, about a file for a family of other sizes."""
    from icpe.artifact.serving import check_numbers
    from icpe.families.registry import describe

    first = next(iter(files))
    with_as_many = _with_as_many_arms(artifact.family, family)
    others = files[first].family is family and first != word
    try:
        check_numbers(artifact.family.spec, family)
    except UnsupportedError as error:
        if with_as_many:
            raise UnsupportedError(
                f"{word} was made for {describe(artifact.family)} and cannot play "
                f"{describe(family)}, whose outcomes do not say how many arms there "
                f"are; write {with_as_many}, and its other parameters stay as they "
                "are in the file."
            ) from error
        if not others and named and type(family) is type(artifact.family):
            raise UnsupportedError(
                f"{str(error).rstrip('.')}, or leave --family {named} out, and what "
                "you do not set by --family.x is as in the file."
            ) from error
        if not others:
            raise
        raise UnsupportedError(
            f"{first} was made for {describe(family)}, and {word} for "
            f"{describe(artifact.family)}, which has other sizes; name explorers that "
            "were made for one family."
        ) from error


def _with_as_many_arms(made_for: AbstractTaskFamily, family: AbstractTaskFamily) -> str:
    """How to ask a file that serves several numbers of arms for that of a family.

    Empty where it does not, or the family is of another kind.
    """
    from icpe.families.bandit.varying import ArmNumbers, numbers_of_arms
    from icpe.families.registry import family_name

    if type(family) is not type(made_for) or not isinstance(family, ArmNumbers):
        return ""
    assert isinstance(made_for, ArmNumbers)
    number = numbers_of_arms(family)
    if not made_for.vary_arms or family.vary_arms:
        return ""
    if number[0] not in numbers_of_arms(made_for):
        return ""
    return (
        f"--family.fewest-arms {number[0]} --family.most-arms {number[0]} in place of "
        f"--family {family_name(family)} and its parameters"
    )


def check_words(
    words: Sequence[str],
    family_name: str | None,
    settings: Mapping[str, str],
    source: Source | None = None,
    request: Request | None = None,
    *,
    usual: bool = False,
) -> None:
    """Complains about what can be seen before anything is loaded; see `resolve`.

    With a request also about those who cannot serve it; see `check_request`.
    """
    if not words:
        raise InvalidParameterError(
            "EXPLORER is missing; give the file of a trained one, or a name that "
            "`icpe zoo` or `icpe baselines` lists."
        )
    if len(set(words)) < len(words):
        raise InvalidParameterError(
            f"An explorer may be named only once; got {' '.join(words)}."
        )
    files = []
    own_family = ""
    for word in words:
        inner = _inner(word)
        path = file_named(inner)
        if path is None:
            _check_baseline(inner)
        else:
            document = check_readable(path)
            if request is not None:
                wrapped = inner != word  # and stopped by another rule than its table
                with as_options():
                    check_request(document, request, usual=usual or wrapped)
            files.append(path)
            own_family = own_family or document["family"]["name"]
    if source is not None and source.is_given:
        check_family(family_name or "", settings, source)
        return
    if family_name is not None:
        check_family(family_name, settings)
        if not settings:  # which may change who serves it
            for word in map(_inner, words):
                if file_named(word) is None:
                    catalog.check_serves(word.partition(":")[0], family_name)
    elif settings and own_family in catalog.family_names():
        check_family(own_family, settings)
    elif settings:
        raise InvalidParameterError(
            f"--family.{next(iter(settings))} needs --family NAME, the family it "
            "belongs to."
        )
    elif not files:
        raise InvalidParameterError(
            f"--family is missing; a baseline serves several families, so name one of "
            f"them: `icpe baselines {_inner(words[0]).partition(':')[0]}` lists those "
            "it serves."
        )


def _inner(word: str) -> str:
    """The explorer inside `WRAPPER:EXPLORER`; the word itself where there is none."""
    name, _, inner = word.partition(":")
    if name not in catalog.wrapper_names() or Path(word).is_file():
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
    from icpe.artifact.artifact import Artifact
    from icpe.artifact.serving import serve
    from icpe.explorers.wrappers import WRAPPERS, wrap_explorer

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
    files: Mapping[str, Artifact],
    name: str | None,
    settings: Mapping[str, str],
    source: Source | None,
) -> AbstractTaskFamily:
    if name is not None or (source is not None and source.is_given):
        return build_family(name or "", settings, source)
    family = next(iter(files.values())).family
    return changed_family(family, settings) if settings else family


def _baseline(word: str, family: AbstractTaskFamily) -> AbstractExplorer:
    from icpe.explorers import explorer_parameters, make_explorer

    name, _, tail = word.partition(":")
    known = explorer_parameters(name)
    values = {
        parameter: convert(f"{name}:{parameter}", value, known[parameter].annotation)
        for parameter, value in _assignments(tail)
    }
    return make_explorer(name, family, **values)


def _assignments(tail: str) -> list[tuple[str, str]]:
    """What is set behind the name of a baseline."""
    pairs = (it.partition("=") for it in filter(None, tail.split(",")))
    return [(name.replace("-", "_"), value) for name, _, value in pairs]


def _check_baseline(word: str) -> None:
    """Complains about a word that is neither a file nor a name, and its parameters."""
    name, _, tail = word.partition(":")
    baselines = catalog.baseline_names()
    if name not in baselines:
        check_is_no_other(name, baselines=False)
        raise UnknownNameError(
            suggesting(
                f"There is no explorer {name!r}: it is not a file, not in the "
                "zoo, and not a baseline",
                name,
                (*zoo.names(), *baselines),
                f"the zoo has {', '.join(zoo.names())}, and the baselines are "
                f"{', '.join(baselines)}.",
            )
        )
    known = {it["name"]: it for it in catalog.explorer_parameters(name)}
    for parameter, value in _assignments(tail):
        if parameter not in known:
            raise UnknownNameError(
                suggesting(
                    f"Explorer {name!r} has no parameter {parameter!r}",
                    parameter,
                    known,
                    f"it has {', '.join(known) or 'none'}.",
                )
            )
        described = described_type(known[parameter]["type"])
        convert(f"{name}:{parameter}", value, described)
