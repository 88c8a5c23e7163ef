"""The contract of a task family: a prior over problems that can be simulated."""

import abc
import dataclasses
import functools as ft
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Flag, Index, PRNGKey, PyTree
from icpe.core.errors import InvalidParameterError


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """The static description of a family: all that is needed to build an explorer.

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
        query_names: names for people; empty means the numbers.
        hypothesis_names: names for people; empty means the numbers.
        outcome_names: name of each outcome entry for people; empty means `outcome`.
        outcome_labels: `(word, outcome)` pairs of all outcomes where these are few and
            have names, such as ("higher", (1.0,)).
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
    query_names: tuple[str, ...] = ()
    hypothesis_names: tuple[str, ...] = ()
    outcome_names: tuple[str, ...] = ()
    outcome_labels: tuple[tuple[str, tuple[float, ...]], ...] = ()
    question: str = "Query {query}: what is the outcome?"
    outcome_shape: tuple[int, ...] = ()
    query_grid: tuple[int, ...] = ()
    outcome_flags: bool = False
    queries_alike: bool = False

    def __post_init__(self):
        for name, lowest in (
            ("num_queries", 1),
            ("num_hypotheses", 2),
            ("outcome_size", 1),
            ("horizon", 1),
        ):
            if getattr(self, name) < lowest:
                raise InvalidParameterError(
                    f"TaskSpec.{name} must be at least {lowest}; "
                    f"got {getattr(self, name)}."
                )
        for name, size in (
            ("outcome_shift", self.outcome_size),
            ("outcome_scale", self.outcome_size),
            ("outcome_names", self.outcome_size),
            ("costs", self.num_queries),
            ("query_names", self.num_queries),
            ("hypothesis_names", self.num_hypotheses),
        ):
            given = getattr(self, name)
            if len(given) not in (0, size):
                raise InvalidParameterError(
                    f"TaskSpec.{name} must be empty or have {size} entries; "
                    f"got {len(given)}."
                )
        for name, size in (
            ("outcome_shape", self.outcome_size),
            ("query_grid", self.num_queries),
        ):
            given = getattr(self, name)
            if given and (len(given) != 2 or math.prod(given) != size):
                raise InvalidParameterError(
                    f"TaskSpec.{name} must be empty or two numbers whose product is "
                    f"{size}; got {given}."
                )
        if self.outcome_flags and self.outcome_size % 2:
            raise InvalidParameterError(
                "TaskSpec.outcome_size must be even where outcomes have flags; got "
                f"{self.outcome_size}."
            )
        flag_scales = self.outcome_scale[self.outcome_size // 2 :]
        if self.outcome_flags and (
            any(self.outcome_shift) or any(scale != 1 for scale in flag_scales)
        ):
            raise InvalidParameterError(
                "TaskSpec.outcome_shift must be 0 and the outcome_scale of flags 1, so "
                "that networks see what was not revealed as 0 and flags as they are; "
                f"got {self.outcome_shift} and {flag_scales}."
            )
        if self.queries_alike and self.num_hypotheses != self.num_queries:
            raise InvalidParameterError(
                "TaskSpec.num_hypotheses must equal num_queries where queries are "
                f"alike; got {self.num_hypotheses} and {self.num_queries}."
            )
        if any(not scale > 0 for scale in self.outcome_scale):
            raise InvalidParameterError(
                f"TaskSpec.outcome_scale must be positive; got {self.outcome_scale}."
            )
        if any(not cost > 0 for cost in self.costs):
            raise InvalidParameterError(
                f"TaskSpec.costs must be positive; got {self.costs}."
            )

    def query_name(self, query: int) -> str:
        """The name of a query for people."""
        return self.query_names[query] if self.query_names else str(query)

    def hypothesis_name(self, hypothesis: int) -> str:
        """The name of a hypothesis for people."""
        names = self.hypothesis_names
        return names[hypothesis] if names else str(hypothesis)

    @property
    def cost_array(self) -> Float[Array, "queries"]:
        """Cost of each query as an array."""
        return jnp.asarray(self.costs or (1.0,) * self.num_queries, jnp.float32)

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


class StepResult(eqx.Module):
    """What the world answers to a reset or a query.

    `outcome` is what the explorer sees (zeros at reset where the family reveals
    nothing), `query_mask` the queries allowed next, `terminated` whether the family
    ended the episode.
    """

    state: PyTree
    outcome: Float[Array, "outcome"]
    query_mask: Bool[Array, "queries"]
    terminated: Flag


class AbstractTaskFamily(eqx.Module):
    """A prior over tasks. Methods are written for one task and are vmapped.

    The law of an outcome may depend on the whole history through the state. Fields
    are the family's parameters: plain Python values, static, validated in
    `__check_init__`, so that a family is hashable and `parameters` can rebuild it.
    """

    @property
    @abc.abstractmethod
    def spec(self) -> TaskSpec:
        """The static description of the family."""

    @abc.abstractmethod
    def sample_task(self, *, key: PRNGKey) -> PyTree:
        """Draws one task from the prior."""

    @abc.abstractmethod
    def reset(self, task: PyTree, *, key: PRNGKey) -> StepResult:
        """Starts an episode on a task."""

    @abc.abstractmethod
    def step(
        self, state: PyTree, query: Index, task: PyTree, *, key: PRNGKey
    ) -> StepResult:
        """Answers one query."""

    @abc.abstractmethod
    def hypothesis(self, task: PyTree) -> Index:
        """The true hypothesis of a task."""


def parameter(
    default: Any,
    help: str,
    *,
    rare: bool = False,
    converter: Callable[[Any], Any] | None = None,
) -> Any:
    """A parameter of a family: a static field with its help text beside it.

    Args:
        default: its default, a hashable value.
        help: what it means, in a few words.
        rare: not mentioned in the family's description while it has its default.
        converter: applied to what is given, to make it hashable; JSON, for one, has
            lists where the family wants tuples.
    """
    metadata = {"help": help, "rare": rare}
    field = ft.partial(eqx.field, static=True, default=default, metadata=metadata)
    return field() if converter is None else field(converter=converter)


def parameters(family: AbstractTaskFamily) -> dict[str, Any]:
    """The parameters that rebuild the family, as JSON-compatible values."""
    return {
        field.name: getattr(family, field.name) for field in dataclasses.fields(family)
    }


def plain_step(spec: TaskSpec, outcome: Float[Array, "outcome"]) -> StepResult:
    """The result of a step in a family without state, masks or termination."""
    return StepResult(
        state=None,
        outcome=outcome,
        query_mask=jnp.ones(spec.num_queries, bool),
        terminated=jnp.asarray(False),
    )


def plain_reset(spec: TaskSpec) -> StepResult:
    """The result of a reset that reveals nothing."""
    return plain_step(spec, jnp.zeros(spec.outcome_size))


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
    )
