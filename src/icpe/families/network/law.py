"""The family of a Bayesian network."""

import functools as ft
import itertools
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

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
from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.families.likelihoods.law import as_names, as_names_of_each, as_numbers
from icpe.families.network.belief import NetworkBelief
from icpe.theory.network_inference import Structure, prior_of_target

MOST_WORK = 2**22
"""Entries of tables up to which the exact posterior is computed."""

_NODES = ("Season", "Cold", "Cough", "Fever")
_STATES = (("winter", "summer"), ("yes", "no"), ("yes", "no"), ("high", "low", "none"))
_PARENTS = ((), (0,), (1,), (1, 2))
_TABLES = (
    *(0.5, 0.5),
    *(0.4, 0.6, 0.1, 0.9),
    *(0.8, 0.2, 0.1, 0.9),
    *(0.5, 0.3, 0.2, 0.3, 0.3, 0.4, 0.1, 0.2, 0.7, 0.02, 0.08, 0.9),
)


def _as_parents(given: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, parents)) for parents in given)


class Network(AbstractTaskFamily):
    """A Bayesian network of variables to look at; which state has its target?

    `icpe.families.from_network` makes it from a file; without one there is a small
    example. A task is a state for each variable, so that looking again shows the same.
    """

    tables: Float[Array, "entries"] = data(
        "P(variable | parents) of each variable, one after the other",
        example=lambda: np.array(_TABLES),
    )
    title: str = parameter("an example", "what the network is about")
    target: str = parameter("Cold", "the variable whose state is the answer")
    queries: tuple[str, ...] = parameter(
        ("Season", "Cough", "Fever"),
        "the variables that can be looked at",
        words=True,
        converter=as_names,
    )
    variables: tuple[str, ...] = parameter(
        _NODES, "all variables, parents first", words=True, converter=as_names
    )
    states: tuple[tuple[str, ...], ...] = parameter(
        _STATES, "the states of each", words=True, converter=as_names_of_each
    )
    parents: tuple[tuple[int, ...], ...] = parameter(
        _PARENTS, "the parents of each, by number", words=True, converter=_as_parents
    )
    costs: tuple[float, ...] = parameter(
        (), "cost of each query; empty: 1 each", words=True, converter=as_numbers
    )
    horizon: int = parameter(0, "most queries; 0: all of them", rare=True, at_least=0)

    def __check_init__(self):
        check_ranges(self)
        number = len(self.variables)
        if len(self.states) != number or len(self.parents) != number:
            raise InvalidParameterError(
                f"states and parents must be of {number} variables; got "
                f"{len(self.states)} and {len(self.parents)}."
            )
        for node, parents in enumerate(self.parents):
            if any(not 0 <= parent < node for parent in parents):
                raise InvalidParameterError(
                    f"the parents of {self.variables[node]!r} must come before it; got "
                    f"{parents} for variable {node}."
                )
        for name in (self.target, *self.queries):
            if name not in self.variables:
                raise InvalidParameterError(f"there is no variable {name!r}.")
        if self.tables.shape != (self.structure.offsets[-1],):
            raise InvalidParameterError(
                f"tables must have {self.structure.offsets[-1]} entries; got "
                f"{self.tables.shape}."
            )

    @property
    def structure(self) -> Structure:
        """The shape of the network."""
        sizes = tuple(map(len, self.states))
        return _structure(sizes, self.parents, self.variables.index(self.target))

    @property
    def spec(self) -> TaskSpec:
        """A query looks at a variable; the hypotheses are the states of the target."""
        num_queries = len(self.queries)
        nodes = [self.variables.index(name) for name in self.queries]
        target = self.states[self.structure.target]
        return TaskSpec(
            num_queries=num_queries,
            num_hypotheses=len(target),
            outcome_size=1,
            horizon=min(self.horizon or num_queries, num_queries),
            costs=self.costs,
            query_names=self.queries,
            hypothesis_names=target,
            outcome_names=("state",),
            query_outcomes=tuple(self.states[node] for node in nodes),
            question="{query}: which state?",
            reveals=False,
            may_end=False,
            ask_once=True,
        )

    def sample_task(self, *, key: PRNGKey) -> Int[Array, "nodes"]:
        """Parents first, all variables of one generation at a time."""
        task = jnp.zeros(len(self.variables), jnp.int32)
        generations = _generations(self.structure)
        keys = jr.split(key, len(generations))
        for generation, draw_key in zip(generations, keys, strict=True):
            begin = jnp.asarray(generation.begin)
            parents = task[jnp.asarray(generation.parents)]
            row = begin + jnp.sum(parents * jnp.asarray(generation.strides), axis=1)
            entries = row[:, None] + jnp.arange(generation.possible.shape[1])[None]
            chances = self.tables[jnp.minimum(entries, self.tables.shape[0] - 1)]
            logs = jnp.where(
                jnp.asarray(generation.possible), jnp.log(chances), -jnp.inf
            )
            drawn = jr.categorical(draw_key, logs, axis=1).astype(jnp.int32)
            task = task.at[jnp.asarray(generation.nodes)].set(drawn)
        return task

    def reset(self, task: Int[Array, "nodes"], *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Int[Array, "nodes"], *, key: PRNGKey
    ) -> StepResult:
        nodes = jnp.asarray([self.variables.index(name) for name in self.queries])
        return plain_step(self.spec, task[nodes[query]].astype(jnp.float32)[None])

    def hypothesis(self, task: Int[Array, "nodes"]) -> Index:
        return task[self.structure.target]

    def exact_belief(self) -> NetworkBelief | None:
        """By variable elimination, where its tables are small enough."""
        structure = self.structure
        if structure.work > MOST_WORK:
            return None
        nodes = tuple(self.variables.index(name) for name in self.queries)
        prior = prior_of_target(structure, np.asarray(self.tables, float))
        with np.errstate(divide="ignore"):
            log_prior = jnp.asarray(np.log(prior), jnp.float32)
        return NetworkBelief(self.tables, log_prior, structure, nodes)

    def contradicts(self, history: History) -> bool:
        """Whether the states seen cannot occur together."""
        belief = self.exact_belief()
        if belief is None:
            return False
        state = belief.init(history.outcomes[0])
        for query, outcome in zip(
            np.asarray(history.queries)[: int(history.length)],
            history.outcomes[1:],
            strict=False,
        ):
            state = belief.update(state, jnp.asarray(query), outcome)
        logs, _ = eqx.filter_jit(NetworkBelief.joint_and_marginals)(belief, state)
        return not bool(jnp.any(jnp.isfinite(logs)))


