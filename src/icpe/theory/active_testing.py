"""Which query separates the hypotheses of a finite model: two classical answers."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import linprog

from icpe.theory.finite_model import FiniteModel, LogWeights

_LEAST_PROB = 1e-6
"""Rarer outcomes count as this rare, so that divergences are finite."""


def pairwise_divergences(
    model: FiniteModel,
) -> Float[np.ndarray, "tasks tasks queries"]:
    """KL(task i, task j) of the outcome of each query, at most ln(10^6)."""
    probs = np.maximum(np.exp(np.asarray(model.log_likelihood, float)), _LEAST_PROB)
    probs = probs / probs.sum(-1, keepdims=True)
    logs = np.log(probs)
    own = np.einsum("iqo,iqo->iq", probs, logs)
    return own[:, None] - np.einsum("iqo,jqo->ijq", probs, logs)


def chernoff_proportions(model: FiniteModel) -> Float[np.ndarray, "tasks queries"]:
    """For each task the law of queries that separates it fastest from all others.

    The maximizer of min over j with another answer of sum_q law_q KL(i, j; q), a
    linear program for each task i (Chernoff 1959, "Sequential design of experiments").
    """
    divergences = pairwise_divergences(model)
    answers = np.asarray(model.hypotheses)
    rows = []
    for task, answer in enumerate(answers):
        rivals = divergences[task][answers != answer]
        rows.append(_max_min_law(rivals))
    return np.stack(rows)


def _max_min_law(payoffs: Float[np.ndarray, "rivals queries"]) -> np.ndarray:
    """The law that maximizes the least mean payoff."""
    num_rivals, num_queries = payoffs.shape
    result = linprog(
        c=np.append(np.zeros(num_queries), -1.0),
        A_ub=np.hstack([-payoffs, np.ones((num_rivals, 1))]),
        b_ub=np.zeros(num_rivals),
        A_eq=np.append(np.ones(num_queries), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * num_queries + [(None, None)],
    )
    law = np.maximum(result.x[:-1], 0.0)
    return law / law.sum()


def extrinsic_divergences(
    model: FiniteModel, log_weights: LogWeights
) -> Float[Array, "queries"]:
    """Extrinsic Jensen-Shannon divergence of each query under a belief.

    The sum over tasks i of p_i KL(law given i, law given not i), the expected rise of
    the log odds of the truth (Naghshvar, Javidi and Wigger 2015, "Extrinsic
    Jensen-Shannon divergence: applications to variable-length coding").
    """
    weights = jax.nn.softmax(log_weights)[:, None, None]
    laws = jnp.exp(model.log_likelihood)
    mixture = jnp.sum(weights * laws, axis=0, keepdims=True)
    others = jnp.maximum(mixture - weights * laws, 0.0)
    others = others / jnp.maximum(jnp.sum(others, axis=2, keepdims=True), _LEAST_PROB)
    ratios = jnp.maximum(laws, _LEAST_PROB) / jnp.maximum(others, _LEAST_PROB)
    return jnp.sum(weights * laws * jnp.log(ratios), axis=(0, 2))
