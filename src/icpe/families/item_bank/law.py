"""The family of a bank of items."""

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    QueryAxis,
    StepResult,
    check_ranges,
    data,
    parameter,
    plain_step,
)
from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.families.item_test import AbstractItemTest
from icpe.families.likelihoods.law import as_names, as_numbers
from icpe.theory.item_response import (
    Items,
    Quadrature,
    quadrature,
)

USUAL_CAP = 60
"""Most items in a test where nothing is said."""


def _as_limits(given: Any) -> tuple[tuple[str, int], ...]:
    return tuple((str(name), int(most)) for name, most in given)


def _as_wholes(given: Any) -> tuple[int, ...]:
    return tuple(map(int, given))


class ItemBank(AbstractItemTest):
    """A bank of items and cut scores; in which band is a person's ability?

    `icpe.families.from_item_bank` makes it from a CSV file; without one there is a
    small example. Answers are independent given the ability, which is normal.
    """

    slope: Float[Array, "items"] = data(
        "discrimination of each item", example=lambda: np.full(9, 1.2)
    )
    thresholds: Float[Array, "items thresholds"] = data(
        "difficulty of each item, or of each of its grades; infinite if it has fewer",
        example=lambda: np.linspace(-2.0, 2.0, 9)[:, None],
    )
    guess: Float[Array, "items"] = data(
        "probability of a right answer by guessing", example=lambda: np.zeros(9)
    )
    title: str = parameter("an example", "what the bank is about")
    cuts: tuple[float, ...] = parameter(
        (0.0,), "abilities that divide the bands", converter=as_numbers
    )
    mean: float = parameter(0.0, "mean of the abilities", rare=True)
    deviation: float = parameter(
        1.0, "their standard deviation", rare=True, positive=True
    )
    grades: tuple[int, ...] = parameter(
        (),
        "grades of each item above the lowest; empty: 1 each",
        words=True,
        converter=_as_wholes,
    )
    item_names: tuple[str, ...] = parameter(
        (), "names of the items", words=True, converter=as_names
    )
    band_names: tuple[str, ...] = parameter(
        (), "names of the bands", words=True, converter=as_names
    )
    content: tuple[str, ...] = parameter(
        (), "what each item is about", words=True, converter=as_names
    )
    content_limits: tuple[tuple[str, int], ...] = parameter(
        (), "most items about each thing", rare=True, converter=_as_limits
    )
    costs: tuple[float, ...] = parameter(
        (), "cost of each item; empty: 1 each", words=True, converter=as_numbers
    )
    horizon: int = parameter(
        0, "most items in a test; 0: all, up to 60", rare=True, at_least=0
    )

    def __check_init__(self):
        check_ranges(self)
        if not self.cuts or list(self.cuts) != sorted(set(self.cuts)):
            raise InvalidParameterError(
                f"cuts must be one or more rising numbers; got {self.cuts}."
            )
        number = self.slope.shape[0]
        sizes = (
            ("thresholds", self.thresholds, number),
            ("guess", self.guess, number),
            ("grades", self.grades, number),
            ("item_names", self.item_names, number),
            ("content", self.content, number),
            ("costs", self.costs, number),
            ("band_names", self.band_names, len(self.cuts) + 1),
        )
        for name, given, size in sizes:
            if len(given) not in (0, size):
                raise InvalidParameterError(
                    f"{name} must have {size} entries; got {len(given)}."
                )
        for name, _ in self.content_limits:
            if name not in self.content:
                raise InvalidParameterError(
                    f"content_limits names {name!r}, which no item is about."
                )

    def items(self) -> Items:
        """The items, in numpy."""
        arrays = (self.slope, self.thresholds, self.guess)
        return Items(*(np.asarray(array, float) for array in arrays))

    def cut_scores(self) -> Float[np.ndarray, "cuts"]:
        return np.array(self.cuts)

    def quadrature(self) -> Quadrature:
        return quadrature(self.cut_scores(), self.mean, self.deviation)

    @property
    def spec(self) -> TaskSpec:
        """A query puts an item; the hypotheses are the bands."""
        number = self.slope.shape[0]
        bands = tuple(f"band {i + 1}" for i in range(len(self.cuts) + 1))
        return TaskSpec(
            num_queries=number,
            num_hypotheses=len(self.cuts) + 1,
            outcome_size=1,
            horizon=min(self.horizon or USUAL_CAP, number),
            costs=self.costs,
            query_names=self.item_names
            or tuple(f"item {i + 1}" for i in range(number)),
            hypothesis_names=self.band_names or bands,
            outcome_names=("answer",),
            query_outcomes=self._answer_words(),
            question="Put {query}: what is the answer?",
            reveals=False,
            may_end=False,
            ask_once=True,
            masks_queries=bool(self.content_limits),
        )

    def _answer_words(self) -> tuple[tuple[str, ...], ...]:
        grades = self.grades or (1,) * self.slope.shape[0]
        return tuple(
            ("wrong", "right") if number == 1 else tuple(map(str, range(number + 1)))
            for number in grades
        )

    def sample_task(self, *, key: PRNGKey) -> Scalar:
        return self.mean + self.deviation * jr.normal(key)

    def reset(self, task: Scalar, *, key: PRNGKey) -> StepResult:
        made = jnp.zeros(len(self.content_limits), jnp.int32)
        return self._result(jnp.zeros(1), made)

    def step(
        self,
        state: Int[Array, "limits"] | None,
        query: Index,
        task: Scalar,
        *,
        key: PRNGKey,
    ) -> StepResult:
        rise = self.slope[query] * (task - self.thresholds[query])
        guess = self.guess[query]
        above = guess + (1.0 - guess) * jax.nn.sigmoid(rise)
        above = jnp.where(jnp.isfinite(self.thresholds[query]), above, 0.0)
        answer = jnp.sum(jr.uniform(key) < above).astype(jnp.float32)
        if state is not None:
            state = state + self._belongs()[:, query]
        return self._result(answer[None], state)

    def _result(self, outcome, made) -> StepResult:
        if not self.content_limits:
            return plain_step(self.spec, outcome)
        mask = self._allowed(made)
        return StepResult(made, outcome, mask, jnp.asarray(False))

    def _belongs(self) -> Int[Array, "limits items"]:
        rows = [
            [int(it == name) for it in self.content] for name, _ in self.content_limits
        ]
        return jnp.asarray(rows, jnp.int32)

    def _allowed(self, made: Int[Array, "limits"]) -> Bool[Array, "items"]:
        """No item about a thing of which there were enough."""
        most = jnp.asarray([most for _, most in self.content_limits])
        full = (made >= most)[:, None] & (self._belongs() > 0)
        return ~jnp.any(full, axis=0)

    def query_mask(
        self, first_outcome: Float[Array, "outcome"], history: History
    ) -> Bool[Array, "items"]:
        if not self.content_limits:
            return jnp.ones(self.slope.shape[0], bool)
        queries = history.queries
        counted = (jnp.arange(queries.shape[0]) < history.length) & (queries >= 0)
        each = self._belongs()[:, jnp.maximum(queries, 0)]
        return self._allowed(jnp.sum(jnp.where(counted[None], each, 0), axis=1))

    def hypothesis(self, task: Scalar) -> Index:
        return jnp.sum(task > jnp.asarray(self.cuts, jnp.float32), dtype=jnp.int32)

    def query_axis(self) -> QueryAxis:
        """By the mean difficulty of an item's grades."""
        places = self.items().thresholds
        means = np.nanmean(np.where(np.isfinite(places), places, np.nan), axis=1)
        return QueryAxis("difficulty", tuple(means.tolist()))
