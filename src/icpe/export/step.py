"""One step of a trained explorer as a function of arrays: state in, state out.

The first step, before any query, is one like the others, with the query `NOTHING`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from icpe.artifact import Artifact
from icpe.artifact.saved_rule import SavedRule
from icpe.core.arrays import Index, PyTree
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.paper import PaperExplorer
from icpe.export.network_step import step_of_networks, step_of_paper
from icpe.export.rule_step import step_of_rule
from icpe.export.told import NOTHING, Told

INPUTS = ("query", "outcome", "price", "max_queries", "position")
MASK_INPUTS = ("given_mask", "has_mask")
OUTPUTS = ("log_posterior", "ranking", "gain")
MASK = "query_mask"


@dataclasses.dataclass(frozen=True)
class Step:
    """A step, and the state before the first one.

    Attributes:
        function: from `INPUTS`, `MASK_INPUTS` if `reads_mask`, and the arrays of the
            state to `OUTPUTS`, the mask of queries if `gives_mask`, and the arrays of
            the state.
        start: the arrays of the state before the first step.
        reads_mask: whether its ranking depends on which queries are allowed next, so
            that it must be told where that is not what the family allows.
        gives_mask: whether it tells which queries the family allows next.
        num_queries: as in the spec of the family.
        outcome_size: as in the spec of the family.
    """

    function: Callable[..., list[Array]]
    start: tuple[np.ndarray, ...]
    reads_mask: bool
    gives_mask: bool
    num_queries: int
    outcome_size: int

    @property
    def shapes(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Of all inputs, in their order."""
        index = jax.ShapeDtypeStruct((), jnp.int32)
        number = jax.ShapeDtypeStruct((), jnp.float32)
        outcome = jax.ShapeDtypeStruct((self.outcome_size,), jnp.float32)
        mask = jax.ShapeDtypeStruct((self.num_queries,), jnp.bool)
        masks = (mask, jax.ShapeDtypeStruct((), jnp.bool)) if self.reads_mask else ()
        state = [jax.ShapeDtypeStruct(it.shape, it.dtype) for it in self.start]
        return (index, outcome, number, index, index, *masks, *state)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of all inputs."""
        masks = MASK_INPUTS if self.reads_mask else ()
        return (*INPUTS, *masks, *(f"state_{i}" for i in range(len(self.start))))

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of all outputs."""
        mask = (MASK,) if self.gives_mask else ()
        state = (f"new_state_{i}" for i in range(len(self.start)))
        return (*OUTPUTS, *mask, *state)


def step_of(artifact: Artifact) -> Step:
    """One step of the explorer of an artifact.

    Raises:
        UnsupportedError: it is no explorer that can be written as one.
    """
    spec, is_rule = artifact.family.spec, isinstance(artifact.nets, SavedRule)
    start, read = _start_and_read(artifact)
    known = _mask_function(artifact.family)
    asked = jnp.zeros(spec.num_queries, bool) if is_rule and spec.ask_once else None
    history = None
    if known is not None:
        shape = (spec.horizon + 1, spec.outcome_size)
        history = (jnp.full(spec.horizon, NOTHING, jnp.int32), jnp.zeros(shape))
    leaves, structure = jax.tree.flatten((start, history, asked))

    def function(query, outcome, price, max_queries, position, *rest):
        told = Told(query, outcome, price, max_queries, position)
        given, state = (rest[:2], rest[2:]) if is_rule else ((), rest)
        before, history, asked = jax.tree.unflatten(structure, state)
        mask = allowed = jnp.ones(spec.num_queries, bool)
        if known is not None:
            history = _written(history, told)
            mask = allowed = known(history, position)
        if given:
            allowed = jnp.where(given[1], given[0], mask)
        if asked is not None:
            asked = asked | (jnp.arange(spec.num_queries) == query)
            allowed = allowed & ~asked
        reply, after = read(told, before, allowed)
        outputs: list[Any] = [reply.log_posterior, reply.ranking, reply.gain]
        if known is not None:
            outputs.append(mask)
        return [*outputs, *jax.tree.leaves((after, history, asked))]

    return Step(
        function,
        tuple(np.asarray(leaf) for leaf in leaves),
        reads_mask=is_rule,
        gives_mask=known is not None,
        num_queries=spec.num_queries,
        outcome_size=spec.outcome_size,
    )


def _start_and_read(artifact: Artifact) -> tuple[PyTree, Callable]:
    """The state of the explorer before the first step, and how it reads one."""
    if isinstance(artifact.nets, SavedRule):
        return step_of_rule(artifact.nets, artifact.family.spec)
    explorer = artifact.explorer
    if isinstance(explorer, NeuralExplorer):
        return step_of_networks(explorer.nets)
    if isinstance(explorer, PaperExplorer):
        return step_of_paper(explorer.nets)
    raise UnsupportedError(
        f"An explorer of the kind {type(explorer).__name__} cannot be exported; "
        "networks made by icpe train and rules made by icpe rule can."
    )


def _mask_function(
    family: AbstractTaskFamily,
) -> Callable[[PyTree, Index], Bool[Array, "queries"]] | None:
    """Which queries the family allows after a history, None if all or unknown."""
    spec = family.spec
    if not spec.masks_queries:
        return None
    nothing = History(
        queries=jnp.zeros(0, jnp.int32),
        outcomes=jnp.zeros((1, spec.outcome_size)),
        length=jnp.zeros((), jnp.int32),
    )
    if family.query_mask(nothing.outcomes[0], nothing) is None:
        return None

    def mask(history, position):
        queries, outcomes = history
        told = History(queries=queries, outcomes=outcomes, length=position)
        allowed = family.query_mask(outcomes[0], told)
        assert allowed is not None
        return allowed

    return mask


def _written(history: PyTree, told: Told) -> PyTree:
    queries, outcomes = history
    at = jnp.arange(queries.shape[0]) == told.position - 1
    row = (jnp.arange(outcomes.shape[0]) == told.position)[:, None]
    return (
        jnp.where(at, told.query, queries),
        jnp.where(row, told.outcome[None], outcomes),
    )
