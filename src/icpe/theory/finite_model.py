"""Exact beliefs in a finite Bayesian model: tasks, queries and outcomes in a table.

A model is a prior over finitely many tasks, each with the law of the outcome of each
query and the hypothesis that is true in it. Several tasks may share a hypothesis.
Outcomes of repeated queries are independent given the task, so a belief is one
log-weight per task, and the counts of outcomes are a sufficient statistic.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index
from icpe.core.errors import InvalidParameterError

LogWeights = Float[Array, "tasks"]


class FiniteModel(eqx.Module):
    """A prior over tasks, their likelihoods and their hypotheses.

    Attributes:
        log_prior: log-probability of each task.
        log_likelihood: log-probability of each outcome of each query in each task;
            minus infinity where it cannot happen.
        hypotheses: the true hypothesis of each task.
        num_hypotheses: how many hypotheses there are.
    """

    log_prior: LogWeights
    log_likelihood: Float[Array, "tasks queries outcomes"]
    hypotheses: Int[Array, "tasks"]
    num_hypotheses: int = eqx.field(static=True)


def finite_model(
    prior: Float[np.ndarray, "tasks"],
    likelihood: Float[np.ndarray, "tasks queries outcomes"],
    hypotheses: Int[np.ndarray, "tasks"] | None = None,
) -> FiniteModel:
    """Builds a model from probabilities.

    Args:
        prior: probability of each task.
        likelihood: probability of each outcome of each query in each task.
        hypotheses: the true hypothesis of each task; each its own if None.

    Raises:
        InvalidParameterError: the numbers are not probabilities.
    """
    for name, table in (("prior", prior), ("likelihood", likelihood)):
        sums = table.sum(-1)
        if not (np.all(table >= 0) and np.allclose(sums, 1.0, atol=1e-6)):
            raise InvalidParameterError(
                f"{name} must be nonnegative and sum to 1 along its last axis; its "
                f"smallest entry is {table.min():.6g} and its sums range from "
                f"{sums.min():.6g} to {sums.max():.6g}."
            )
    if hypotheses is None:
        hypotheses = np.arange(len(prior))
    if hypotheses.min() < 0:
        raise InvalidParameterError(
            f"hypotheses must be numbered from 0; got {hypotheses.min()}."
        )
    with np.errstate(divide="ignore"):
        return FiniteModel(
            log_prior=jnp.asarray(np.log(prior)),
            log_likelihood=jnp.asarray(np.log(likelihood)),
            hypotheses=jnp.asarray(hypotheses),
            num_hypotheses=int(hypotheses.max()) + 1,
        )


def update(
    model: FiniteModel, log_weights: LogWeights, query: Index, outcome: Index
) -> LogWeights:
    """The weights after one more outcome, not normalized."""
    return log_weights + model.log_likelihood[:, query, outcome]


def log_weights_of_counts(
    model: FiniteModel, counts: Float[Array, "queries outcomes"]
) -> LogWeights:
    """The weights after each outcome of each query was seen so often."""
    counts = counts[None]
    terms = jnp.where(counts > 0, model.log_likelihood, 0.0) * counts
    return model.log_prior + jnp.sum(terms, axis=(1, 2))


def hypothesis_log_posterior(
    model: FiniteModel, log_weights: LogWeights
) -> Float[Array, "hypotheses"]:
    """Log-probability of each hypothesis; all minus infinity if no task is left."""
    tops = jax.ops.segment_max(log_weights, model.hypotheses, model.num_hypotheses)
    tops = jnp.where(jnp.isfinite(tops), tops, 0.0)
    sums = _sum_by_hypothesis(model, jnp.exp(log_weights - tops[model.hypotheses]))
    log_sums = jnp.log(sums) + tops
    total = logsumexp(log_sums)
    return log_sums - jnp.where(jnp.isfinite(total), total, 0.0)


def outcome_probabilities(
    model: FiniteModel, log_weights: LogWeights
) -> Float[Array, "queries outcomes"]:
    """Probability of each outcome of each query under the current belief."""
    probs = jax.nn.softmax(log_weights)
    return jnp.einsum("t,tqo->qo", probs, jnp.exp(model.log_likelihood))


def information_gains(
    model: FiniteModel, log_weights: LogWeights
) -> Float[Array, "queries"]:
    """Expected information, in nats, of each query about the hypothesis.

    The mutual information between the hypothesis and the outcome, which is the
    expected fall of the hypothesis' entropy (Lindley 1956); its maximizer is the
    myopic query of information-directed sampling for identification.
    """
    probs = jax.nn.softmax(log_weights)
    joint = _sum_by_hypothesis(
        model, probs[:, None, None] * jnp.exp(model.log_likelihood)
    )
    alone = _sum_by_hypothesis(model, probs)[:, None, None] * jnp.sum(
        joint, axis=0, keepdims=True
    )
    possible = joint > 0
    ratio = jnp.where(possible, joint, 1.0) / jnp.where(possible, alone, 1.0)
    return jnp.sum(joint * jnp.log(ratio), axis=(0, 2))


def _sum_by_hypothesis(
    model: FiniteModel, values: Float[Array, "tasks ..."]
) -> Float[Array, "hypotheses ..."]:
    return jax.ops.segment_sum(values, model.hypotheses, model.num_hypotheses)
