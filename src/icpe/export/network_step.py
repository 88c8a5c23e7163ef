"""One step of networks: a token in, estimates out.

The state are caches, and what predictions keep of a history: weights of classes, or the
statistics of an exact belief, which becomes a part of the step with its family's data.
"""

import dataclasses
import functools as ft
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from icpe.core.arrays import PyTree
from icpe.core.memory import StepCount
from icpe.explorers.neural.inputs import Predicted
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.paper import PaperNets
from icpe.export.told import Reply, Told
from icpe.nets.evidence import AbstractPredictions
from icpe.nets.predictions import Predictions
from icpe.nets.tokens import token_after


def step_of_networks(nets: ExplorerNets) -> tuple[PyTree, Callable]:
    """The state before the first step, and the step, of the universal learner's."""
    spec, kind = nets.spec, nets.config.summary_kind(nets.spec)
    nets = nets.with_predictions(_at_once(nets.predictions))
    summary = None if kind is None else kind.empty(spec.num_queries, spec.outcome_size)
    tables, predicted = nets.predictions, None
    if tables is not None:
        nothing = jnp.zeros(spec.outcome_size)
        predicted = Predicted.start(tables, spec.num_queries, nothing)

    def read(told: Told, state: PyTree, allowed) -> tuple[Reply, PyTree]:
        caches, summary, predicted = state
        outcome = nets.config.normalize(spec, told.outcome)
        token, summary = token_after(told.query, outcome, spec.num_queries, summary)
        if predicted is not None:
            assert tables is not None
            predicted = told.next_state(
                ft.partial(Predicted.start, tables, spec.num_queries),
                ft.partial(predicted.after, tables),
            )
        position = StepCount(told.position, spec.horizon)
        estimates, caches = nets.step(
            token, told.price, told.max_queries, caches, position, predicted
        )
        never = jnp.ones_like(estimates.gain)
        stops = (told.price > 0) & spec.can_stop
        gain = jnp.where(stops, estimates.gain, never)
        ranking = jnp.where(
            (told.price == 0) & _is_certain(estimates.log_posterior),
            0.0,
            estimates.ranking,
        )
        reply = Reply(estimates.log_posterior, ranking, gain)
        return reply, (caches, summary, predicted)

    return (nets.init_caches(), summary, predicted), read


def _is_certain(log_posterior) -> Array:
    """Whether single precision has no room for an error.

    The rest of a budget is then of no use, so the original ranks all queries alike;
    in double precision the error would be small and the ranking arbitrary.
    """
    return jnp.max(log_posterior) > -0.5 * jnp.finfo(jnp.float32).eps


def step_of_paper(nets: PaperNets) -> tuple[PyTree, Callable]:
    """The same of networks of the paper's learner."""
    spec, kind = nets.spec, nets.config.summary_kind(nets.spec)
    summary = None if kind is None else kind.empty(spec.num_queries, spec.outcome_size)

    def read(told: Told, state: PyTree, allowed) -> tuple[Reply, PyTree]:
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


class _TablesAtOnce(Predictions):
    """The same tables; what is done block by block for compilers is done at once."""

    def _most_probable(self, weights, cells):
        return jnp.max(self._joint(weights, cells), axis=-1)


def _at_once(predictions: AbstractPredictions | None) -> AbstractPredictions | None:
    """The same, with all tables in it, those of beliefs included, read at once."""

    def replaced(node):
        if type(node) is not Predictions:
            return node
        fields = dataclasses.fields(node)
        return _TablesAtOnce(**{it.name: getattr(node, it.name) for it in fields})

    return jax.tree.map(
        replaced, predictions, is_leaf=lambda node: isinstance(node, Predictions)
    )
