"""One step of a trained explorer as a function of arrays: state in, state out.

The first step, before any query, is one like the others, with the query `NOTHING`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from icpe.artifact import Artifact
from icpe.artifact.saved_rule import SavedRule
from icpe.core.arrays import Index, PyTree, Scalar
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.memory import StepCount
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets, Predicted
from icpe.explorers.neural.paper import PaperExplorer, PaperNets
from icpe.nets.predictions import Predictions
from icpe.nets.tokens import token_after

NOTHING = -1
"""The query of the first step, which reads what the task reveals before any query."""
INPUTS = ("query", "outcome", "price", "max_queries", "position")
OUTPUTS = ("log_posterior", "ranking", "gain")
MASK = "query_mask"


class Told(eqx.Module):
    """What a step reads beside the state."""

    query: Index
    outcome: Float[Array, "outcome"]
    price: Scalar
    max_queries: Index
    position: Index


class Reply(eqx.Module):
    """What a step gives beside the state.

    The allowed query of largest `ranking` is asked next; the explorer stops if the
    `gain` of that query is not positive.
    """

    log_posterior: Float[Array, "hypotheses"]
    ranking: Float[Array, "queries"]
    gain: Float[Array, "queries"]


@dataclasses.dataclass(frozen=True)
class Step:
    """A step, and the state before the first one.

    Attributes:
        function: from `INPUTS` and the arrays of the state to `OUTPUTS`, the mask of
            queries if `gives_mask`, and the arrays of the state.
        start: the arrays of the state before the first step.
        gives_mask: whether it tells which queries the family allows next.
        outcome_size: as in the spec of the family.
    """

    function: Callable[..., list[Array]]
    start: tuple[np.ndarray, ...]
    gives_mask: bool
    outcome_size: int

    @property
    def shapes(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Of all inputs, in their order."""
        index = jax.ShapeDtypeStruct((), jnp.int32)
        number = jax.ShapeDtypeStruct((), jnp.float32)
        outcome = jax.ShapeDtypeStruct((self.outcome_size,), jnp.float32)
        state = [jax.ShapeDtypeStruct(it.shape, it.dtype) for it in self.start]
        return (index, outcome, number, index, index, *state)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of all inputs."""
        return (*INPUTS, *(f"state_{i}" for i in range(len(self.start))))

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
    if isinstance(artifact.nets, SavedRule):
        raise UnsupportedError(
            f"This explorer is the rule {artifact.nets.score!r}, which computes with "
            "the belief of its family and cannot be exported; train one with icpe "
            "train and export that."
        )
    explorer, spec = artifact.explorer, artifact.family.spec
    if isinstance(explorer, NeuralExplorer):
        start, read = _neural(explorer.nets)
    elif isinstance(explorer, PaperExplorer):
        start, read = _paper(explorer.nets)
    else:
        raise UnsupportedError(
            f"An explorer of the kind {type(explorer).__name__} cannot be exported; "
            "networks made by icpe train can."
        )
    mask = _mask_function(artifact.family)
    history = None
    if mask is not None:
        shape = (spec.horizon + 1, spec.outcome_size)
        history = (jnp.full(spec.horizon, NOTHING, jnp.int32), jnp.zeros(shape))
    leaves, structure = jax.tree.flatten((start, history))

    def function(query, outcome, price, max_queries, position, *state):
        told = Told(query, outcome, price, max_queries, position)
        before, history = jax.tree.unflatten(structure, state)
        reply, after = read(told, before)
        outputs: list[Any] = [reply.log_posterior, reply.ranking, reply.gain]
        if mask is not None:
            history = _written(history, told)
            outputs.append(mask(history, position))
        return [*outputs, *jax.tree.leaves((after, history))]

    start = tuple(np.asarray(leaf) for leaf in leaves)
    return Step(function, start, mask is not None, spec.outcome_size)


def _neural(nets: ExplorerNets) -> tuple[PyTree, Callable]:
    spec, kind = nets.spec, nets.config.summary_kind(nets.spec)
    nets = nets.with_predictions(_simple(nets.predictions))
    summary = None if kind is None else kind.empty(spec.num_queries, spec.outcome_size)
    predicted = None
    if nets.predictions is not None:
        log_weights = jnp.zeros_like(nets.predictions.log_prior)
        predicted = Predicted(log_weights, jnp.zeros(spec.num_queries))

    def read(told: Told, state: PyTree) -> tuple[Reply, PyTree]:
        caches, summary, predicted = state
        outcome = nets.config.normalize(spec, told.outcome)
        token, summary = token_after(told.query, outcome, spec.num_queries, summary)
        if predicted is not None:
            predicted = _predicted_after(nets, predicted, told)
        position = StepCount(told.position, spec.horizon)
        estimates, caches = nets.step(
            token, told.price, told.max_queries, caches, position, predicted
        )
        never = jnp.ones_like(estimates.gain)
        stops = (told.price > 0) & spec.can_stop
        gain = jnp.where(stops, estimates.gain, never)
        reply = Reply(estimates.log_posterior, estimates.ranking, gain)
        return reply, (caches, summary, predicted)

    return (nets.init_caches(), summary, predicted), read


def _predicted_after(nets: ExplorerNets, before: Predicted, told: Told) -> Predicted:
    assert nets.predictions is not None
    first = nets.predictions.start(told.outcome)
    query = jnp.maximum(told.query, 0)
    later = before.after(nets, query, told.outcome)
    is_first = told.query < 0
    return jax.tree.map(
        lambda one, two: jnp.where(is_first, one, two),
        Predicted(first, before.counts),
        later,
    )


def _paper(nets: PaperNets) -> tuple[PyTree, Callable]:
    spec, kind = nets.spec, nets.config.summary_kind(nets.spec)
    summary = None if kind is None else kind.empty(spec.num_queries, spec.outcome_size)

    def read(told: Told, state: PyTree) -> tuple[Reply, PyTree]:
        caches, summary = state
        outcome = spec.normalize(told.outcome)
        token, summary = token_after(told.query, outcome, spec.num_queries, summary)
        position = StepCount(told.position, spec.horizon)
        outputs, caches = nets.step(token, caches, position)
        values = outputs.values[:-1]
        gain = jnp.ones_like(values)
        if nets.learns_to_stop:
            gain = values - outputs.values[-1]
        return Reply(outputs.log_posterior, values, gain), (caches, summary)

    return (nets.init_caches(), summary), read


class _SimplePredictions(Predictions):
    """The same tables; what is done block by block for compilers is done at once."""

    def _most_probable(self, weights, cells):
        return jnp.max(self._joint(weights, cells), axis=-1)


def _simple(predictions: Predictions | None) -> Predictions | None:
    if predictions is None:
        return None
    fields = dataclasses.fields(predictions)
    values = {field.name: getattr(predictions, field.name) for field in fields}
    return _SimplePredictions(**values)


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