@ft.lru_cache(maxsize=16)
def _structure(sizes, parents, target) -> Structure:
    return Structure(sizes, parents, target)


class _Generation:
    """Variables whose parents are all older, with where their rows begin."""

    def __init__(self, structure: Structure, nodes: list[int]):
        most = max(max(len(structure.parents[node]) for node in nodes), 1)
        widest = max(structure.sizes[node] for node in nodes)
        self.nodes = np.array(nodes)
        self.begin = np.array([structure.offsets[node] for node in nodes])
        self.parents = np.zeros((len(nodes), most), int)
        self.strides = np.zeros((len(nodes), most), int)
        for i, node in enumerate(nodes):
            shape = structure.table_shape(node)
            for j, parent in enumerate(structure.parents[node]):
                self.parents[i, j] = parent
                self.strides[i, j] = math.prod(shape[j + 1 :])
        sizes = np.array([structure.sizes[node] for node in nodes])
        self.possible = np.arange(widest) < sizes[:, None]


@ft.lru_cache(maxsize=16)
def _generations(structure: Structure) -> tuple[_Generation, ...]:
    ages: list[int] = []
    for parents in structure.parents:
        ages.append(max((ages[parent] + 1 for parent in parents), default=0))
    ordered = sorted(range(len(ages)), key=lambda node: (ages[node], node))
    groups = itertools.groupby(ordered, key=lambda node: ages[node])
    return tuple(_Generation(structure, list(nodes)) for _, nodes in groups)
