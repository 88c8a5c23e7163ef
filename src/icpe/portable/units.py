"""The user's own units: what a family's numbers are called where they are measured.

`Units` is what the user says, a `Reading` what a family makes of it. With it what was
measured becomes an outcome of the family, and nothing else in a session knows about
units.
"""

import dataclasses
import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from icpe.portable.decimals import as_in_column
from icpe.portable.errors import (
    InvalidOutcomeError,
    InvalidParameterError,
    UnsupportedError,
)
from icpe.portable.noise import as_noise, is_strange, resolution, scatter
from icpe.portable.numbers import without_unit
from icpe.portable.reading import as_array

_UPWARDS = 1e-5
"""Halves of the grid, which measured decimals may hit, are rounded up for certain."""


@dataclasses.dataclass(frozen=True)
class Units:
    """What the user's numbers mean.

    Attributes:
        unit: what they are counted in, such as "%" or "mm"; for people alone.
        noise: standard deviation of one answer about its mean; None if not known.
        matters: the smallest difference that matters; it must be given.
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
        if self.matters is None:
            raise InvalidParameterError(
                "matters is missing from units; give the smallest difference that "
                "matters to you, in your unit."
            )
        for name in ("noise", "matters"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise InvalidParameterError(
                    f"{name} must be a number in the user's unit; got {value!r}."
                )
            if not 0.0 < float(value) < math.inf:
                raise InvalidParameterError(
                    f"{name} must be a positive finite number; got {float(value)}."
                )

    @property
    def sentence(self) -> str:
        """All of it in words, such as "in ms, smaller is better, noise 12 ms"."""
        noise = "not known" if self.noise is None else self.number(self.noise)
        return ", ".join(
            [
                *([f"in {self.unit}"] if self.unit else []),
                f"{'smaller' if self.smaller_is_better else 'larger'} is better",
                f"noise {noise}",
                f"a difference of {self.number(self.matters or 0.0)} matters",
            ]
        )

    def number(self, value: float) -> str:
        """A number with its unit, for people."""
        return f"{value:.10g} {self.unit}".strip()


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
        noise: the least and the largest that there may be, in units of the family;
            the same where it was told.
    """

    units: Units
    scale: float
    first_outcome: tuple[float, ...]
    number_of_things: int
    grid: float
    noise: tuple[float, float]

    @property
    def question(self) -> str:
        """What is asked, with `{query}` in the place of a name."""
        unit = f", in {self.units.unit}" if self.units.unit else ""
        return f"Try {{query}}: what is the outcome{unit}?"

    @property
    def known(self) -> str:
        """What is known from the start, in words."""
        return f"{self.number_of_things} settings, {self.units.sentence}"

    def measured(self, history: Sequence[Any]) -> "Measured":
        """The last of several answers, for sentences about it."""
        strange = self._strange_noise(history)
        return Measured(self, history[-1].told, history[0].told, strange)

    def _strange_noise(self, history: Sequence[Any]) -> str | None:
        """How repeats scatter, in words, if not as the noise that was told."""
        degrees, squares = scatter((it.query, float(it.outcome[0])) for it in history)
        rounded = resolution(it.told for it in history) / self.scale
        if not is_strange(degrees, squares, *self.noise, rounded):
            return None
        number, scale = self.units.number, self.scale
        found = number(float(f"{as_noise(degrees, squares) * scale:.2g}"))
        least, most = (float(f"{it * scale:.4g}") for it in self.noise)
        told = f"a noise of {number(self.units.noise or 0.0)} was told"
        if self.units.noise is None:
            told = f"a noise from {number(least)} to {number(most)} was assumed"
        return (
            f"repeats of the same setting scatter by {found}, where {told}; are the "
            "units and the noise right?"
        )

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
        """What was told, as one finite number; text as people type it, as in "71,3 %".

        Raises:
            InvalidOutcomeError: it is something else.
        """
        why = ""
        if isinstance(told, str):
            try:
                told = as_in_column(without_unit(told, self.units.unit))
            except ValueError as error:
                why = f": {error}"
        read = as_array(told)
        if read is not None and read.dtype.kind in "iuf" and read.size == 1:
            value = float(read.reshape(()))
            if read.ndim <= 1 and math.isfinite(value):
                return value
        unit = f" in {self.units.unit}" if self.units.unit else ""
        raise InvalidOutcomeError(
            f"outcome must be one finite number{unit}; got {told!r}{why}."
        )


