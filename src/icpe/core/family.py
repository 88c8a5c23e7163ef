"""The contract of a task family: a prior over problems that can be simulated.

Five methods are the law. The others are facts about it that a family may know: its
exact belief, its limits, what makes a task hard, how an episode looks. Nobody else
keeps a table of families; whoever wants a fact asks the family.
"""

import abc
import dataclasses
import functools as ft
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.answers import AbstractAnswers
from icpe.core.arrays import Flag, Index, PRNGKey, PyTree, Scalar
from icpe.core.belief import AbstractBelief
from icpe.core.board import Board
from icpe.core.checks import check_within
from icpe.core.errors import InvalidParameterError
from icpe.core.explorer import AbstractExplorer
from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.core.units import AnyUnits

Limits = dict[str, float | int | None]


class StepResult(eqx.Module):
    """What the world answers to a reset or a query.

    `outcome` is what the explorer sees (zeros at reset where the family reveals
    nothing), `query_mask` the queries allowed next, `terminated` whether the family
    ended the episode, where a plain True or False will do.
    """

    state: PyTree
    outcome: Float[Array, "outcome"]
    query_mask: Bool[Array, "queries"]
    terminated: Flag = eqx.field(converter=jnp.asarray)


class Difficulty(NamedTuple):
    """What makes a task hard: a name for people, and a number for each task."""

    name: str
    measure: Callable[[Any], Scalar]


class QueryAxis(NamedTuple):
    """A line on which all queries lie, such as the difficulty of test items."""

    name: str
    places: Sequence[float]


class AbstractTaskFamily(eqx.Module):
    """A prior over tasks. Methods are written for one task and are vmapped.

    The law of an outcome may depend on the whole history through the state. Fields
    made with `parameter` are plain Python values, static, each within its range; what
    depends on several is validated in `__check_init__`. Fields made with `data` are
    arrays, which compiled programs take as arguments. Both together rebuild the family.
    """

    def __check_init__(self):
        check_ranges(self)

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

    def query_mask(
        self, first_outcome: Float[Array, "outcome"], history: History
    ) -> Bool[Array, "queries"] | None:
        """The queries allowed after a history, where that can be seen from it.

        None if it cannot; a session is then told the mask with each outcome. Queries
        that can be made once need no mask: set `TaskSpec.ask_once`.
        """
        return None

    def log_likelihood(
        self, hypothesis: Index, query: Index, outcome: Float[Array, "outcome"]
    ) -> Scalar | None:
        """log P(outcome | hypothesis, query), where outcomes depend on nothing else.

        A family that defines it has an exact belief, and with it the explorers that
        need one. That belief does not see what a reset reveals; where this tells
        something about the hypothesis, define `exact_belief` instead.
        """
        return None

    def log_prior(self) -> Float[Array, "hypotheses"]:
        """Log-probability of each hypothesis before any query; uniform by default."""
        size = self.spec.num_hypotheses
        return jnp.full(size, -jnp.log(float(size)))

    def exact_belief(self) -> AbstractBelief | None:
        """The exact posterior, None if it is not known."""
        return None

    def optimal_explorer(self) -> AbstractExplorer | None:
        """An explorer that never errs and needs the fewest queries, if one is known."""
        return None

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """Known limits by name, as `icpe.evaluate.limits.limits` describes them.

        Args:
            error_prob: the error probability allowed; bounds that depend on it are
                left out without it.
            key: for bounds that are averaged over tasks.
        """
        return {}

    def task_difficulty(self) -> Difficulty | None:
        """A measure of how hard a task is, None if the family has none."""
        return None

    def contradicts(self, history: History) -> bool:
        """Whether no task of the family can have given these outcomes."""
        return False

    def episode_picture(self, history: History) -> tuple[str, ...]:
        """Lines of text that show an episode so far; none by default."""
        return ()

    def episode_board(self, history: History) -> Board | None:
        """An episode so far on a grid, None where it does not happen on one."""
        return None

    def query_axis(self) -> QueryAxis | None:
        """The place of each query on a line, None if they do not lie on one."""
        return None

    def query_note(self, query: int) -> str:
        """What a person should know of a query beyond its name; nothing by default."""
        return ""

    def in_words(self) -> str:
        """What problems of the family are like, with numbers; nothing by default.

        Users compare it with a problem of their own, so it says how large things are:
        "4 arms with means between 0 and 1.6".
        """
        return ""

    def any_units(self) -> AnyUnits | None:
        """How it is asked in any units of measurement; None if in its own alone."""
        return None

    @property
    def on_host(self) -> bool:
        """Whether steps run in Python, so that there should be few of them.

        The task then also fixes what is random: a query that is made twice right after
        a reset is answered alike.
        """
        return False

    def answers(self) -> AbstractAnswers | None:
        """How answers are read and worded, where outcomes are no plain numbers."""
        return None

    def calibration_cases(self) -> PyTree | None:
        """Real tasks on which operating tables are measured; None if none are.

        A family that was made of data has some, apart from what it draws and from the
        held-out ones, unless its table was measured when it was made.
        """
        return None

    def held_out_cases(self) -> PyTree | None:
        """Real tasks that nothing was made of, along a leading axis; None if none are.

        A family that was made of data has some, or an empty axis: certificates and
        evaluations are about these, each counted once, and never about what it draws.
        """
        return None

    def with_data(self) -> "AbstractTaskFamily":
        """The family with its data in memory as arrays, where it reads them late."""
        return self


