"""What outcomes a family gives, as far as belief and earlier answers tell.

Counted in episodes of the shipped explorer, for every query and hypothesis. Nothing
here has to be exact: the limits of the guard are measured with the same laws.
"""

import abc
import dataclasses

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_ndtr, logsumexp

from icpe.core.spec import TaskSpec

MOST_SURPRISE = 60.0
_LEAST_WEIGHT = 1e-3
_WIDE = 2.6
"""Standard deviations on each side of what is called expected, about 99 %."""


@dataclasses.dataclass(frozen=True)
class Seen:
    """A batch of answers, with what was known before each.

    Attributes:
        belief: probability of each hypothesis.
        query: the query made.
        outcome: the answer.
        count: how often the query had been made before in the episode.
        mean: the mean of its answers so far; 0 if there were none.
    """

    belief: Float[np.ndarray, "batch hypotheses"]
    query: Int[np.ndarray, "batch"]
    outcome: Float[np.ndarray, "batch entries"]
    count: Float[np.ndarray, "batch"]
    mean: Float[np.ndarray, "batch entries"]


@dataclasses.dataclass(frozen=True)
class Surprise:
    """-log of the probability of an answer as rare as this one, and its mean."""

    found: Float[np.ndarray, "batch"]
    expected: Float[np.ndarray, "batch"]


class AbstractOutcomeLaw(abc.ABC):
    """The probability of answers, given the belief."""

    @abc.abstractmethod
    def surprise(self, seen: Seen) -> Surprise:
        """How rare each answer is."""

    @abc.abstractmethod
    def expects(self, seen: Seen, spec: TaskSpec) -> str:
        """In words, what was to be expected of the first of them."""

    @abc.abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """What a file has to keep."""


@dataclasses.dataclass(frozen=True)
class SymbolLaw(AbstractOutcomeLaw):
    """Few outcomes, each with a probability."""

    symbols: Float[np.ndarray, "symbols entries"]
    probability: Float[np.ndarray, "queries hypotheses symbols"]

    def surprise(self, seen: Seen) -> Surprise:
        """By the probability of all outcomes that are no more probable."""
        chances = self._chances(seen)
        rarer = chances[:, None] <= chances[..., None] * (1 + 1e-6)
        tail = np.sum(rarer * chances[:, None], axis=2)
        scores = -np.log(np.clip(tail, np.exp(-MOST_SURPRISE), 1.0))
        distance = np.square(self.symbols[None] - seen.outcome[:, None]).sum(axis=2)
        nearest = distance.argmin(axis=1)
        rows = np.arange(len(nearest))
        spread = np.ptp(self.symbols, axis=0).max(initial=1.0)
        known = distance[rows, nearest] <= (1e-3 * spread) ** 2
        found = np.where(known, scores[rows, nearest], MOST_SURPRISE)
        return Surprise(found, np.sum(chances * scores, axis=1))

    def expects(self, seen: Seen, spec: TaskSpec) -> str:
        words = {value: word for word, value in spec.outcome_labels}
        chances = self._chances(seen)[0]
        likely = np.flatnonzero(chances >= 0.01)
        named = [_word(self.symbols[symbol], words) for symbol in likely]
        return " or ".join(named) or "something else"

    def arrays(self) -> dict[str, np.ndarray]:
        return {"symbols": self.symbols, "probability": self.probability}

    def _chances(self, seen: Seen) -> Float[np.ndarray, "batch symbols"]:
        table = self.probability[seen.query]
        if table.shape[1] == 1:
            return table[:, 0]
        return np.einsum("bh,bhs->bs", seen.belief, table)


@dataclasses.dataclass(frozen=True)
class NumberLaw(AbstractOutcomeLaw):
    """Numbers around a mean that varies between tasks, with noise within each.

    Answers to a repeated query of one task share what the hypothesis leaves open, so
    the mean of the earlier ones moves what is expected of the next.
    """

    mean: Float[np.ndarray, "queries hypotheses entries"]
    between: Float[np.ndarray, "queries hypotheses entries"]
    within: Float[np.ndarray, "queries hypotheses entries"]

    def surprise(self, seen: Seen) -> Surprise:
        """By the smaller tail, two-sided, of the rarest number."""
        center, deviation = self._moments(seen)
        score = (seen.outcome[:, None] - center) / deviation
        weights = self._weights(seen)[..., None]
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(weights, 1e-30))
        below = logsumexp(logs + log_ndtr(score), axis=1)
        above = logsumexp(logs + log_ndtr(-score), axis=1)
        tail = np.log(2.0) + np.minimum(below, above)
        rarest = tail.min(axis=1) + np.log(tail.shape[1])
        found = np.clip(-rarest, 0.0, MOST_SURPRISE)
        return Surprise(found, np.ones(len(found)))

    def expects(self, seen: Seen, spec: TaskSpec) -> str:
        center, deviation = (array[0] for array in self._moments(seen))
        alive = self._weights(seen)[0] >= _LEAST_WEIGHT
        low = (center - _WIDE * deviation)[alive].min(axis=0)
        high = (center + _WIDE * deviation)[alive].max(axis=0)
        outside = np.maximum(low - seen.outcome[0], seen.outcome[0] - high)
        entry = int(outside.argmax())
        name = ""
        if len(low) > 1:
            names = spec.outcome_names
            name = f" as {names[entry] if names else f'number {entry}'}"
        return f"{low[entry]:.3g} to {high[entry]:.3g}{name}"

    def arrays(self) -> dict[str, np.ndarray]:
        return {"mean": self.mean, "between": self.between, "within": self.within}

    def _moments(self, seen: Seen):
        mean, between, within = (
            array[seen.query] for array in (self.mean, self.between, self.within)
        )
        count = seen.count[:, None, None]
        share = count * between / np.maximum(count * between + within, 1e-30)
        center = mean + share * (seen.mean[:, None] - mean)
        variance = within + between * (1.0 - share)
        return center, np.sqrt(np.maximum(variance, 1e-18))

    def _weights(self, seen: Seen) -> Float[np.ndarray, "batch hypotheses"]:
        if self.mean.shape[1] == 1:
            return np.ones((len(seen.query), 1))
        return seen.belief


def law_of(arrays: dict[str, np.ndarray]) -> AbstractOutcomeLaw:
    """The law that a file has kept."""
    if "symbols" in arrays:
        return SymbolLaw(arrays["symbols"], arrays["probability"])
    return NumberLaw(arrays["mean"], arrays["between"], arrays["within"])


def _word(symbol: Float[np.ndarray, "entries"], words: dict) -> str:
    value = tuple(float(x) for x in symbol)
    number = ", ".join(f"{x:g}" for x in value)
    return f"{number} ({words[value]})" if value in words else number
