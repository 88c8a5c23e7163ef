"""Cases like the rows of a table: which class is it, one feature after the other?"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    check_ranges,
    data,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec
from icpe.families.table.belief import RowsBelief
from icpe.families.table.columns import MISSING, TableAnswers

_NO_ROW = -1e8
"""Log-weight below which there is no row, but padding."""


class Case(NamedTuple):
    """One case: its class and the cell of each of its features."""

    label: Int[Array, ""]
    cells: Int[Array, "features"]


def _tuples(value: Any) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(part) for part in value)


class CaseTable(AbstractTaskFamily):
    """Rows of a table with their classes; which class is a case like them in?

    Values are cut into cells, cell 0 for a value that is not known. A case is drawn by
    choosing a row and moving each of its features into another cell by the feature's
    kernel, independently, so that no case is just a row. A query reveals a feature, or
    several that are measured together, each query once. Tables are made by
    `icpe.sklearn.ActiveClassifier` and `icpe train-table`; what is built without data
    is an example. Real cases that nothing was made of travel with it (`held_out`):
    certificates are about these.
    """

    features: tuple[str, ...] = parameter(
        ("fever", "cough"), "names of the features", words=True, converter=tuple
    )
    classes: tuple[str, ...] = parameter(
        ("cold", "flu"), "names of the classes", words=True, converter=tuple
    )
    groups: tuple[tuple[int, ...], ...] = parameter(
        ((0,), (1,)), "features that each query reveals", words=True, converter=_tuples
    )
    query_names: tuple[str, ...] = parameter(
        ("fever", "cough"), "names of the queries", words=True, converter=tuple
    )
    levels: tuple[tuple[str, ...], ...] = parameter(
        ((), ("no", "yes")),
        "words that each feature can be; none for a number",
        words=True,
        converter=_tuples,
    )
    costs: tuple[float, ...] = parameter(
        (), "cost of each query; 1 each if empty", words=True, converter=tuple
    )
    units: tuple[str, ...] = parameter(
        (), "unit of each feature; none if empty", words=True, converter=tuple
    )
    marks: tuple[str, ...] = parameter(
        (),
        "marks of each feature before decimals and between thousands; not known if "
        "empty",
        words=True,
        converter=tuple,
    )
    ranges: tuple[tuple[float, ...], ...] = parameter(
        (),
        "smallest and largest number of each feature; not known if empty",
        words=True,
        converter=_tuples,
    )
    horizon: int = parameter(2, "most queries for a case", at_least=1)
    cells: Int[Array, "classes rows features"] = data(
        "cell of each feature of each row, class by class",
        jnp.int8,
        example=lambda: [[[1, 1], [1, 2], [2, 1]], [[2, 2], [3, 2], [3, 1]]],
    )
    log_weight: Float[Array, "classes rows"] = data(
        "log-weight of each row", example=lambda: np.full((2, 3), -np.log(6.0))
    )
    kernel: Float[Array, "features cells cells"] = data(
        "probability that a cell of a row becomes another in a case",
        example=lambda: _example_kernel(),
    )
    codes: Int[Array, "classes rows queries"] = data(
        "what each query shows of each row, as one of few codes",
        jnp.int8,
        example=lambda: [[[1, 1], [1, 2], [2, 1]], [[2, 2], [3, 2], [3, 1]]],
    )
    code_kernel: Float[Array, "queries codes codes"] = data(
        "probability that the code of a row becomes another in a case",
        example=lambda: _example_kernel(),
    )
    edges: Float[Array, "features edges"] = data(
        "values that divide the cells of each feature",
        example=lambda: [[37.5, 38.5], [1.5, np.inf]],
    )
    values: Float[Array, "features cells"] = data(
        "a typical value of each cell",
        example=lambda: [[MISSING, 37.0, 38.0, 39.5], [MISSING, 1.0, 2.0, 2.0]],
    )
    held_out: Int[Array, "cases features"] = data(
        "cells of real cases that nothing was made of",
        jnp.int8,
        example=lambda: [[1, 1], [3, 2], [2, 2], [1, 2]],
    )
    held_out_labels: Int[Array, "cases"] = data(
        "their classes", jnp.int32, example=lambda: [0, 1, 1, 0]
    )

    def __check_init__(self):
        check_ranges(self)
        num_classes, _, num_features = self.cells.shape
        for name, found, wanted in (
            ("features", len(self.features), num_features),
            ("levels", len(self.levels), num_features),
            ("units", len(self.units) or num_features, num_features),
            ("marks", len(self.marks) or num_features, num_features),
            ("ranges", len(self.ranges) or num_features, num_features),
            ("classes", len(self.classes), num_classes),
            ("query_names", len(self.query_names), len(self.groups)),
            ("costs", len(self.costs) or len(self.groups), len(self.groups)),
        ):
            if found != wanted:
                raise InvalidParameterError(
                    f"{name} must have {wanted} entries, as the data has; got {found}."
                )

    @property
    def spec(self) -> TaskSpec:
        """A query reveals features; the hypotheses are the classes."""
        return TaskSpec(
            num_queries=len(self.groups),
            num_hypotheses=len(self.classes),
            outcome_size=self._outcome_size,
            horizon=min(self.horizon, len(self.groups)),
            costs=self.costs,
            query_names=self.query_names,
            hypothesis_names=self.classes,
            question="What is {query}?",
            reveals=False,
            may_end=False,
            ask_once=True,
        )

    @property
    def _outcome_size(self) -> int:
        return max(len(group) for group in self.groups)

    def sample_task(self, *, key: PRNGKey) -> Case:
        row_key, *cell_keys = jr.split(key, 1 + len(self.features))
        row = jr.categorical(row_key, self.log_weight.reshape(-1))
        label = row // self.log_weight.shape[1]
        cells = self.cells.reshape(-1, len(self.features))[row].astype(jnp.int32)
        rows = self.kernel[jnp.arange(len(self.features)), cells]
        moved = jax.vmap(lambda key, row: jr.categorical(key, jnp.log(row)))(
            jnp.stack(cell_keys), rows
        )
        return Case(label.astype(jnp.int32), moved.astype(jnp.int32))

    def reset(self, task: Case, *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Case, *, key: PRNGKey
    ) -> StepResult:
        features, used = self.members(query)
        values = self.values[features, task.cells[features]]
        return plain_step(self.spec, jnp.where(used, values, 0.0))

    def hypothesis(self, task: Case) -> Index:
        return task.label

    def exact_belief(self) -> RowsBelief:
        """A weight for every row."""
        return RowsBelief(self)

    def answers(self) -> TableAnswers:
        rows = np.asarray(self.cells)[np.asarray(self.log_weight) > _NO_ROW]
        cases = np.concatenate([rows, np.asarray(self.held_out)])
        known = np.flatnonzero(np.all(cases != 0, axis=0))
        return TableAnswers(
            self.features,
            self.levels,
            self.groups,
            self._outcome_size,
            [int(feature) for feature in known],
            units=self.units,
            marks=self.marks,
            ranges=self.ranges,
        )

    def held_out_cases(self) -> Case:
        return Case(self.held_out_labels, self.held_out.astype(jnp.int32))

    def members(
        self, query: Index
    ) -> tuple[Int[Array, "entries"], Bool[Array, "entries"]]:
        """The features that a query reveals, and which entries of an outcome count."""
        size = self._outcome_size
        padded = np.array([(*it, *(-1,) * (size - len(it))) for it in self.groups])
        members = jnp.asarray(padded)[query]
        return jnp.maximum(members, 0), members >= 0

    def cells_of(
        self, features: Int[Array, "entries"], outcome: Float[Array, "entries"]
    ) -> Int[Array, "entries"]:
        """The cells that values of features lie in."""
        above = outcome[:, None] > self.edges[features]
        cells = 1 + jnp.sum(above, axis=1, dtype=jnp.int32)
        return jnp.where(outcome <= MISSING / 2, 0, cells)


def _example_kernel() -> np.ndarray:
    temperature = [[1, 0, 0, 0], [0, 0.8, 0.2, 0], [0, 0.1, 0.8, 0.1], [0, 0, 0.2, 0.8]]
    cough = [[1, 0, 0, 0], [0, 0.9, 0.1, 0], [0, 0.1, 0.9, 0], [0, 0, 1, 0]]
    return np.array([temperature, cough])
