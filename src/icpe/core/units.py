"""The user's own units: what a family's numbers are called where they are measured.

A pure part of a session: `Units` is what the user says, a `Reading` what a family makes
of it. With it what was measured becomes an outcome of the family, and nothing else in
a session knows about units.
"""

import dataclasses
import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from icpe.core.checks import check_positive
from icpe.core.errors import InvalidOutcomeError, InvalidParameterError
from icpe.core.spec import TaskSpec

_UPWARDS = 1e-5
"""Halves of the grid, which measured decimals may hit, are rounded up for certain."""


@dataclasses.dataclass(frozen=True)
class Units:
    """What the user's numbers mean.

    Attributes:
        unit: what they are counted in, such as "%" or "mm"; for people alone.
        noise: standard deviation of one answer about its mean; None if not known.
        matters: the smallest difference that matters.
        smaller_is_better: whether the best is the smallest, as with times.
    """

    unit: str = ""
    noise: float | None = None
    matters: float | None = None
    smaller_is_better: bool = False

    def __post_init__(self):
        if not isinstance(self.unit, str):
            raise InvalidParameterError(
                f"unit must be text, such as '%'; got {self.unit!r}."
            )
        if not isinstance(self.smaller_is_better, bool | np.bool_):
            raise InvalidParameterError(
                "smaller_is_better must be True or False; got "
                f"{self.smaller_is_better!r}."
            )
        object.__setattr__(self, "smaller_is_better", bool(self.smaller_is_better))
        for name in ("noise", "matters"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise InvalidParameterError(
                    f"{name} must be a number in the user's unit; got {value!r}."
                )
            check_positive(name, float(value))


@dataclasses.dataclass(frozen=True)
class Reading:
    """How numbers in the user's units become the outcomes of a family.

    They are taken relative to the first one, divided by `scale`, and put on a grid that
    is far finer than any noise, so that neither units nor a common offset, which
    computers round differently, leave a trace. Where smaller is better they are negated
    before that.

    Attributes:
        units: what the user said.
        scale: one unit of the family, in those of the user.
        first_outcome: what the family reveals at reset.
        number_of_things: how many the user's problem has, where that varies.
        grid: steps of the grid in one unit of the family.
    """

    units: Units
    scale: float
    first_outcome: tuple[float, ...]
    number_of_things: int
    grid: float

    def outcome(self, told: Any, first: Any = None) -> tuple[float, ...]:
        """The family's outcome of what was told.

        Args:
            told: the number that was measured, in the user's unit.
            first: the one that was told first; None if this is it.

        Raises:
            InvalidOutcomeError: it is not one finite number.
        """
        value = self.number(told)
        away = 0.0 if first is None else value - self.number(first)
        away = -away if self.units.smaller_is_better else away
        steps = math.floor(away / self.scale * self.grid + 0.5 + _UPWARDS)
        rest = (0.0,) * (len(self.first_outcome) - 1)
        return (steps / self.grid, *rest)

    def number(self, told: Any) -> float:
        """What was told, as one finite number.

        Raises:
            InvalidOutcomeError: it is something else.
        """
        unit = f" in {self.units.unit}" if self.units.unit else ""
        complaint = f"outcome must be one finite number{unit}; got {told!r}."
        try:
            read = np.asarray(told)
        except (TypeError, ValueError):
            raise InvalidOutcomeError(complaint) from None
        if read.dtype.kind not in "iuf" or read.size != 1 or read.ndim > 1:
            raise InvalidOutcomeError(complaint)
        value = float(read.reshape(()))
        if not math.isfinite(value):
            raise InvalidOutcomeError(complaint)
        return value


def with_names(spec: TaskSpec, names: Any) -> TaskSpec:
    """The spec with the user's names for its queries, and for what they are about.

    Fewer names than queries are those of the first ones.

    Raises:
        InvalidParameterError: they are not different words, there are too many of
            them, or hypotheses are something else than queries.
    """
    if names is None:
        return spec
    if not spec.asks_about_hypotheses:
        raise InvalidParameterError(
            "names are for families whose answer is one of the queries; leave them out."
        )
    words = tuple(names) if isinstance(names, Sequence | np.ndarray) else ()
    most = spec.num_queries
    good = not isinstance(names, str)
    good = good and all(isinstance(word, str) and word.strip() for word in words)
    if not (good and 2 <= len(words) <= most and len(set(words)) == len(words)):
        raise InvalidParameterError(
            f"names must be 2 to {most} different names, one for each setting; got "
            f"{names!r}."
        )
    others = [spec.query_name(number) for number in range(len(words), most)]
    if clash := set(words) & set(others):
        others = [f"({other})" if other in clash else other for other in others]
    every = (*words, *others)
    return dataclasses.replace(spec, query_names=every, hypothesis_names=every)
