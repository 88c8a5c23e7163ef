"""The guard, one answer at a time; `icpe.artifact.guard` says why it is as it is."""

import dataclasses
import math
from typing import Any

import numpy as np

from icpe.portable.episode import Spec
from icpe.portable.files import unpacked
from icpe.portable.units import Measured

_MOST_SURPRISE = 60.0
_LEAST = math.exp(-_MOST_SURPRISE)
_LEAST_WEIGHT = 1e-3
_WIDE = 2.6
_SPREADS = (0.1, 0.5, 2.0, 8.0)
_FIRST_SPREAD = 2.0
_LARGEST = 100.0


class Guard:
    """The law of answers, and what its scores must exceed to raise an alarm."""

    def __init__(self, limits: dict[str, float], arrays: dict[str, Any]):
        tables = {name: unpacked(packed) for name, packed in arrays.items()}
        self.limits = limits
        self.law = SymbolLaw(**tables) if "symbols" in arrays else NumberLaw(**tables)

    def start(self, spec: Spec, first_outcome: np.ndarray) -> "Watch":
        """Before the first answer, after what was revealed before it."""
        return Watch(self, spec, self.law.context_of(first_outcome))

    def limits_at(self, number: int) -> tuple[float, float]:
        """What counts for one answer, and for all together, after so many."""
        first = "first_" if number <= self.limits.get("first", 0) else ""
        return self.limits[f"{first}one"], self.limits[f"{first}together"]


@dataclasses.dataclass(frozen=True)
class Seen:
    """One answer, with the belief before it, and how many numbers of each entry its
    query gave before, with their mean; and the context of the session."""

    belief: np.ndarray
    query: int
    outcome: np.ndarray
    count: np.ndarray
    mean: np.ndarray
    context: int = 0


class Watch:
    """One session under guard: what was seen so far, and the first alarm."""

    def __init__(self, guard: Guard, spec: Spec, context: int = 0):
        self.guard, self.spec, self.context, self.number = guard, spec, context, 0
        self.counts = self.sums = np.zeros((spec.num_queries, spec.outcome_size))
        self.odds: Any = 0.0
        self.alarm: str | None = None

    def after(
        self,
        belief: np.ndarray,
        query: int,
        outcome: np.ndarray,
        measured: Measured | None = None,
    ) -> "Watch":
        """With one more answer; an alarm once raised stays.

        It is about what was measured in the user's units, where that is given.
        """
        count, law = self.counts[query], self.guard.law
        mean = self.sums[query] / np.maximum(count, 1.0)
        belief, answer = belief.astype(float), outcome.astype(float)
        seen = Seen(belief, query, answer, count, mean, self.context)
        found, odds = law.surprise(seen)
        counted = law.is_number(seen.outcome)
        later = Watch(self.guard, self.spec, self.context)
        later.number, later.odds = self.number + 1, self.odds + odds
        later.counts, later.sums = self.counts.copy(), self.sums.copy()
        later.counts[query] += counted
        later.sums[query] += np.where(counted, outcome, 0.0)
        later.alarm = self.alarm or later._judged(seen, found, measured)
        return later

    def _judged(
        self, seen: Seen, found: float, measured: Measured | None
    ) -> str | None:
        guard, odds = self.guard, self.odds
        most_one, most_together = guard.limits_at(self.number)
        if found - math.log(self.number) > most_one:
            shown = ", ".join(f"{x:.4g}" for x in seen.outcome)
            asked = self.spec.query_name(seen.query)
            expected = guard.law.expects(seen, self.spec, measured)
            strange = (
                f"{shown} came for query {asked}, where this family expects {expected}"
                if measured is None
                else f"{measured} came for {asked}, where {expected} were expected"
            )
            return f"{strange}; are the units and the order of answers right?"
        if measured is not None and measured.strange is not None:
            return measured.strange
        others = list(range(len(odds)))
        if guard.limits.get("first_wider") and self.number <= guard.limits["first"]:
            others = list(guard.law.at_first)
        odds = odds[others]
        if _log_sum_exp(odds.ravel()) - math.log(odds.size) > most_together:
            better = guard.law.others[others[int(odds.max(axis=1).argmax())]]
            return (
                f"{self.number} answers together {better}; are the "
                "units, the noise and the order of answers right?"
            )
        return None


