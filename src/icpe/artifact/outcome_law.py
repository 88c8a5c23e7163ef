"""What outcomes a family gives, as far as belief and earlier answers tell.

Counted in episodes of the shipped explorer, for every query and hypothesis. Nothing
here has to be exact: the limits of the guard are measured with the same laws.
"""

import abc
import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import log_ndtr, ndtri_exp

from icpe.core.spec import TaskSpec
from icpe.core.units import Measured

MOST_SURPRISE = 60.0
_LEAST_WEIGHT = 1e-3
_WIDE = 2.6
"""Standard deviations on each side of what is called expected, about 99 %."""
_SPREADS = (0.1, 0.5, 2.0, 8.0)
"""Of the other laws of numbers, in standard deviations of the law itself."""
_FIRST_SPREAD = 2.0
"""What the first answers are held against. A smaller spread takes many answers to be
told from chance, and what a larger one would notice exceeds the limit of this one."""
_LARGEST = 100.0
"""Standard deviations; farther away is no stranger."""


@dataclasses.dataclass(frozen=True)
class Seen:
    """A batch of answers, with what was known before each.

    Attributes:
        belief: probability of each hypothesis.
        query: the query made.
        outcome: the answer.
        count: how many numbers of each entry the query gave before in the episode,
            not counting values that are a word for something (`is_number`).
        mean: their mean so far; 0 if there were none.
        context: the number that `AbstractOutcomeLaw.context_of` gave; None is 0.
    """

    belief: Float[np.ndarray, "batch hypotheses"]
    query: Int[np.ndarray, "batch"]
    outcome: Float[np.ndarray, "batch entries"]
    count: Float[np.ndarray, "batch entries"]
    mean: Float[np.ndarray, "batch entries"]
    context: Int[np.ndarray, "batch"] | None = None


@dataclasses.dataclass(frozen=True)
class Surprise:
    """How much an answer speaks against the law.

    Attributes:
        found: -log of the probability of an answer as rare as this one.
        odds: log of how much more probable each other law makes each entry.
    """

    found: Float[np.ndarray, "batch"]
    odds: Float[np.ndarray, "batch others entries"]


class AbstractOutcomeLaw(abc.ABC):
    """The probability of answers, given the belief."""

    @property
    @abc.abstractmethod
    def others(self) -> tuple[str, ...]:
        """The laws that it is held against, in words for "the answers ..."."""

    @property
    def at_first(self) -> Bool[np.ndarray, "others"]:
        """Which of them the first few answers are held against."""
        return np.ones(len(self.others), bool)

    def context_of(
        self, first_outcome: Float[np.ndarray, "batch entries"]
    ) -> Int[np.ndarray, "batch"]:
        """Which of its tables counts after what was revealed before the first query."""
        return np.zeros(len(first_outcome), int)

    @abc.abstractmethod
    def surprise(self, seen: Seen) -> Surprise:
        """How rare each answer is, and how much better the other laws explain it."""

    @abc.abstractmethod
    def is_number(
        self, outcome: Float[np.ndarray, "batch entries"]
    ) -> Bool[np.ndarray, "batch entries"]:
        """Which entries are numbers, whose mean tells of the next one."""

    @abc.abstractmethod
    def expects(
        self, seen: Seen, spec: TaskSpec, measured: Measured | None = None
    ) -> str:
        """In words, what was to be expected of the first of them.

        In the user's units where it was measured in such.
        """

    @abc.abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """What a file has to keep."""

    @abc.abstractmethod
    def shapes(self, spec: TaskSpec, rows: int) -> dict[str, tuple[int, ...]]:
        """The shapes that they have for a family, with one row for all hypotheses or
        one for each."""


@dataclasses.dataclass(frozen=True)
class SymbolLaw(AbstractOutcomeLaw):
    """Few outcomes, each with a probability."""

    symbols: Float[np.ndarray, "symbols entries"]
    probability: Float[np.ndarray, "queries hypotheses symbols"]

    @property
    def others(self) -> tuple[str, ...]:
        return ("come as if at random", "fit no hypothesis of the family")

    def surprise(self, seen: Seen) -> Surprise:
        """By the probability of all outcomes that are no more probable.

        It is held against equal probabilities, and against what the query gives for
        hypotheses drawn anew for each answer.
        """
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
        anyhow = self.probability.mean(axis=1)[seen.query, nearest]
        others = np.stack([np.full(len(rows), 1.0 / len(self.symbols)), anyhow], axis=1)
        least = np.exp(-MOST_SURPRISE)
        logs = np.log(np.maximum(others, least))
        odds = logs - np.log(np.maximum(chances[rows, nearest], least))[:, None]
        odds = np.where(known[:, None], odds, MOST_SURPRISE)
        return Surprise(found, odds[..., None])

    def is_number(self, outcome):
        return np.zeros(outcome.shape, bool)

    def expects(
        self, seen: Seen, spec: TaskSpec, measured: Measured | None = None
    ) -> str:
        query = int(np.ravel(seen.query)[0])
        words = {value: word for word, value in spec.labels(query)}
        chances = self._chances(seen)[0]
        likely = np.flatnonzero(chances >= 0.01)
        named = [_word(self.symbols[symbol], words) for symbol in likely]
        return " or ".join(named) or "something else"

    def arrays(self) -> dict[str, np.ndarray]:
        return {"symbols": self.symbols, "probability": self.probability}

    def shapes(self, spec: TaskSpec, rows: int) -> dict[str, tuple[int, ...]]:
        number = len(self.symbols)
        return {
            "symbols": (number, spec.outcome_size),
            "probability": (spec.num_queries, rows, number),
        }

    def _chances(self, seen: Seen) -> Float[np.ndarray, "batch symbols"]:
        table = self.probability[seen.query]
        if table.shape[1] == 1:
            return table[:, 0]
        return np.einsum("bh,bhs->bs", seen.belief, table)


