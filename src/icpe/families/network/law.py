"""The family of a Bayesian network."""

import functools as ft
import itertools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PRNGKey
from icpe.core.belief import AbstractPredictiveBelief, Outlook
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
from icpe.core.small_batches import in_small_batches
from icpe.core.spec import TaskSpec
from icpe.families.likelihoods.law import as_names, as_names_of_each, as_numbers
from icpe.theory.network_inference import (
    Structure,
    joint_and_marginals,
    log_joint,
    prior_of_target,
)

MOST_WORK = 2**22
"""Entries of tables up to which the exact posterior is computed."""
_TOGETHER = 2**21
"""Entries of the tables of all that is computed at once."""

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

    def exact_belief(self) -> "NetworkBelief | None":
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


class NetworkBelief(AbstractPredictiveBelief):
    """The exact posterior of the target; its statistics are the states seen.

    They are a number for each query: the state, or -1 where it is not known.
    """

    tables: Float[Array, "entries"]
    log_prior: Float[Array, "hypotheses"]
    structure: Structure = eqx.field(static=True)
    nodes: tuple[int, ...] = eqx.field(static=True)

    def init(self, first_outcome: Float[Array, "outcome"]) -> Float[Array, "queries"]:
        return jnp.full(len(self.nodes), -1.0)

    def update(
        self,
        state: Float[Array, "queries"],
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> Float[Array, "queries"]:
        is_asked = jnp.arange(len(self.nodes)) == query
        return jnp.where(is_asked, jnp.round(outcome[0]), state)

    def log_posterior(
        self, state: Float[Array, "queries"]
    ) -> Float[Array, "hypotheses"]:
        """States that cannot occur together lead back to the prior."""
        evidence = self._evidence(state)
        return self._believed(self._few_at_a_time(log_joint)(self.tables, evidence))

    def information_gains(
        self, state: Float[Array, "queries"]
    ) -> Float[Array, "queries"]:
        """Mutual information of the target and each variable, given what was seen."""
        return self.outlook(state).information

    def outlook(self, state: Float[Array, "queries"]) -> Outlook:
        """From one elimination, and its pass backwards."""
        logs, marginals = self.joint_and_marginals(state)
        log_posterior = self._believed(logs)
        hypotheses = jnp.exp(log_posterior)
        joint = hypotheses[:, None, None] * marginals[:, jnp.asarray(self.nodes)]
        mixed = jnp.sum(joint, axis=0)
        told = (
            jnp.sum(entr(mixed), axis=1)
            + jnp.sum(entr(hypotheses))
            - jnp.sum(entr(joint), axis=(0, 2))
        )
        # What was seen already tells nothing, and its marginals are others.
        is_new, right = state < 0, jnp.max(hypotheses)
        after = jnp.sum(jnp.max(joint, axis=0), axis=1)
        return Outlook(
            log_posterior,
            jnp.where(is_new, jnp.maximum(told, 0.0), 0.0),
            jnp.where(is_new, after, right),
        )

    def joint_and_marginals(self, state: Float[Array, "queries"]):
        """As in `icpe.theory.network_inference`, given what was seen."""
        found = self._few_at_a_time(joint_and_marginals)
        return found(self.tables, self._evidence(state))

    def _evidence(self, state: Float[Array, "queries"]) -> Float[Array, "nodes states"]:
        widest = self.structure.widest
        sizes = np.array(self.structure.sizes)[:, None]
        possible = jnp.asarray(np.arange(widest) < sizes, jnp.float32)
        seen = state[:, None] == jnp.arange(widest, dtype=state.dtype)[None]
        seen = jnp.where((state >= 0)[:, None], seen, True).astype(jnp.float32)
        return possible.at[jnp.asarray(self.nodes)].multiply(seen)

    def _few_at_a_time(self, function):
        """A function of tables and evidence, in batches that stay in a cache."""
        size = _TOGETHER // (self.structure.work + 1)
        return in_small_batches(ft.partial(function, self.structure), max(size, 1))

    def _believed(self, logs: Float[Array, "hypotheses"]) -> Float[Array, "hypotheses"]:
        possible = jnp.any(jnp.isfinite(logs))
        return jax.nn.log_softmax(jnp.where(possible, logs, self.log_prior))


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