@dataclasses.dataclass(frozen=True)
class SymbolLaw:
    """Few outcomes, each with a probability."""

    symbols: np.ndarray
    probability: np.ndarray
    others = ("come as if at random", "fit no hypothesis of the family")
    at_first = (0, 1)

    def context_of(self, first_outcome: np.ndarray) -> int:
        """There is one alone."""
        return 0

    def surprise(self, seen: Seen) -> tuple[float, np.ndarray]:
        """-log of the probability of an answer as rare, and odds of other laws."""
        chances = self._chances(seen)
        distance = np.square(self.symbols - seen.outcome).sum(axis=1)
        nearest = int(distance.argmin())
        spread = np.ptp(self.symbols, axis=0).max(initial=1.0)
        if not distance[nearest] <= (1e-3 * spread) ** 2:
            return _MOST_SURPRISE, np.full((2, 1), _MOST_SURPRISE)
        rarer = chances <= chances[nearest] * (1 + 1e-6)
        found = -math.log(np.clip(np.sum(rarer * chances), _LEAST, 1.0))
        anyhow = self.probability.mean(axis=1)[seen.query, nearest]
        logs = np.log(np.maximum([1.0 / len(self.symbols), anyhow], _LEAST))
        odds = logs - np.log(np.maximum(chances[nearest], _LEAST))
        return found, odds[:, None]

    def is_number(self, outcome: np.ndarray) -> np.ndarray:
        """None is: they are words."""
        return np.zeros(outcome.shape, bool)

    def expects(self, seen: Seen, spec: Spec, measured: Measured | None = None) -> str:
        """In words, what was to be expected."""
        words = {value: word for word, value in spec.labels(seen.query)}
        named = []
        for symbol in np.flatnonzero(self._chances(seen) >= 0.01):
            value = tuple(float(x) for x in self.symbols[symbol])
            number = ", ".join(f"{x:g}" for x in value)
            named.append(f"{number} ({words[value]})" if value in words else number)
        return " or ".join(named) or "something else"

    def _chances(self, seen: Seen) -> np.ndarray:
        table = self.probability[seen.query]
        return table[0] if len(table) == 1 else seen.belief @ table