@dataclasses.dataclass(frozen=True)
class NumberLaw(AbstractOutcomeLaw):
    """Numbers around a mean that varies between tasks, with noise within each.

    Answers to a repeated query of one task share what the hypothesis leaves open, so
    the mean of the earlier ones moves what is expected of the next. Some values stand
    for something else (0 where nothing was revealed, a flag): such words have
    probabilities of their own.

    Where a family says something before the first query (how many arms there are), the
    numbers may depend on it. Then there are contexts, with a table for each in place of
    one for each query; its two rows are about queries that the hypothesis is about, and
    about all others.

    Attributes:
        mean: of the numbers.
        between: variance between tasks.
        within: variance within one.
        words: values that are no numbers, by entry; not a number where there are
            fewer.
        chance: probability of each word, and of the last kind, any number.
        contexts: what may be revealed before the first query; the nearest counts.
    """

    mean: Float[np.ndarray, "queries hypotheses entries"]
    between: Float[np.ndarray, "queries hypotheses entries"]
    within: Float[np.ndarray, "queries hypotheses entries"]
    words: Float[np.ndarray, "words entries"]
    chance: Float[np.ndarray, "queries hypotheses entries kinds"]
    contexts: Float[np.ndarray, "contexts entries"] | None = None

    @property
    def others(self) -> tuple[str, ...]:
        spreads = tuple(
            f"vary {'less' if spread < 1 else 'more'} than this family's do"
            for spread in _SPREADS
        )
        return (*spreads, "fit no hypothesis of the family")

    @property
    def at_first(self) -> Bool[np.ndarray, "others"]:
        return np.array([*(it == _FIRST_SPREAD for it in _SPREADS), True])

    def context_of(self, first_outcome):
        if self.contexts is None:
            return super().context_of(first_outcome)
        return nearest_context(self.contexts, first_outcome)

    def surprise(self, seen: Seen) -> Surprise:
        """By the smaller tail, two-sided, of the rarest entry.

        Numbers are held against laws of another spread: the tail is that of a standard
        normal z, whose density is compared. Words are held against hypotheses drawn
        anew for each answer.
        """
        chances, code = self._chances(seen), word_of(self.words, seen.outcome)
        own = np.take_along_axis(chances, code[..., None], axis=2)
        rarer = np.sum(chances * (chances <= own * (1 + 1e-6)), axis=2)
        is_number = code == len(self.words)
        tail = self._tail(seen)
        least = np.exp(-MOST_SURPRISE)
        logs = np.log(np.maximum(own[..., 0], least))
        word_tail = np.log(np.clip(rarer, least, 1.0))
        tails = np.where(is_number, np.log(2.0) + tail + logs, word_tail)
        rarest = tails.min(axis=1) + np.log(tails.shape[1])
        found = np.clip(-rarest, 0.0, MOST_SURPRISE)
        squared = np.square(np.clip(ndtri_exp(tail), -_LARGEST, 0.0))[:, None]
        spreads = np.asarray(_SPREADS)[:, None]
        ratios = 0.5 * squared * (1.0 - spreads**-2) - np.log(spreads)
        ratios = np.where(is_number[:, None], ratios, 0.0)
        anyhow = self._rows(self.chance, seen).mean(axis=1)
        anyhow = np.take_along_axis(anyhow, code[..., None], axis=2)[..., 0]
        anyhow = np.log(np.maximum(anyhow, least)) - logs
        return Surprise(found, np.concatenate([ratios, anyhow[:, None]], axis=1))

    def is_number(self, outcome):
        return word_of(self.words, outcome) == len(self.words)

    def expects(
        self, seen: Seen, spec: TaskSpec, measured: Measured | None = None
    ) -> str:
        center, deviation = (array[0] for array in self._moments(seen))
        alive = self._weights(seen)[0] >= _LEAST_WEIGHT
        low = (center - _WIDE * deviation)[alive].min(axis=0)
        high = (center + _WIDE * deviation)[alive].max(axis=0)
        if measured is not None:  # which is the first number of an outcome
            return measured.between(low[0], high[0])
        numbers = self._chances(seen)[0, :, -1] >= _LEAST_WEIGHT
        outside = np.maximum(low - seen.outcome[0], seen.outcome[0] - high)
        code = word_of(self.words, seen.outcome)[0]
        outside = np.where(numbers & (code == len(self.words)), outside, -np.inf)
        entry = int(outside.argmax())
        name = ""
        if len(low) > 1:
            names = spec.outcome_names
            name = f" as {names[entry] if names else f'number {entry}'}"
        return f"{low[entry]:.3g} to {high[entry]:.3g}{name}"

    def arrays(self) -> dict[str, np.ndarray]:
        found = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }
        return {name: array for name, array in found.items() if array is not None}

    def shapes(self, spec: TaskSpec, rows: int) -> dict[str, tuple[int, ...]]:
        shape = (spec.num_queries, rows, spec.outcome_size)
        number, contexts = len(self.words), {}
        if self.contexts is not None and spec.num_queries == spec.num_hypotheses:
            shape = (len(self.contexts), 2, spec.outcome_size)
            contexts = {"contexts": (len(self.contexts), spec.outcome_size)}
        return (
            contexts
            | dict.fromkeys(("mean", "between", "within"), shape)
            | {
                "words": (number, spec.outcome_size),
                "chance": (*shape, number + 1),
            }
        )

    def _tail(self, seen: Seen) -> Float[np.ndarray, "batch entries"]:
        """Log probability of smaller or of larger numbers, whichever is less."""
        center, deviation = self._moments(seen)
        score = (seen.outcome[:, None] - center) / deviation
        weights = (
            self._weights(seen)[..., None] * self._rows(self.chance, seen)[..., -1]
        )
        weights = np.maximum(weights, 1e-30)
        logs = np.log(weights / weights.sum(axis=1, keepdims=True))
        both = log_ndtr(np.concatenate([score, -score]))
        sides = log_sum_exp(np.concatenate([logs, logs]) + both, axis=1)
        return np.minimum(*np.split(sides, 2))

    def _moments(self, seen: Seen):
        mean, between, within = (
            self._rows(array, seen) for array in (self.mean, self.between, self.within)
        )
        count = seen.count[:, None]
        share = count * between / np.maximum(count * between + within, 1e-30)
        center = mean + share * (seen.mean[:, None] - mean)
        variance = within + between * (1.0 - share)
        return center, np.sqrt(np.maximum(variance, 1e-18))

    def _rows(self, array: np.ndarray, seen: Seen) -> np.ndarray:
        table = seen.query if self.contexts is None else seen.context
        return array[0 if table is None else table].astype(float)

    def _chances(self, seen: Seen) -> Float[np.ndarray, "batch entries kinds"]:
        return np.einsum(
            "bh,bhew->bew", self._weights(seen), self._rows(self.chance, seen)
        )

    def _weights(self, seen: Seen) -> Float[np.ndarray, "batch hypotheses"]:
        if self.contexts is not None:
            own = np.take_along_axis(seen.belief, seen.query[:, None], axis=1)
            return np.concatenate([own, 1.0 - own], axis=1)
        if self.mean.shape[1] == 1:
            return np.ones((len(seen.query), 1))
        return seen.belief


