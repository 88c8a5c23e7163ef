"""Files in the Bayesian Interchange Format whose names are no identifiers.

pyAgrum refuses a state named `Asy/Patch`. So every name is replaced by a plain one
before it reads the file, and put back afterwards.
"""

import dataclasses
import math
import re
from pathlib import Path

from icpe.core.decoding import composed
from icpe.core.errors import DataError, suggesting

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = r'"[^"]*"|[^\s(){}\[\]|,;"]+'
_LIST = r'(?:"[^"]*"|[^)"])*'
"""What stands between parentheses; names in quotes may have some themselves."""
_VARIABLE = re.compile(
    rf"variable\s+({_WORD})\s*\{{[^{{}}]*?type\s+discrete\s*\[([^\]]*)\]\s*"
    r'\{((?:"[^"]*"|[^}"])*)\}\s*;.*?\}',
    re.DOTALL,
)
_PROBABILITY = re.compile(
    rf'probability\s*\(({_LIST})\)\s*\{{((?:"[^"]*"|[^}}"])*)\}}', re.DOTALL
)
_ROW = re.compile(rf"\(({_LIST})\)([^;]*);|(table|default)([^;]*);", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class PlainNames:
    """The names behind the plain ones; those of a file without plain ones are its own.

    Attributes:
        variables: the name behind each plain name of a variable.
        labels: the states of each variable, by its plain name.
    """

    variables: dict[str, str] = dataclasses.field(default_factory=dict)
    labels: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def variable(self, name: str) -> str:
        """The name of a variable."""
        return self.variables.get(name, composed(name))

    def states(self, name: str, labels: list[str]) -> tuple[str, ...]:
        """The names of the states of a variable, in the order of its labels."""
        if name not in self.labels:
            return tuple(map(composed, labels))
        return tuple(
            self.labels[name][int(label.removeprefix("s"))] for label in labels
        )


def with_plain_names(copy: Path, said: str) -> PlainNames:
    """Rewrites a file with plain names, if it looks as expected, and tells the others.

    Args:
        copy: a file in UTF-8 that may be changed.
        said: what it is called in complaints.

    Raises:
        DataError: a variable or a state is not defined, or is defined twice.
    """
    text = _COMMENT.sub("", copy.read_text(encoding="utf-8"))
    found = _VARIABLE.findall(text)
    if not found:
        return PlainNames()
    names = [_bare(name) for name, _, _ in found]
    states = {
        name: _words(words) for name, (_, _, words) in zip(names, found, strict=True)
    }
    for name, (_, number, _) in zip(names, found, strict=True):
        if number.strip() != str(len(states[name])):
            raise DataError(
                f"{said}: variable {name!r} is to have {number.strip()} states, but "
                f"{len(states[name])} are named: {', '.join(states[name])}."
            )
    for name in names:
        twice = [it for it in states[name] if states[name].count(it) > 1]
        if names.count(name) > 1 or twice:
            what = f"state {twice[0]!r} of variable {name!r}" if twice else repr(name)
            raise DataError(f"{said} defines {what} twice; keep one of them.")
    plain = {name: f"v{i}" for i, name in enumerate(names)}
    lines = ["network unknown {", "}"]
    for name in names:
        labels = ", ".join(f"s{i}" for i in range(len(states[name])))
        lines += [
            f"variable {plain[name]} {{",
            f"  type discrete [ {len(states[name])} ] {{ {labels} }};",
            "}",
        ]
    for header, body in _PROBABILITY.findall(text):
        lines += _probability(header, body, plain, states, said)
    copy.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return PlainNames(
        {plain[name]: name for name in names},
        {plain[name]: tuple(states[name]) for name in names},
    )


def _probability(header: str, body: str, plain, states, said: str) -> list[str]:
    child, _, rest = header.partition("|")
    (child,), parents = _words(child), _words(rest)
    for name in (child, *parents):
        if name not in plain:
            raise DataError(
                suggesting(
                    f"{said} has probabilities of {child!r} given {name!r}, which is "
                    "no variable of it",
                    name,
                    plain,
                )
            )
    given = f" | {', '.join(plain[it] for it in parents)}" if parents else ""
    lines = [f"probability ( {plain[child]}{given} ) {{"]
    size = len(states[child])
    every = size * math.prod(len(states[parent]) for parent in parents)
    for row in _ROW.finditer(body):
        if row[3]:
            number = every if row[3] == "table" else size
            numbers = _numbers(row[4], number, child, said)
            lines.append(f"  {row[3]} {numbers};")
            continue
        labels = []
        for parent, state in zip(parents, _words(row[1]), strict=False):
            if state not in states[parent]:
                raise DataError(
                    suggesting(
                        f"{said} has probabilities of {child!r} where {parent!r} is "
                        f"{state!r}",
                        state,
                        states[parent],
                        f"its states are {', '.join(states[parent])}.",
                    )
                )
            labels.append(f"s{states[parent].index(state)}")
        if len(labels) != len(parents):
            raise DataError(
                f"{said} has probabilities of {child!r} for {row[1].strip()}; there "
                f"must be a state for each of its parents {', '.join(parents)}."
            )
        numbers = _numbers(row[2], size, child, said)
        lines.append(f"  ({', '.join(labels)}) {numbers};")
    return [*lines, "}"]


def _numbers(text: str, number: int, child: str, said: str) -> str:
    """So many probabilities, with commas between."""
    words = text.replace(",", " ").split()
    try:
        chances = [float(word) for word in words]
    except ValueError:
        chances = []
    if len(chances) != number:
        raise DataError(
            f"{said} has {' '.join(text.split())!r} as probabilities of {child!r}; "
            f"there must be {number} numbers."
        )
    return ", ".join(words)


def _words(text: str) -> list[str]:
    return [_bare(word) for word in re.findall(_WORD, text)]


def _bare(word: str) -> str:
    return word.strip().strip('"')