@dataclasses.dataclass(frozen=True)
class NumberLaw:
    """Numbers around a mean that varies between tasks, with noise within each."""

    mean: np.ndarray
    between: np.ndarray
    within: np.ndarray
    words: np.ndarray
    chance: np.ndarray
    contexts: np.ndarray | None = None
    others = (
        *(
            f"vary {'less' if it < 1 else 'more'} than this family's do"
            for it in _SPREADS
        ),
        "fit no hypothesis of the family",
    )
    at_first = (_SPREADS.index(_FIRST_SPREAD), len(_SPREADS))

    def context_of(self, first_outcome: np.ndarray) -> int:
        """The nearest, each entry in its range."""
        if self.contexts is None:
            return 0
        known = self.contexts.astype(float)
        width = np.ptp(known, axis=0)
        differs = width > 0
        apart = (first_outcome.astype(float) - known)[:, differs] / width[differs]
        return int(np.square(apart).sum(axis=1).argmin())

    def surprise(self, seen: Seen) -> tuple[float, np.ndarray]:
        """-log of the probability of an answer as rare, and odds of other laws."""
        chances, code = self._chances(seen), self._word_of(seen.outcome)
        own = np.take_along_axis(chances, code[:, None], axis=1)
        rarer = np.sum(chances * (chances <= own * (1 + 1e-6)), axis=1)
        is_number, tail = code == len(self.words), self._tail(seen)
        logs = np.log(np.maximum(own[:, 0], _LEAST))
        word_tail = np.log(np.clip(rarer, _LEAST, 1.0))
        tails = np.where(is_number, math.log(2.0) + tail + logs, word_tail)
        rarest = tails.min() + math.log(len(tails))
        squared = np.square(np.clip(_normal_score(tail), -_LARGEST, 0.0))
        spreads = np.asarray(_SPREADS)[:, None]
        ratios = 0.5 * squared * (1.0 - spreads**-2) - np.log(spreads)
        anyhow = self._rows(self.chance, seen).mean(axis=0)
        anyhow = np.take_along_axis(anyhow, code[:, None], axis=1)[:, 0]
        anyhow = np.log(np.maximum(anyhow, _LEAST)) - logs
        found = float(np.clip(-rarest, 0.0, _MOST_SURPRISE))
        return found, np.concatenate([np.where(is_number, ratios, 0.0), anyhow[None]])

    def is_number(self, outcome: np.ndarray) -> np.ndarray:
        """Which entries are numbers, whose mean tells of the next one."""
        return self._word_of(outcome) == len(self.words)

    def expects(self, seen: Seen, spec: Spec, measured: Measured | None = None) -> str:
        """In words, what was to be expected."""
        center, deviation = self._moments(seen)
        alive = self._weights(seen) >= _LEAST_WEIGHT
        low = (center - _WIDE * deviation)[alive].min(axis=0)
        high = (center + _WIDE * deviation)[alive].max(axis=0)
        if measured is not None:  # which is the first number of an outcome
            return measured.between(low[0], high[0])
        likely = self._chances(seen)[:, -1] >= _LEAST_WEIGHT
        outside = np.maximum(low - seen.outcome, seen.outcome - high)
        outside = np.where(likely & self.is_number(seen.outcome), outside, -np.inf)
        entry, name = int(outside.argmax()), ""
        if len(low) > 1:
            names = spec.outcome_names
            name = f" as {names[entry] if names else f'number {entry}'}"
        return f"{low[entry]:.3g} to {high[entry]:.3g}{name}"

    def _tail(self, seen: Seen) -> np.ndarray:
        """Log probability of smaller or of larger numbers, whichever is less."""
        center, deviation = self._moments(seen)
        score = (seen.outcome - center) / deviation
        weights = self._weights(seen)[:, None] * self._rows(self.chance, seen)[..., -1]
        weights = np.maximum(weights, 1e-30)
        logs = np.log(weights / weights.sum(axis=0))
        sides = [_log_sum_exp(logs + _log_normal(side)) for side in (score, -score)]
        return np.minimum(*sides)

    def _moments(self, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
        mean, between, within = (
            self._rows(array, seen) for array in (self.mean, self.between, self.within)
        )
        share = seen.count * between / np.maximum(seen.count * between + within, 1e-30)
        center = mean + share * (seen.mean - mean)
        variance = within + between * (1.0 - share)
        return center, np.sqrt(np.maximum(variance, 1e-18))

    def _chances(self, seen: Seen) -> np.ndarray:
        chance = self._rows(self.chance, seen)
        return np.einsum("h,hew->ew", self._weights(seen), chance)

    def _rows(self, array: np.ndarray, seen: Seen) -> np.ndarray:
        table = seen.query if self.contexts is None else seen.context
        return array[table].astype(float)

    def _weights(self, seen: Seen) -> np.ndarray:
        if self.contexts is not None:
            own = float(seen.belief[seen.query])
            return np.array([own, 1.0 - own])
        return np.ones(1) if self.mean.shape[1] == 1 else seen.belief

    def _word_of(self, outcome: np.ndarray) -> np.ndarray:
        """Which word each entry is; the number of words where it is a number."""
        code = np.full(outcome.shape, len(self.words))
        for index, word in enumerate(self.words):
            code[outcome.astype(self.words.dtype) == word] = index
        return code


def _log_sum_exp(values: np.ndarray) -> Any:
    """Along the first axis."""
    most = values.max(axis=0)
    return most + np.log(np.exp(values - most).sum(axis=0))


_erfc = np.vectorize(math.erfc, otypes=[float])
_FAR = -20.0


def _log_normal(score: np.ndarray) -> np.ndarray:
    """Log of the probability that a standard normal is smaller."""
    near, far = np.maximum(score, _FAR), np.minimum(score, _FAR)
    # log1p of the other tail where the probability is close to 1.
    direct = np.where(
        near > 1.0,
        np.log1p(-0.5 * _erfc(np.maximum(near, 1.0) / math.sqrt(2.0))),
        np.log(0.5 * _erfc(-np.minimum(near, 1.0) / math.sqrt(2.0))),
    )
    inverse = far**-2.0  # an asymptotic series
    series = 1.0 - inverse * (
        1.0 - inverse * (3.0 - inverse * (15.0 - 105.0 * inverse))
    )
    distant = -0.5 * far**2 - np.log(-far * math.sqrt(2 * math.pi)) + np.log(series)
    return np.where(score < _FAR, distant, direct)


def _normal_score(log_probability: np.ndarray) -> np.ndarray:
    """The inverse of `_log_normal` up to one half, by Newton's method.

    The function is concave, so that steps from the left never go too far.
    """
    # Farther than `_LARGEST` standard deviations is no stranger.
    wanted = np.clip(log_probability, -0.6 * _LARGEST**2, math.log(0.5))
    score = -np.sqrt(-2.0 * wanted)
    for _ in range(60):
        log = _log_normal(score)
        slope = np.exp(-0.5 * score**2 - 0.5 * math.log(2 * math.pi) - log)
        step = (wanted - log) / slope
        score = score + step
        if np.all(np.abs(step) <= 1e-13 * np.maximum(np.abs(score), 1.0)):
            break
    return np.minimum(score, 0.0)
