"""The belief of a binary search whose answers may be wrong.

A number is uniform on 0..size-1. The true answer to a guess is the sign of
(number - guess): lower, hit or higher. With probability `error_prob` the answer is
wrong: one of the other two, each equally likely, independently at every guess. Answers
are numbered 0, 1, 2 for -1, 0, +1. With error probability 0 it is exact binary search.
"""

import numpy as np
from scipy.special import entr

from icpe.core.checks import check_at_least
from icpe.core.errors import InvalidParameterError
from icpe.theory.finite_model import FiniteModel, finite_model


def noisy_search_model(size: int, error_prob: float) -> FiniteModel:
    """Noisy binary search as a finite model, a task for each number.

    Raises:
        InvalidParameterError: fewer than two numbers, or not a probability.
    """
    check_at_least("size", size, 2)
    if not 0.0 <= error_prob <= 1.0:
        raise InvalidParameterError(
            f"error_prob must lie between 0 and 1; got {error_prob}."
        )
    numbers = np.arange(size)
    truth = 1 + np.sign(numbers[:, None] - numbers[None, :])
    is_true = truth[:, :, None] == np.arange(3)
    return finite_model(
        prior=np.full(size, 1.0 / size),
        likelihood=np.where(is_true, 1.0 - error_prob, error_prob / 2.0),
    )


def noisy_search_least_queries(size: int, noise: float, error_prob: float) -> float:
    """A lower bound on the mean number of guesses, for every explorer.

    To err with probability at most delta on average takes the information
    log K - h(delta) - delta log(K - 1) (Fano's inequality), and a guess tells at most
    the capacity log 3 - h(noise) - noise log 2 of the channel from the true answer to
    the one given. It holds on average over the prior, whatever the explorer knows.
    """
    needed = np.log(size) - _entropy(error_prob) - error_prob * np.log(size - 1)
    capacity = np.log(3.0) - _entropy(noise) - noise * np.log(2.0)
    if error_prob >= 1.0 - 1.0 / size:
        return 0.0
    return float(needed / capacity)


def _entropy(prob: float) -> float:
    """Of a coin, in nats."""
    return float(entr(prob) + entr(1.0 - prob))
