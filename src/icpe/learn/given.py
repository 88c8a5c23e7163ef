"""Predictions that a family gives: nothing has to be counted.

A family may give the likelihood of its outcomes, or an exact belief that reckons with
finitely many classes of tasks, several for a hypothesis that does not fix the law (the
abilities within a band of an adaptive test): both are tables. Where outcomes are many,
or depend on one another given the hypothesis as the findings of a Bayesian network do,
the exact belief itself takes the place of tables, if it is cheap enough to be asked at
every position of every episode.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from icpe.core.belief import AbstractBelief, AbstractPredictiveBelief, TaskClasses
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.likelihood import LikelihoodBelief, belief_for, given_probabilities
from icpe.core.simulate import reveals_something
from icpe.core.spec import TaskSpec
from icpe.nets.exact import ExactPredictions, posterior_of
from icpe.nets.looking_ahead import TabledBelief
from icpe.nets.outcome_tables import SymbolTable
from icpe.nets.predictions import Predictions

_LEAST_PROBABILITY = 1e-12
_NO_WEIGHT = -60.0
_MOST_CLASSES = 4096
_BATCH = 16
"""Episodes among which what they share is divided; a belief of a family's own may take
a batch in a loop, of which the compiler counts one step, and is counted alone."""
_SLOW = 8.0
"""Operations that an exponential or a logarithm takes the time of."""


def given_tables(
    family: AbstractTaskFamily,
    symbols: Float[np.ndarray, "symbols outcome"],
    largest: int,
) -> Predictions | None:
    """The tables of a family with few outcomes, None where it gives none.

    Args:
        family: one that reveals nothing at reset.
        symbols: all its outcomes.
        largest: entries that a table may have.
    """
    spec = family.spec
    number = spec.num_hypotheses
    found = None
    if number * spec.num_queries * len(symbols) <= largest:
        found = given_probabilities(family, symbols)
    if found is not None:
        prior = jax.nn.log_softmax(family.log_prior())
        alone = TaskClasses(
            prior, jnp.log(found), jnp.arange(number), jnp.asarray(symbols)
        )
        return _predictions(family, alone)
    try:
        belief = family.exact_belief()
    except UnsupportedError:
        return None
    classes = None if belief is None else belief.classes()
    if classes is None or not _fits(classes, symbols, largest):
        return None
    return _predictions(family, classes)


def given_belief(
    family: AbstractTaskFamily, usual: float, largest: float | None = None
) -> ExactPredictions | None:
    """The exact belief of a family as predictions, None where it has none or is slow.

    That of a likelihood looks ahead less finely where that makes it fast enough.

    Args:
        family: any.
        usual: operations that all looks of one episode may take.
        largest: the same of a belief that knows no other way to look; as usual if None.
    """
    try:
        belief = belief_for(family)
    except UnsupportedError:
        return None
    if _ignores_reset(belief, family):
        return None
    while isinstance(belief, AbstractPredictiveBelief):
        most, coarser = usual if largest is None else largest, None
        if isinstance(belief, LikelihoodBelief):
            most, coarser = usual, belief.coarser()
        if operations_of(belief, family.spec) <= most:
            return ExactPredictions.of(family.spec, belief)
        belief = coarser
    return None


def given_posterior(
    family: AbstractTaskFamily, tables: Predictions, largest: float
) -> ExactPredictions | None:
    """The exact posterior of a family, which looks ahead by counted tables.

    None where there is none, or where even that takes long.

    Args:
        family: any.
        tables: counted in its episodes.
        largest: operations that all updates of one episode may take.
    """
    belief = posterior_of(family)
    if belief is None or _ignores_reset(belief, family):
        return None
    if operations_of(belief, family.spec) > largest:
        return None
    return ExactPredictions.of(family.spec, TabledBelief(belief, tables))


def _ignores_reset(belief: AbstractBelief, family: AbstractTaskFamily) -> bool:
    """Whether it leaves out what a reset reveals, of which a likelihood says nothing.

    Such a belief is true, but others know more.
    """
    return isinstance(belief, LikelihoodBelief) and reveals_something(family)


def operations_of(belief: AbstractBelief, spec: TaskSpec) -> float:
    """Those of updates and looks in an episode, as the compiler counts them."""
    batch_size = _BATCH if isinstance(belief, LikelihoodBelief) else 1
    outcomes = jnp.zeros((batch_size, spec.outcome_size))
    arrays, rest = eqx.partition(belief, eqx.is_array)

    def look(arrays, outcome):
        belief = eqx.combine(arrays, rest)
        state = belief.update(belief.init(outcome), jnp.zeros((), int), outcome)
        if isinstance(belief, AbstractPredictiveBelief):
            return belief.outlook(state)
        return belief.log_posterior(state)

    batch = jax.jit(jax.vmap(look, in_axes=(None, 0)))
    found = batch.lower(arrays, outcomes).cost_analysis() or {}
    each = found.get("flops", np.inf) + _SLOW * found.get("transcendentals", 0.0)
    return (spec.horizon + 1) * each / batch_size


def _fits(classes: TaskClasses, symbols, largest: int) -> bool:
    """Whether the classes are few, and their outcomes those that were seen."""
    known = np.asarray(classes.outcomes)
    if len(classes.log_prior) > _MOST_CLASSES or classes.log_likelihood.size > largest:
        return False
    if known.shape[1] != symbols.shape[1]:
        return False
    distance = np.abs(symbols[:, None] - known[None]).max(axis=2)
    return bool(np.all(distance.min(axis=1) <= 1e-4 * np.abs(known).max()))


def _predictions(family: AbstractTaskFamily, classes: TaskClasses) -> Predictions:
    """Classes are put hypothesis by hypothesis, as many for each as the most has."""
    spec = family.spec
    hypotheses = np.asarray(classes.hypotheses)
    sizes = np.bincount(hypotheses, minlength=spec.num_hypotheses)
    num_each = int(sizes.max())
    order = np.argsort(hypotheses, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rank = np.arange(len(order)) - starts[hypotheses[order]]
    places = hypotheses[order] * num_each + rank
    num_classes = spec.num_hypotheses * num_each
    log_prior = np.full(num_classes, _NO_WEIGHT)
    log_prior[places] = np.maximum(np.asarray(classes.log_prior), _NO_WEIGHT)[order]
    logs = np.maximum(np.asarray(classes.log_likelihood), np.log(_LEAST_PROBABILITY))
    _, num_queries, num_outcomes = logs.shape
    table = np.full((num_classes, num_queries, num_outcomes), -np.log(num_outcomes))
    table[places] = logs[order]
    outcomes = SymbolTable(
        jnp.asarray(classes.outcomes, jnp.float32),
        jnp.asarray(np.moveaxis(table, 0, -1), jnp.float32),
    )
    return Predictions.of(spec, jnp.asarray(log_prior, jnp.float32), outcomes)
