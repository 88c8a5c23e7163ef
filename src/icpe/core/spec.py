"""The static description of a family: what an explorer needs to know about it."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, SupportsFloat

import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float

from icpe.core.checks import is_whole
from icpe.core.errors import InvalidParameterError

_ROLE = "role"


def _words(default: Any) -> Any:
    """A field for people; no number depends on it."""
    return dataclasses.field(default=default, metadata={_ROLE: "words"})


def _hint(default: Any) -> Any:
    """A field that helps networks or pictures; the law does not depend on it."""
    return dataclasses.field(default=default, metadata={_ROLE: "hint"})


def _protocol(default: Any) -> Any:
    """A field that says how episodes run; it follows from the law."""
    return dataclasses.field(default=default, metadata={_ROLE: "protocol"})


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """The static description of a family: all that is needed to build an explorer.

    Numbers of the law:

    Attributes:
        num_queries: number A of possible queries, numbered from 0.
        num_hypotheses: number H of possible answers, numbered from 0.
        outcome_size: length of the outcome vector.
        horizon: largest number of queries in an episode.
        outcome_shift: typical location of each outcome entry; networks subtract it.
        outcome_scale: typical spread of each outcome entry; networks divide by it.
        costs: cost of each query; empty means 1 each.
        can_stop: False if only the family ends an episode.
        masks_queries: whether `StepResult.query_mask` is ever other than all True.

        reveals: whether the first outcome, before any query, tells something; None
            if the family does not say.
        may_end: whether the family itself may end an episode; None if the family does
            not say.
        reset_entries: outcome entries that tell something before the first query alone
            and are 0 afterwards.
        ask_once: whether each query can be made once; who runs the episode then
            forbids it the second time, whatever `StepResult.query_mask` says.

        query_names: names for people; empty means the numbers.
        hypothesis_names: names for people; empty means the numbers.
        outcome_names: name of each outcome entry for people; empty means `outcome`.
        outcome_labels: `(word, outcome)` pairs of all outcomes where these are few and
            have names, such as ("higher", (1.0,)).
        query_outcomes: for each query the words of its outcomes 0, 1, .., where queries
            have different ones; `outcome_labels` is empty then.
        question: how a query is put to a person, with `{query}` in place of its name.

        outcome_shape: rows and columns of an outcome that is a picture, row by row;
            empty where it is none.
        query_grid: rows and columns in which the pictures of all queries lie side by
            side and make up one large picture, row by row; empty where they do not.
        outcome_flags: whether the second half of an outcome tells, by 1 and 0, which
            entries of the first half were revealed; those that were not are 0.
        queries_alike: whether all queries are things of one kind and hypothesis i is
            about query i, such as the arms of a bandit, so that one network may judge
            them all.
    """

    num_queries: int
    num_hypotheses: int
    outcome_size: int
    horizon: int
    outcome_shift: tuple[float, ...] = ()
    outcome_scale: tuple[float, ...] = ()
    costs: tuple[float, ...] = ()
    can_stop: bool = True
    masks_queries: bool = False
    query_names: tuple[str, ...] = _words(())
    hypothesis_names: tuple[str, ...] = _words(())
    outcome_names: tuple[str, ...] = _words(())
    outcome_labels: tuple[tuple[str, tuple[float, ...]], ...] = _words(())
    query_outcomes: tuple[tuple[str, ...], ...] = _words(())
    question: str = _words("Query {query}: what is the outcome?")
    outcome_shape: tuple[int, ...] = _hint(())
    query_grid: tuple[int, ...] = _hint(())
    outcome_flags: bool = _hint(False)
    queries_alike: bool = _hint(False)
    reveals: bool | None = _protocol(None)
    may_end: bool | None = _protocol(None)
    ask_once: bool = _protocol(False)
    reset_entries: tuple[int, ...] = _protocol(())

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if field.default == ():  # lists and arrays are welcome too
                object.__setattr__(self, field.name, _entries(self, field.name))
        _check_counts(self)
        _check_lengths(self)
        _check_shapes(self)
        _check_flags(self)
        _check_words(self)
        if any(not 0 <= entry < self.outcome_size for entry in self.reset_entries):
            raise InvalidParameterError(
                "TaskSpec.reset_entries must be numbers of outcome entries, from 0 to "
                f"{self.outcome_size - 1}; got {self.reset_entries}."
            )
        if self.queries_alike and self.num_hypotheses != self.num_queries:
            raise InvalidParameterError(
                "TaskSpec.num_hypotheses must equal num_queries where queries are "
                f"alike; got {self.num_hypotheses} and {self.num_queries}."
            )
        for name in ("outcome_scale", "costs"):
            if any(not value > 0 for value in getattr(self, name)):
                raise InvalidParameterError(
                    f"TaskSpec.{name} must be positive; got {getattr(self, name)}."
                )

    def query_name(self, query: int) -> str:
        """The name of a query for people."""
        return self.query_names[query] if self.query_names else str(query)

    def hypothesis_name(self, hypothesis: int) -> str:
        """The name of a hypothesis for people."""
        names = self.hypothesis_names
        return names[hypothesis] if names else str(hypothesis)

    def outcome_name(self, entry: int) -> str:
        """The name of an outcome entry for people."""
        if self.outcome_names:
            return self.outcome_names[entry]
        return "outcome" if self.outcome_size == 1 else f"outcome {entry}"

    def labels(self, query: int | None) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """`(word, outcome)` pairs of all outcomes of a query; empty if they have none.

        Of no query in particular, None, there may be none although each has some.
        """
        if not self.query_outcomes or query is None:
            return self.outcome_labels
        words = self.query_outcomes[query]
        return tuple((word, (float(code),)) for code, word in enumerate(words))

    def describe_outcome(
        self, outcome: Iterable[SupportsFloat], query: int | None = None
    ) -> str:
        """An outcome in the family's words; what was not revealed is left out."""
        values = [float(value) for value in outcome]
        for word, named in self.labels(query):
            pairs = zip(values, named, strict=True)
            if all(math.isclose(*pair, rel_tol=1e-5, abs_tol=1e-8) for pair in pairs):
                return word
        if self.outcome_shape:
            rows, columns = self.outcome_shape
            mean = sum(values) / len(values)
            return f"{rows} x {columns} pixels, {mean:.2f} on average"
        shown = set(range(len(values)))
        if self.outcome_flags:
            half = len(values) // 2
            shown = {i for i in range(half) if values[half + i]}
        shown -= {entry for entry in self.reset_entries if not values[entry]}
        return ", ".join(
            f"{self.outcome_name(i)} {values[i]:.3g}" for i in sorted(shown)
        )

    @property
    def restricts_queries(self) -> bool:
        """Whether some queries may be forbidden at some steps."""
        return self.masks_queries or self.ask_once

    @property
    def asks_about_hypotheses(self) -> bool:
        """Whether each query is about the hypothesis of the same number."""
        return (
            self.can_stop
            and self.num_queries == self.num_hypotheses
            and self.query_names == self.hypothesis_names
        )

    @property
    def cost_array(self) -> Float[Array, "queries"]:
        """Cost of each query as an array."""
        return jnp.asarray(self.costs or (1.0,) * self.num_queries, jnp.float32)

    @property
    def mean_cost(self) -> float:
        """Mean cost of a query: the unit in which costs are large or small."""
        return sum(self.costs) / len(self.costs) if self.costs else 1.0

    def numbers(self) -> dict[str, Any]:
        """What explorers depend on: the law's numbers, without words and hints.

        Two specs with the same numbers can be played by the same networks.
        """
        return _fields_but(self, ("words", "hint", "protocol"))

    def normalize(
        self, outcome: Float[Array, "*batch outcome"]
    ) -> Float[Array, "*batch outcome"]:
        """Raw outcomes as the networks see them: about zero mean and unit spread."""
        shift = jnp.asarray(self.outcome_shift or 0.0, outcome.dtype)
        scale = jnp.asarray(self.outcome_scale or 1.0, outcome.dtype)
        shape = outcome.shape
        return (outcome - jnp.broadcast_to(shift, shape)) / jnp.broadcast_to(
            scale, shape
        )