def parameter(
    default: Any,
    help: str,
    *,
    rare: bool = False,
    words: bool = False,
    converter: Callable[[Any], Any] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    positive: bool = False,
    one_of: tuple[str, ...] | None = None,
) -> Any:
    """A parameter of a family: a static field with its help text beside it.

    Args:
        default: its default, a hashable value.
        help: what it means, in a few words.
        rare: not mentioned in the family's description while it has its default.
        words: never mentioned there, such as a long list of names.
        converter: applied to what is given, to make it hashable; JSON, for one, has
            lists where the family wants tuples.
        at_least: the smallest possible value of a number.
        at_most: the largest, where there is a smallest.
        positive: any finite number above 0, in place of these two.
        one_of: the possible values of a text.
    """
    limits = {
        "at_least": at_least,
        "at_most": at_most,
        "positive": positive or None,
        "one_of": one_of,
    }
    given = {name: value for name, value in limits.items() if value is not None}
    metadata = {"help": help, "rare": rare, "words": words, "limits": given}
    field = ft.partial(eqx.field, static=True, default=default, metadata=metadata)
    return field() if converter is None else field(converter=converter)


def data(
    help: str,
    dtype: Any = jnp.float32,
    *,
    example: Callable[[], Any] | None = None,
) -> Any:
    """An array that belongs to the law, such as a table of likelihoods.

    It enters the fingerprint and travels in the artifact if it is small; compiled
    programs take it as an argument.

    Args:
        help: what it means, in a few words.
        dtype: to which whatever is given is cast.
        example: makes the array where none is given; without it, it must be given.
    """
    field = ft.partial(
        eqx.field,
        converter=ft.partial(jnp.asarray, dtype=dtype),
        metadata={"help": help, "data": True},
    )
    return field() if example is None else field(default_factory=example)


def check_ranges(family: AbstractTaskFamily) -> None:
    """Raises one sentence unless every parameter lies within its range.

    All families are checked so after their own `__check_init__`, which calls this first
    where it can only compare values that are possible.
    """
    for field in dataclasses.fields(family):
        limits = field.metadata.get("limits", {})
        check_within(field.name, getattr(family, field.name), **limits)


def parameter_names(family_class: Any) -> tuple[str, ...]:
    """The fields of a family's class that are no arrays, in their order."""
    return tuple(
        field.name
        for field in dataclasses.fields(family_class)
        if not (field.metadata.get("data") or field.metadata.get("loaded"))
    )


def parameters(family: AbstractTaskFamily) -> dict[str, Any]:
    """The parameters that rebuild the family, as JSON-compatible values."""
    arrays = data_of(family)
    return {
        name: getattr(family, name)
        for name in parameter_names(type(family))
        if name not in arrays
    }


def data_of(family: AbstractTaskFamily) -> dict[str, PyTree]:
    """The arrays that rebuild the family together with its parameters, by field."""
    values = {
        field.name: getattr(family, field.name)
        for field in dataclasses.fields(family)
        if not field.metadata.get("loaded")
    }
    return {
        name: value
        for name, value in values.items()
        if any(map(eqx.is_array, jax.tree.leaves(value)))
    }


def same_family(one: AbstractTaskFamily, other: AbstractTaskFamily) -> bool:
    """Whether two families have the same class, parameters and data."""
    if type(one) is not type(other) or parameters(one) != parameters(other):
        return False
    return bool(eqx.tree_equal(data_of(one), data_of(other)))


def plain_step(spec: TaskSpec, outcome: Float[Array, "outcome"]) -> StepResult:
    """The result of a step in a family without state, masks or termination.

    Raises:
        InvalidParameterError: the spec says that queries are masked.
    """
    if spec.masks_queries:
        raise InvalidParameterError(
            "plain_step forbids no query, but TaskSpec.masks_queries is True; return a "
            "StepResult with query_mask, or set ask_once=True in its place if each "
            "query can be made once."
        )
    return StepResult(
        state=None,
        outcome=outcome,
        query_mask=jnp.ones(spec.num_queries, bool),
        terminated=jnp.asarray(False),
    )


def plain_reset(spec: TaskSpec) -> StepResult:
    """The result of a reset that reveals nothing."""
    return plain_step(spec, jnp.zeros(spec.outcome_size))
