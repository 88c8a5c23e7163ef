"""One step of networks: a token in, estimates out, with caches as the state."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp

from icpe.core.arrays import PyTree
from icpe.core.errors import UnsupportedError
from icpe.core.memory import StepCount
from icpe.explorers.neural.networks import ExplorerNets, Predicted
from icpe.explorers.neural.paper import PaperNets
from icpe.export.told import Reply, Told
from icpe.nets.evidence import AbstractPredictions
from icpe.nets.predictions import Predictions
from icpe.nets.tokens import token_after


def step_of_networks(nets: ExplorerNets) -> tuple[PyTree, Callable]:
    """The state before the first step, and the step, of the universal learner's."""
    spec, kind = nets.spec, nets.config.summary_kind(nets.spec)
    tables = _simple(nets.predictions)
    nets = nets.with_predictions(tables)
    summary = None if kind is None else kind.empty(spec.num_queries, spec.outcome_size)
    predicted = None
    if tables is not None:
        log_weights = jnp.zeros_like(tables.log_prior)
        predicted = Predicted(log_weights, jnp.zeros(spec.num_queries))

    def read(told: Told, state: PyTree, allowed) -> tuple[Reply, PyTree]:
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


class _SimplePredictions(Predictions):
    """The same tables; what is done block by block for compilers is done at once."""

    def _most_probable(self, weights, cells):
        return jnp.max(self._joint(weights, cells), axis=-1)


def _simple(predictions: AbstractPredictions | None) -> Predictions | None:
    if predictions is None:
        return None
    if not isinstance(predictions, Predictions):
        raise UnsupportedError(
            "This explorer starts from the exact belief of its family, which is not "
            "exported; train one with --train.predictions counted to export it."
        )
    fields = dataclasses.fields(predictions)
    values = {field.name: getattr(predictions, field.name) for field in fields}
    return _SimplePredictions(**values)
