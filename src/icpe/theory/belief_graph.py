"""All beliefs that queries can lead to in a finite model, and the ways between them.

Beliefs are posteriors over tasks. Different orders of the same outcomes, and different
outcomes with the same likelihood ratios, lead to the same belief, so there are far
fewer beliefs than histories. Beliefs that agree to `_DIGITS` digits count as one; the
value of a policy is linear in the belief, so this changes an optimum of T steps by at
most about T * tasks * 10 ** -_DIGITS.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from icpe.core.errors import InvalidParameterError
from icpe.theory.finite_model import FiniteModel

_DIGITS = 8
_IMPOSSIBLE = 1e-14
MOST_NUMBERS = 4_000_000
"""Largest product of beliefs, queries, outcomes and tasks of a program."""


class TooManyBeliefsError(InvalidParameterError):
    """A model whose dynamic program does not fit."""


@dataclasses.dataclass(frozen=True)
class BeliefGraph:
    """Beliefs, the prior first, and what each query leads to.

    Attributes:
        sure: largest probability of a hypothesis at each belief.
        asks: the beliefs at which queries are considered; episodes stop at the others.
        allowed: which queries may be made there.
        probability: of each outcome of each query there.
        child: the belief after it; 0 where the outcome is impossible.
        row: the place of each belief in `asks`, -1 where it is not there.
        until: how many of `asks` are reached within each number of steps.
        is_complete: whether beliefs without queries are certain, or at the last step.
    """

    sure: Float[np.ndarray, "beliefs"]
    asks: Int[np.ndarray, "asking"]
    allowed: Bool[np.ndarray, "asking queries"]
    probability: Float[np.ndarray, "asking queries outcomes"]
    child: Int[np.ndarray, "asking queries outcomes"]
    row: Int[np.ndarray, "beliefs"]
    until: Int[np.ndarray, "steps"]
    is_complete: bool

    def num_asking(self, num_steps: int) -> int:
        """How many of `asks` are reached within so many steps; they come first."""
        return int(self.until[min(num_steps, len(self.until) - 1)])

    @property
    def num_queries(self) -> int:
        """How many queries there are."""
        return self.allowed.shape[1]


def grow(
    model: FiniteModel,
    max_queries: int,
    sure_enough: float,
    *,
    ask_once: bool = False,
) -> BeliefGraph:
    """Enumerates the beliefs after up to `max_queries` queries, step by step.

    Args:
        model: the tasks.
        max_queries: most queries of an episode.
        sure_enough: beliefs that err with at most this probability are not expanded.
        ask_once: whether each query can be made once; a belief then knows which were.

    Raises:
        TooManyBeliefsError: the program is too large.
    """
    tables = _Tables.of(model)
    layer, asked = tables.prior[None], np.zeros((1, tables.num_queries), bool)
    index = {_keys(layer, asked)[0].tobytes(): 0}
    first, complete = 0, True
    sures, parts = [tables.sure(layer)], []
    for step in range(max_queries):
        doubt = 1.0 - sures[-1]
        expands = doubt > max(sure_enough, _IMPOSSIBLE)
        if ask_once:
            expands &= ~asked.all(axis=1)
        complete &= not np.any((doubt > _IMPOSSIBLE) & (doubt <= sure_enough))
        asks = first + np.flatnonzero(expands)
        layer, asked = layer[expands], asked[expands]
        if not len(asks):
            break
        tables.check_size(sum(len(part[0]) for part in parts) + len(asks), step + 1)
        allowed = ~asked if ask_once else np.ones_like(asked)
        probability, posterior, history = tables.ask(layer, asked, ask_once)
        possible = (probability > _IMPOSSIBLE) & allowed[:, :, None]
        probability = np.where(possible, probability, 0.0)
        child = np.zeros(probability.shape, np.int64)
        first = len(index)
        posterior, history = posterior[possible], history[possible]
        child[possible], fresh = _number(index, _keys(posterior, history))
        layer, asked = posterior[fresh], history[fresh]
        sures.append(tables.sure(layer))
        parts.append((asks, allowed, probability, child))
    return _joined(np.concatenate(sures), parts, tables.likelihood.shape[1:], complete)


def _joined(sure, parts, shape: tuple[int, int], complete: bool) -> BeliefGraph:
    """The steps one after the other."""
    nothing = (
        np.zeros(0, np.int64),
        np.zeros((0, shape[0]), bool),
        np.zeros((0, *shape)),
        np.zeros((0, *shape), np.int64),
    )
    pieces = zip(nothing, *parts, strict=True)
    asks, allowed, probability, child = map(np.concatenate, pieces)
    row = np.full(len(sure), -1)
    row[asks] = np.arange(len(asks))
    until = np.cumsum([len(part[0]) for part in parts] or [0])
    return BeliefGraph(
        sure, asks, allowed, probability, child, row, until, bool(complete)
    )


def _number(index: dict[bytes, int], keys: np.ndarray):
    """The number of each belief, new ones in order, and where the new ones are."""
    distinct, places, inverse = np.unique(
        keys, axis=0, return_index=True, return_inverse=True
    )
    numbers, fresh = np.empty(len(distinct), np.int64), []
    for row, (key, place) in enumerate(zip(distinct, places, strict=True)):
        word = key.tobytes()
        if word not in index:
            index[word] = len(index)
            fresh.append(place)
        numbers[row] = index[word]
    return numbers[inverse.reshape(-1)], np.array(fresh, np.int64)


def _keys(posterior: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """What two equal beliefs share."""
    rounded = np.round(posterior * 10**_DIGITS).astype(np.int64)
    return np.concatenate([rounded, np.packbits(asked, axis=1)], axis=1)


@dataclasses.dataclass(frozen=True)
class _Tables:
    """The model as plain arrays."""

    prior: np.ndarray
    likelihood: np.ndarray
    owner: np.ndarray

    @staticmethod
    def of(model: FiniteModel) -> "_Tables":
        likelihood = np.exp(np.asarray(model.log_likelihood, float))
        prior = np.exp(np.asarray(model.log_prior, float))
        owner = np.eye(model.num_hypotheses)[np.asarray(model.hypotheses)]
        return _Tables(
            prior / prior.sum(), likelihood / likelihood.sum(-1, keepdims=True), owner
        )

    @property
    def num_queries(self) -> int:
        return self.likelihood.shape[1]

    def sure(self, posterior: np.ndarray) -> np.ndarray:
        return (posterior @ self.owner).max(axis=1)

    def ask(self, layer: np.ndarray, asked: np.ndarray, ask_once: bool):
        """Probabilities of all outcomes, the beliefs after them, what was asked."""
        joint = np.einsum("bt,tqo->bqot", layer, self.likelihood)
        probability = joint.sum(axis=3)
        posterior = joint / np.where(probability > 0, probability, 1.0)[..., None]
        query = np.eye(self.num_queries, dtype=bool) & ask_once
        history = asked[:, None, None, :] | query[None, :, None, :]
        shape = (*probability.shape, self.num_queries)
        return probability, posterior, np.broadcast_to(history, shape)

    def check_size(self, num_beliefs: int, num_steps: int) -> None:
        tasks, queries, outcomes = self.likelihood.shape
        if num_beliefs * tasks * queries * outcomes > MOST_NUMBERS:
            raise TooManyBeliefsError(
                "A dynamic program may have at most "
                f"{MOST_NUMBERS // (tasks * queries * outcomes)} beliefs where there "
                f"are {tasks} tasks, {queries} queries and {outcomes} outcomes; "
                f"{num_steps} steps lead to {num_beliefs}; ask for fewer steps."
            )