@dataclasses.dataclass(frozen=True)
class Measured:
    """What was told, in the user's units, and what was told first.

    `strange` says how repeats scatter, if not as the noise that was told.
    """

    reading: Reading
    told: float
    first: float
    strange: str | None = None

    def __str__(self) -> str:
        return self.reading.units.number(self.told)

    def between(self, low: float, high: float) -> str:
        """A range of outcomes of the family, in the user's units.

        With as many digits as tell the ends of a narrow range far from 0 apart.
        """
        units, scale = self.reading.units, self.reading.scale
        away = -scale if units.smaller_is_better else scale
        ends = sorted(self.first + away * float(x) for x in (low, high))
        size, width = max(map(abs, ends)), ends[1] - ends[0]
        digits = 3
        if 0.0 < width < math.inf:
            apart = 3 + math.floor(math.log10(max(size / width, 1.0)))
            whole = math.floor(math.log10(max(size, 1.0))) + 1
            digits = max(min(apart, 15), min(whole, 6))
        shown = " to ".join(f"{end:.{digits}g}" for end in ends)
        return f"{shown} {units.unit}".strip()


@dataclasses.dataclass(frozen=True)
class AnyUnits:
    """What a family needs to know to be asked in any units of measurement.

    What matters is 1 in the family; the noise follows. Its first outcome tells a
    number of things and the noise, 0 if that is not known.

    Attributes:
        fewest: least number of things.
        most: largest number of things.
        least_noise: smallest noise, in units of what matters.
        most_noise: largest noise, in units of what matters.
        grid: steps of the grid in one unit of the family.
    """

    fewest: int
    most: int
    least_noise: float
    most_noise: float
    grid: float

    def reading(self, units: Units, number: int | None) -> Reading:
        """How a user's numbers become outcomes.

        Where the noise is smaller than any that the family has, a larger difference is
        the unit: whoever leads by `matters` leads by that many noises as well.

        Raises:
            InvalidParameterError: the family has no tasks with such units.
        """
        if number is None:
            raise InvalidParameterError(
                f"names is missing; give a name for each of your settings, "
                f"{self.fewest} to {self.most} of them."
            )
        if not self.fewest <= number <= self.most:
            raise InvalidParameterError(
                f"the number of settings must be between {self.fewest} and "
                f"{self.most}; got {number}."
            )
        assert units.matters is not None
        scale, noise = units.matters, 0.0
        possible = (self.least_noise, self.most_noise)
        if units.noise is not None:
            self._check_noise(units)
            scale = min(units.matters, units.noise / self.least_noise)
            noise = max(units.noise / scale, self.least_noise)
            noise = min(noise, self.most_noise)
            possible = (noise, noise)
        # On a grid of its own, so that all units of measurement give the same bits.
        told = round(noise * 2**16) / 2**16
        first = (0.0, float(number), told)
        return Reading(units, scale, first, number, self.grid, possible)

    def _check_noise(self, units: Units) -> None:
        assert units.noise is not None and units.matters is not None
        noise = units.noise / units.matters
        if noise > self.most_noise * (1 + 1e-9):
            repeats = math.ceil((noise / self.most_noise) ** 2)
            raise InvalidParameterError(
                f"noise must be at most {self.most_noise:g} times matters; got noise "
                f"{units.noise:g} and matters {units.matters:g}: tell the mean of "
                f"{repeats} repeats as one answer, whose noise is "
                f"{units.noise / math.sqrt(repeats):.3g}, or let a larger difference "
                "matter."
            )


def read_units(
    units: Any, names: Any, first_outcome: Any, known: Any, family: str
) -> Reading | None:
    """How outcomes in the user's units are read; None where units are the family's.

    There are as many things to ask about as names, or as a first outcome that is a
    whole number says.

    Args:
        units: what the user said of them.
        names: the user's names.
        first_outcome: what the user gave.
        known: the `AnyUnits` of the family, None if it knows its own alone.
        family: what the family is called.

    Raises:
        InvalidParameterError: units are none, or such that no task has them.
        UnsupportedError: the family knows one system of units alone.
        InvalidOutcomeError: a first outcome beside units and names.
    """
    if units is None:
        return None
    if not isinstance(units, Units):
        raise InvalidParameterError(
            'units must be such as icpe.Units("%", noise=1.5, matters=1.0); got '
            f"{units!r}."
        )
    number = None if names is None else len(names)
    if number is None and is_whole(first_outcome):
        number = int(first_outcome)
    elif first_outcome is not None:
        raise InvalidOutcomeError(
            "first_outcome follows from units and names; leave it out."
        )
    if known is None:
        raise UnsupportedError(
            f"units: {family} takes outcomes in its own units alone; "
            "leave units out, or use an explorer for any units, such as best-of-k."
        )
    return known.reading(units, number)


def with_words(spec: Any, names: Any, reading: Reading | None) -> Any:
    """The spec with the user's names, and questions in the user's units."""
    named = with_names(spec, names)
    if reading is None:
        return named
    return dataclasses.replace(named, question=reading.question)


def with_names(spec: Any, names: Any) -> Any:
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


def is_whole(value: Any) -> bool:
    """Whether it is a whole number; neither a truth value nor 2.0 is one."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
