"""Exact inference in a Bayesian network, given its target, by variable elimination.

With the target fixed, the rest of a diagnosis network often falls apart into small
pieces. For every state of the target at once the variables are summed out one after
the other; the derivative of the logarithm of the result by the evidence on a variable
is the posterior of that variable (Darwiche 2003, "A differential approach to inference
in Bayesian networks"), so that one pass backwards gives all of them.
"""

import dataclasses
import functools as ft
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

_TINY = 1e-37
_TARGET = 0
"""The label of the target's axis; node i has label i + 1."""


@dataclasses.dataclass(frozen=True)
class Structure:
    """The shape of a network, nodes in an order in which parents come first.

    Attributes:
        sizes: number of states of each node.
        parents: the parents of each node.
        target: the node asked about.
    """

    sizes: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    target: int

    @property
    def num_targets(self) -> int:
        """States of the target."""
        return self.sizes[self.target]

    @property
    def widest(self) -> int:
        """The most states that a node has, other than the target."""
        others = [it for i, it in enumerate(self.sizes) if i != self.target]
        return max(others, default=1)

    @ft.cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where the table of each node begins, and the end of all, in one vector."""
        tables = [math.prod(self.table_shape(node)) for node in range(len(self.sizes))]
        return tuple(np.concatenate([[0], np.cumsum(tables)]).tolist())

    def table_shape(self, node: int) -> tuple[int, ...]:
        """Axes of a node's table: its parents, then itself."""
        return tuple(self.sizes[it] for it in (*self.parents[node], node))

    @ft.cached_property
    def lonely(self) -> tuple[int, ...]:
        """Nodes without children whose only parent is the target, or that have none."""
        has_children = {parent for parents in self.parents for parent in parents}
        return tuple(
            node
            for node, parents in enumerate(self.parents)
            if node not in has_children
            and node != self.target
            and set(parents) <= {self.target}
        )

    @ft.cached_property
    def steps(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Other nodes in the order of elimination, each with those in its table.

        Greedily the one whose table is smallest (minimum weight).
        """
        without = {self.target, *self.lonely}
        neighbors: dict[int, set[int]] = {
            node: set() for node in range(len(self.sizes)) if node not in without
        }
        for node, parents in enumerate(self.parents):
            scope = {*parents, node} - without
            for one in scope:
                neighbors[one] |= scope - {one}
        order = []
        while neighbors:
            node = min(neighbors, key=lambda it: (self._size(neighbors[it], it), it))
            around = neighbors.pop(node)
            for one in around:
                neighbors[one] = (neighbors[one] | around) - {one, node}
            order.append((node, tuple(sorted(around))))
        return tuple(order)

    def _size(self, around: set[int], node: int) -> int:
        return math.prod(self.sizes[it] for it in (*around, node))

    @property
    def work(self) -> int:
        """Entries of all tables of an elimination, for all states of the target."""
        entries = sum(self._size(set(around), node) for node, around in self.steps)
        return self.num_targets * entries


def log_joint(
    structure: Structure,
    tables: Float[Array, "entries"],
    evidence: Float[Array, "nodes states"],
) -> Float[Array, "targets"]:
    """log P(target = h, evidence) for each state h of the target.

    Args:
        structure: of the network.
        tables: P(node | parents) of all nodes, one after the other, each in row-major
            order.
        evidence: the weight of each state of each node: 1 where it is possible, 0
            where it is not.
    """
    return _log_joint(structure, tables, _spread(structure, evidence))


def _log_joint(structure: Structure, tables, evidence: "_Evidence"):
    factors = _factors(structure, tables)
    alone, log_scale = _lonely(structure, tables, evidence.lonely)
    factors.append((alone, (_TARGET,)))
    for (node, _), possible in zip(structure.steps, evidence.each, strict=True):
        label = node + 1
        touched = [it for it in factors if label in it[1]]
        factors = [it for it in factors if label not in it[1]]
        touched.append((possible, (_TARGET, label)))
        message, labels = _summed_out(touched, label)
        axes = tuple(range(1, message.ndim))
        top = lax.stop_gradient(jnp.max(message, axis=axes)) if axes else message
        top = lax.stop_gradient(top)
        top = jnp.where(top > 0, top, 1.0)
        message = message / top.reshape((-1,) + (1,) * len(axes))
        log_scale = log_scale + jnp.log(top)
        factors.append((message, labels))
    total = jnp.ones(structure.num_targets)
    for values, labels in factors:
        assert labels == (_TARGET,)
        total = total * values
    possible = total > 0
    logs = jnp.log(jnp.where(possible, jnp.maximum(total, _TINY), 1.0))
    return jnp.where(possible, logs + log_scale, -jnp.inf)


def joint_and_marginals(
    structure: Structure,
    tables: Float[Array, "entries"],
    evidence: Float[Array, "nodes states"],
) -> tuple[Float[Array, "targets"], Float[Array, "targets nodes states"]]:
    """log P(target, evidence), and P(node = state | target, evidence) of every node.

    The latter is right of nodes without evidence; it is 0 where the target's state is
    impossible, and for the target itself.
    """

    def total(evidence):
        logs = _log_joint(structure, tables, evidence)
        return jnp.sum(jnp.where(jnp.isfinite(logs), logs, 0.0)), logs

    given = _spread(structure, evidence)
    (_, logs), found = jax.value_and_grad(total, has_aux=True)(given)
    number, widest = structure.num_targets, structure.widest
    nodes = [node for node, _ in structure.steps]
    wide = [jnp.pad(it, ((0, 0), (0, widest - it.shape[1]))) for it in found.each]
    rows = {node: len(structure.lonely) + i for i, node in enumerate(nodes)}
    rows |= {node: i for i, node in enumerate(structure.lonely)}
    nothing = jnp.zeros((number, 1, widest))
    stacked = [jnp.stack(wide, axis=1)] if wide else []
    every = jnp.concatenate([found.lonely, *stacked, nothing], axis=1)
    order = [rows.get(node, len(rows)) for node in range(len(structure.sizes))]
    return logs, every[:, np.array(order)]


def prior_of_target(
    structure: Structure, tables: Float[np.ndarray, "entries"]
) -> Float[np.ndarray, "targets"]:
    """P(target), without any evidence."""
    needed, rest = set(), [structure.target]
    while rest:
        node = rest.pop()
        if node not in needed:
            needed.add(node)
            rest.extend(structure.parents[node])
    factors = []
    for node in sorted(needed):
        begin, end = structure.offsets[node], structure.offsets[node + 1]
        scope = (*structure.parents[node], node)
        factors.append((tables[begin:end].reshape(structure.table_shape(node)), scope))
    # Children first: then every sum is over a table of a node and its blanket.
    for node in sorted(needed - {structure.target}, reverse=True):
        touched = [it for it in factors if node in it[1]]
        factors = [it for it in factors if node not in it[1]]
        out = sorted({label for _, scope in touched for label in scope} - {node})
        operands = [part for factor in touched for part in factor]
        factors.append((np.einsum(*operands, out), tuple(out)))
    prior = np.ones(structure.num_targets)
    for values, _ in factors:
        prior = prior * values
    return prior / prior.sum()


class _Evidence(NamedTuple):
    """Evidence for each state of the target, since derivatives by it are wanted.

    In an array for each node that is summed out, since derivatives by parts of one
    array would each fill all of it.

    Attributes:
        lonely: of all lonely nodes.
        each: of the others, in the order of elimination.
    """

    lonely: Float[Array, "targets lonely states"]
    each: tuple[Float[Array, "targets _"], ...]


def _spread(structure: Structure, evidence) -> _Evidence:
    spread = jnp.broadcast_to(evidence, (structure.num_targets, *evidence.shape))
    return _Evidence(
        spread[:, np.array(structure.lonely, int)],
        tuple(spread[:, node, : structure.sizes[node]] for node, _ in structure.steps),
    )


def _lonely(structure: Structure, tables, evidence):
    """What all lonely nodes say together: 1 where it is possible, and its logarithm."""
    if not structure.lonely:
        return jnp.ones(structure.num_targets), jnp.zeros(structure.num_targets)
    nodes = np.array(structure.lonely)
    sizes = np.array(structure.sizes)[nodes]
    begin = np.array(structure.offsets)[nodes]
    has_parent = np.array([len(structure.parents[node]) for node in nodes])
    states = np.arange(sizes.max())
    rows = np.arange(structure.num_targets)[:, None] * (sizes * has_parent) + begin
    places = rows[..., None] + states
    inside = states < sizes[:, None]
    places = np.where(inside, places, 0)
    chances = jnp.where(inside[None], tables[places], 0.0)
    told = jnp.sum(chances * evidence[..., : len(states)], axis=-1)
    possible = jnp.all(told > 0, axis=1)
    logs = jnp.sum(jnp.log(jnp.where(told > 0, told, 1.0)), axis=1)
    return possible.astype(tables.dtype), logs


def _factors(structure: Structure, tables):
    """The tables of the other nodes, the target's axis first if they have it."""
    factors = []
    for node in range(len(structure.sizes)):
        if node in structure.lonely:
            continue
        begin, end = structure.offsets[node], structure.offsets[node + 1]
        table = tables[begin:end].reshape(structure.table_shape(node))
        scope = [*structure.parents[node], node]
        if structure.target in scope:
            place = scope.index(structure.target)
            table = jnp.moveaxis(table, place, 0)
            scope.remove(structure.target)
            labels = (_TARGET, *(it + 1 for it in scope))
        else:
            labels = tuple(it + 1 for it in scope)
        factors.append((table, labels))
    return factors


def _summed_out(touched, label: int):
    """The product of factors, summed over one variable; the target's axis is first."""
    labels = sorted({it for _, scope in touched for it in scope} - {label, _TARGET})
    out = (_TARGET, *labels)
    operands = [part for values, scope in touched for part in (values, scope)]
    return jnp.einsum(*operands, out), out