def log_sum_exp(values: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Log of the sum of exponentials of finite numbers.

    As SciPy's, which checks more than sessions have time for after every answer.
    """
    most = values.max(axis=axis, keepdims=True)
    total = np.exp(values - most).sum(axis=axis)
    return np.log(total) + np.squeeze(most, axis=axis)


def word_of(
    words: Float[np.ndarray, "words entries"],
    outcome: Float[np.ndarray, "batch entries"],
) -> Int[np.ndarray, "batch entries"]:
    """Which word each entry is; the number of words where it is a number."""
    code = np.full(outcome.shape, len(words))
    for index, word in enumerate(words):
        code[outcome.astype(words.dtype) == word] = index
    return code


def nearest_context(
    contexts: Float[np.ndarray, "contexts entries"],
    first_outcome: Float[np.ndarray, "batch entries"],
) -> Int[np.ndarray, "batch"]:
    """By the distance in entries that differ between contexts, each in its range."""
    known = contexts.astype(float)
    width = np.ptp(known, axis=0)
    differs = width > 0
    apart = np.asarray(first_outcome, float)[:, None, differs] - known[:, differs]
    return np.square(apart / width[differs]).sum(axis=2).argmin(axis=1)


def law_of(arrays: dict[str, np.ndarray]) -> AbstractOutcomeLaw:
    """The law that a file has kept."""
    if "symbols" in arrays:
        return SymbolLaw(arrays["symbols"], arrays["probability"])
    return NumberLaw(**arrays)


def _word(symbol: Float[np.ndarray, "entries"], words: dict) -> str:
    value = tuple(float(x) for x in symbol)
    number = ", ".join(f"{x:g}" for x in value)
    return f"{number} ({words[value]})" if value in words else number