def reveal(spec: TaskSpec, name: str, *, scale: float) -> TaskSpec:
    """The spec with one more outcome entry, for a parameter shown at reset.

    The entry is the parameter in the first outcome and 0 in the others, so that one
    explorer serves tasks with different values of it.
    """
    size = spec.outcome_size
    return dataclasses.replace(
        spec,
        outcome_size=size + 1,
        outcome_shift=(*(spec.outcome_shift or (0.0,) * size), 0.0),
        outcome_scale=(*(spec.outcome_scale or (1.0,) * size), scale),
        outcome_names=(*(spec.outcome_names or ("outcome",) * size), name),
        outcome_labels=(),
        reveals=True,
        reset_entries=(*spec.reset_entries, size),
    )


def _entries(spec: TaskSpec, name: str) -> Any:
    """The value of a field that has several, in tuples.

    Raises:
        InvalidParameterError: one number, or an array that is being compiled.
    """
    value = getattr(spec, name)
    if isinstance(value, Tracer):
        raise InvalidParameterError(
            f"TaskSpec.{name} must be a tuple, not an array of jax.numpy, which has no "
            "values while a method is compiled."
        )
    value = _as_tuple(value)
    if isinstance(value, bool | int | float):
        raise InvalidParameterError(
            f"TaskSpec.{name} must be a tuple, such as ({value},); got {value}."
        )
    return value


