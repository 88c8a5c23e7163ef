"""Options that several commands share."""

import contextlib
import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

Settings = Annotated[Mapping[str, str], tyro.conf.Suppress]
"""Unparsed settings such as `--family.x`; filled by `icpe.cli.parsing.parse`."""

FamilyName = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="NAME",
        help_behavior_hint="(set a parameter, for example --family.num-arms 6)",
    ),
]
Seed = Annotated[int, tyro.conf.arg(metavar="N")]


def check_seed(seed: int) -> None:
    """Raises one sentence unless the seed is a 32-bit unsigned number."""
    from icpe.core import checks

    checks.check_seed("--seed", seed)


def _optional(metavar: str) -> Any:
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


@dataclasses.dataclass(frozen=True)
class Where:
    """On this machine, or on a cluster."""

    engine: Annotated[Literal["local", "ray"], tyro.conf.arg(metavar="local|ray")] = (
        "local"
    )
    """Run here, or on a Ray cluster; results are the same, bit for bit."""
    address: Annotated[str | None, _optional("ADDRESS")] = None
    """With --engine ray: address of the cluster, or auto.
    A new one is started on this machine if left out."""


@dataclasses.dataclass(frozen=True)
class Together:
    """Run this command in several processes at once, on one machine or on many."""

    coordinator: Annotated[str | None, _optional("HOST:PORT")] = None
    """Where the processes meet: host of process 0, and a port that is free there."""
    num_processes: Annotated[int | None, _optional("N")] = None
    """With --coordinator: how many processes there are."""
    process_id: Annotated[int | None, _optional("I")] = None
    """With --coordinator: the number of this process; process 0 writes and prints."""
    join_seconds: Annotated[float, tyro.conf.arg(metavar="S")] = 120.0
    """With --coordinator: how long to wait for the other processes."""


@dataclasses.dataclass(frozen=True)
class Source:
    """Your own data instead of the name of a family."""

    likelihoods: Annotated[Path | None, _optional("FILE")] = None
    """CSV of hypothesis, query, outcome and probability."""
    network: Annotated[Path | None, _optional("FILE")] = None
    """A Bayesian network, such as net.bif."""
    target: Annotated[str | None, _optional("NAME")] = None
    """With --network: the variable whose state is the answer."""
    queries: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="NAME [NAME ...]", help_behavior_hint="")
    ] = ()
    """With --network: the variables that can be looked at; all others if left out."""
    items: Annotated[Path | None, _optional("FILE")] = None
    """CSV of test items: item, a, b or b1, b2, .., c."""
    cuts: Annotated[
        tuple[float, ...],
        tyro.conf.arg(metavar="CUT [CUT ...]", help_behavior_hint=""),
    ] = ()
    """With --items: the abilities that divide the bands."""
    bands: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="NAME [NAME ...]", help_behavior_hint="")
    ] = ()
    """With --items: names of the bands, from the lowest."""
    content_limits: Annotated[
        tuple[str, ...],
        tyro.conf.arg(metavar="CONTENT=N [CONTENT=N ...]", help_behavior_hint=""),
    ] = ()
    """With --items: most items of each content, as in algebra=6 geometry=4."""
    costs: Annotated[Path | None, _optional("FILE")] = None
    """With these: CSV of query and cost."""

    @property
    def is_given(self) -> bool:
        """Whether there are any data."""
        return any(value for value in dataclasses.asdict(self).values())

    @property
    def option(self) -> str:
        """The first option that was given."""
        values = dataclasses.asdict(self)
        name = next(name for name, value in values.items() if value)
        return f"--{name.replace('_', '-')} {values[name]}"


@dataclasses.dataclass(frozen=True)
class Goal:
    """What you want: one of --error-prob, --budget and --price."""

    error_prob: Annotated[float | None, _optional("P")] = None
    """Make few queries, and be wrong with probability at most P on average."""
    budget: Annotated[int | None, _optional("N")] = None
    """Make exactly N queries, whatever they cost, then answer."""
    price: Annotated[float | None, _optional("C")] = None
    """Maximize P(correct) - C * cost."""
    max_queries: Annotated[int | None, _optional("N")] = None
    """With --error-prob or --price: answer after N queries at the latest."""
    promise: Annotated[
        Literal["average", "belief", "every-hypothesis"],
        tyro.conf.arg(metavar="average|belief|every-hypothesis"),
    ] = "average"
    """With --error-prob: what P is about.
    All answers, only those it is sure of, or every hypothesis by itself."""

    def request(self, default_error_prob: float | None = None):
        """The `icpe.core.goals.Request`, with a default where no goal was given."""
        from icpe.core.checks import check_at_least
        from icpe.core.goals import Request

        for option in ("budget", "max_queries"):  # before the horizon is known
            number = getattr(self, option)
            if number is not None:
                check_at_least(f"--{option.replace('_', '-')}", number, 1)
        values = dataclasses.asdict(self)
        if (self.error_prob, self.budget, self.price) == (None, None, None):
            values["error_prob"] = default_error_prob
        with as_options():
            return Request(**values)


def check_error_prob(error_prob: float | None) -> None:
    """Raises one sentence unless --error-prob can be asked for, where it was given."""
    from icpe.core.goals import Request

    if error_prob is not None:
        with as_options():
            Request(error_prob=error_prob)


@contextlib.contextmanager
def as_options() -> Iterator[None]:
    """Says what is wrong with a request by options, not by the keywords of Python."""
    from icpe.core.errors import OperatingPointError

    try:
        yield
    except OperatingPointError as error:
        sentence = str(error)
        for field in dataclasses.fields(Goal):
            option = f"--{field.name.replace('_', '-')}"
            named = rf"(?<![\w.-]){field.name}"
            sentence = re.sub(rf"{named}=", f"{option} ", sentence)
            sentence = re.sub(rf"{named}(?![\w-])", option, sentence)
        raise OperatingPointError(_with_percent(sentence)) from error


def _with_percent(sentence: str) -> str:
    """What to write instead, where a probability was given in percent."""
    percent = re.search(r"--error-prob must .* got (\d+(?:\.\d+)?)\.$", sentence)
    if percent is None or not 1 < float(percent[1]) < 100:
        return sentence
    value = float(percent[1])
    return f"{sentence} For {value:g} % write {value / 100:g}."
