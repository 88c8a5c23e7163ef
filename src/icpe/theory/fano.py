"""The least mean cost of any explorer, by Fano's inequality and channel capacities.

To err with probability at most delta on average over the prior takes the information
H(prior) - h(delta) - delta log(K - 1) about the hypothesis (Fano's inequality; Cover
and Thomas, Theorem 2.10.1). Whatever was asked before, query q tells at most the
capacity C_q of the channel from task to outcome, so that the information of an episode
is at most the mean of its summed capacities. With costs c_q:

    E[cost] >= (H(prior) - h(delta) - delta log(K - 1)) / max_q C_q / c_q

It holds for every explorer that knows the prior, adaptive or not, whenever it stops.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import entr, rel_entr

_NUM_ITERATIONS = 200


def capacity_bound(channel: Float[np.ndarray, "tasks outcomes"]) -> float:
    """An upper bound on the capacity of a channel, in nats, tight to many digits.

    The largest divergence of a row from any law of outcomes is one; the law is that of
    Blahut and Arimoto after some iterations.
    """
    weights = np.full(len(channel), 1.0 / len(channel))
    for _ in range(_NUM_ITERATIONS):
        divergences = rel_entr(channel, weights @ channel).sum(axis=1)
        weights = weights * np.exp(divergences - divergences.max())
        weights = np.maximum(weights / weights.sum(), 1e-12)
    law = weights @ channel / weights.sum()
    return float(rel_entr(channel, law).sum(axis=1).max())


def fano_mean_cost(
    prior: Float[np.ndarray, "hypotheses"],
    channels: Float[np.ndarray, "tasks queries outcomes"],
    costs: Float[np.ndarray, "queries"],
    error_prob: float,
) -> float:
    """A lower bound on the mean cost of explorers that err at most so often.

    Infinite where no query tells anything.

    Args:
        prior: probability of each hypothesis.
        channels: probability of each outcome of each query in each task.
        costs: of the queries.
        error_prob: the error probability, on average over the prior.
    """
    number = len(prior)
    if error_prob >= 1.0 - 1.0 / number:
        return 0.0
    doubt = entr(error_prob) + entr(1.0 - error_prob)
    needed = entr(prior).sum() - doubt - error_prob * np.log(number - 1)
    if needed <= 0.0:
        return 0.0
    rates = [capacity_bound(channels[:, q]) / cost for q, cost in enumerate(costs)]
    return float(needed / max(rates)) if max(rates) > 0.0 else float("inf")