def _as_tuple(value: Any) -> Any:
    """The same in tuples, which can be compared and hashed."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(_as_tuple, value)) if isinstance(value, list | tuple) else value


def _fields_but(spec: TaskSpec, roles: tuple[str, ...]) -> dict[str, Any]:
    return {
        field.name: getattr(spec, field.name)
        for field in dataclasses.fields(spec)
        if field.metadata.get(_ROLE) not in roles
    }


def _check_counts(spec: TaskSpec) -> None:
    for name, lowest in (
        ("num_queries", 1),
        ("num_hypotheses", 2),
        ("outcome_size", 1),
        ("horizon", 1),
    ):
        given = getattr(spec, name)
        if not is_whole(given):
            raise InvalidParameterError(
                f"TaskSpec.{name} must be a whole number; got {given!r}."
            )
        if given < lowest:
            raise InvalidParameterError(
                f"TaskSpec.{name} must be at least {lowest}; got {given}."
            )


def _check_lengths(spec: TaskSpec) -> None:
    for name, size in (
        ("outcome_shift", spec.outcome_size),
        ("outcome_scale", spec.outcome_size),
        ("outcome_names", spec.outcome_size),
        ("costs", spec.num_queries),
        ("query_names", spec.num_queries),
        ("query_outcomes", spec.num_queries),
        ("hypothesis_names", spec.num_hypotheses),
    ):
        given = getattr(spec, name)
        if len(given) not in (0, size):
            raise InvalidParameterError(
                f"TaskSpec.{name} must be empty or have {size} entries; "
                f"got {len(given)}."
            )


def _check_shapes(spec: TaskSpec) -> None:
    for name, size in (
        ("outcome_shape", spec.outcome_size),
        ("query_grid", spec.num_queries),
    ):
        given = getattr(spec, name)
        if given and (len(given) != 2 or math.prod(given) != size):
            raise InvalidParameterError(
                f"TaskSpec.{name} must be empty or two numbers whose product is "
                f"{size}; got {given}."
            )


def _check_words(spec: TaskSpec) -> None:
    if spec.query_outcomes and (spec.outcome_labels or spec.outcome_size != 1):
        raise InvalidParameterError(
            "TaskSpec.query_outcomes are words for outcomes of one number, in place of "
            f"outcome_labels; got outcome_size {spec.outcome_size} and outcome_labels "
            f"{spec.outcome_labels}."
        )


def _check_flags(spec: TaskSpec) -> None:
    if not spec.outcome_flags:
        return
    if spec.outcome_size % 2:
        raise InvalidParameterError(
            "TaskSpec.outcome_size must be even where outcomes have flags; got "
            f"{spec.outcome_size}."
        )
    scales = spec.outcome_scale[spec.outcome_size // 2 :]
    if any(spec.outcome_shift) or any(scale != 1 for scale in scales):
        raise InvalidParameterError(
            "TaskSpec.outcome_shift must be 0 and the outcome_scale of flags 1, so "
            "that networks see what was not revealed as 0 and flags as they are; "
            f"got {spec.outcome_shift} and {scales}."
        )
