"""Does what comes look like the family that the certificate is about?

A certificate holds for problems of the family it was made on. A session fed in other
units, or with answers to other questions, is none of these. The guard predicts every
answer from the belief and the earlier answers, and raises an alarm if one is rarer than
hardly any in the family's own sessions, or if another law (a larger or smaller spread,
answers at random) explains all of them together much better. The second is a test
martingale: under the law itself, ratios of probabilities average to one at any time
(Ville's inequality bounds how often they ever grow large). The law is an estimate, so
limits are not taken from theory but measured so that few sessions of the family itself
ever exceed them (`icpe.evaluate.guard`).
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from icpe.artifact.outcome_law import AbstractOutcomeLaw, Seen, law_of, log_sum_exp
from icpe.core.spec import TaskSpec
from icpe.core.units import Measured

ROUNDING = float(np.sqrt(np.finfo(np.float32).eps))
"""By how much a score may exceed its limit without an alarm.

Scores are logarithms of probabilities that come from beliefs in single precision, so
programs that round differently (a batch, a session, an exported explorer) do not find
quite the same. Where outcomes are few, a limit is the very score of one of them, and
rounding would decide. Half of the digits of a float32, 0.03 % of a probability, is far
more than rounding makes of a score, and far less than any difference that matters.
"""


@dataclasses.dataclass(frozen=True)
class Limits:
    """What no more than few sessions of the family exceed.

    Attributes:
        one: the surprise of one answer, less the log of how many came so far: every
            answer may raise a false alarm, and later ones less.
        together: log of how much better the other laws explain all answers.
        first: how many answers have limits of their own. Scores of long sessions are
            large by chance, and those of other units are large at once.
        first_one: as `one`, for these answers.
        first_together: as `together`, for these answers.
        first_wider: whether these are held against a wider spread alone
            (`AbstractOutcomeLaw.at_first`); guards of older files hold them against
            all.
    """

    one: float
    together: float
    first: int = 0
    first_one: float = 0.0
    first_together: float = 0.0
    first_wider: bool = False

    @property
    def with_slack(self) -> "Limits":
        """What a score must exceed to raise an alarm, whoever computes it."""
        return self._with(lambda limit: limit + ROUNDING)

    def raised(self, factor: float) -> "Limits":
        """All of them, larger."""
        return self._with(lambda limit: factor * limit)

    def at(self, number: int) -> tuple[float, float]:
        """What counts for one answer, and for all together, after so many."""
        if number <= self.first:
            return self.first_one, self.first_together
        return self.one, self.together

    def to_dict(self) -> dict[str, Any]:
        """As a file keeps them."""
        found = dataclasses.asdict(self)
        if not self.first_wider:
            del found["first_wider"]
        return found if self.first else {name: found[name] for name in _PLAIN}

    def wider(self, number: int) -> bool:
        """Whether other spreads are left out after so many answers."""
        return self.first_wider and number <= self.first

    def _with(self, change: Callable[[float], float]) -> "Limits":
        return Limits(
            change(self.one),
            change(self.together),
            self.first,
            change(self.first_one),
            change(self.first_together),
            self.first_wider,
        )


_PLAIN = ("one", "together")
"""The limits of guards from before the first answers had some of their own."""


@dataclasses.dataclass(frozen=True)
class Guard:
    """The law of answers, limits, and how they were measured."""

    law: AbstractOutcomeLaw
    limits: Limits
    record: dict[str, Any]

    def start(
        self, spec: TaskSpec, first_outcome: Float[np.ndarray, "entries"]
    ) -> "Watch":
        """Before the first answer, after what was revealed before it."""
        empty = np.zeros((spec.num_queries, spec.outcome_size))
        context = self.law.context_of(np.asarray(first_outcome, float)[None])
        return Watch(self, spec, context, 0, empty, empty, np.zeros(()))

    def to_dict(self) -> dict[str, Any]:
        """All but the arrays of the law."""
        return {"limits": self.limits.to_dict(), "record": self.record}

    @staticmethod
    def of(
        values: dict[str, Any], arrays: dict[str, np.ndarray], spec: TaskSpec
    ) -> "Guard | None":
        """From the values of `to_dict` and the arrays of the law.

        None for a guard with limits of another kind, from before there were these.

        Raises:
            ValueError: the arrays are not about so many queries and hypotheses.
        """
        fields = {field.name for field in dataclasses.fields(Limits)}
        if set(values["limits"]) not in (fields, fields - {"first_wider"}, set(_PLAIN)):
            return None
        law = law_of(arrays)
        found = {name: array.shape for name, array in arrays.items()}
        if found not in [law.shapes(spec, n) for n in (spec.num_hypotheses, 1)]:
            raise ValueError(f"the arrays of its guard have shapes {found}")
        return Guard(law, Limits(**values["limits"]), values["record"])


@dataclasses.dataclass(frozen=True)
class Watch:
    """One session under guard: what was seen so far, and the first alarm."""

    guard: Guard
    spec: TaskSpec
    context: Int[np.ndarray, "1"]
    number: int
    counts: Float[np.ndarray, "queries entries"]
    sums: Float[np.ndarray, "queries entries"]
    odds: Float[np.ndarray, "*others"]
    alarm: str | None = None

    def after(
        self,
        belief: Float[np.ndarray, "hypotheses"],
        query: int,
        outcome: Float[np.ndarray, "entries"],
        measured: Measured | None = None,
    ) -> "Watch":
        """With one more answer; an alarm once raised stays.

        It is about what was measured in the user's units, where that is given.
        """
        count = self.counts[query]
        answer = np.asarray(outcome, float)[None]
        seen = Seen(
            np.asarray(belief, float)[None],
            np.array([query]),
            answer,
            count[None],
            (self.sums[query] / np.maximum(count, 1.0))[None],
            self.context,
        )
        surprise = self.guard.law.surprise(seen)
        counted = self.guard.law.is_number(answer)[0]
        counts, sums = self.counts.copy(), self.sums.copy()
        counts[query] += counted
        sums[query] += np.where(counted, outcome, 0.0)
        odds = self.odds + surprise.odds[0]
        found = float(surprise.found[0])
        alarm = self.alarm or self._alarm(seen, found, odds, measured)
        return dataclasses.replace(
            self,
            number=self.number + 1,
            counts=counts,
            sums=sums,
            odds=odds,
            alarm=alarm,
        )

    def _alarm(
        self, seen: Seen, one: float, odds, measured: Measured | None
    ) -> str | None:
        number, law = self.number + 1, self.guard.law
        most_one, most_together = self.guard.limits.with_slack.at(number)
        if one - np.log(number) > most_one:
            shown = ", ".join(f"{x:.4g}" for x in seen.outcome[0])
            asked = self.spec.query_name(int(seen.query[0]))
            expected = law.expects(seen, self.spec, measured)
            strange = (
                f"{shown} came for query {asked}, where this family expects {expected}"
                if measured is None
                else f"{measured} came for {asked}, where {expected} were expected"
            )
            return f"{strange}; are the units and the order of answers right?"
        if measured is not None and measured.strange is not None:
            return measured.strange
        held = law.at_first if self.guard.limits.wider(number) else slice(None)
        if _together(odds[None, held])[0] > most_together:
            better = int(odds[held].max(axis=1).argmax())
            explained = np.array(law.others)[held][better]
            return (
                f"{number} answers together {explained}; are the "
                "units, the noise and the order of answers right?"
            )
        return None


@dataclasses.dataclass(frozen=True)
class Scores:
    """What a batch of whole sessions came to after each answer.

    Minus infinity after the end of a session.
    """

    one: Float[np.ndarray, "episodes steps"]
    together: Float[np.ndarray, "episodes steps"]
    wider: Float[np.ndarray, "episodes steps"]
    """As `together`, against those of the other laws that count at first."""

    def exceeds(self, limits: Limits) -> np.ndarray:
        """Which of them would have raised an alarm."""
        return np.isfinite(self.first_alarm(limits))

    def first_alarm(self, limits: Limits) -> Float[np.ndarray, "episodes"]:
        """The answer with which each raises its first alarm; infinite if none does."""
        limits = limits.with_slack
        steps = self.one.shape[1]
        one, together = np.array([limits.at(1 + i) for i in range(steps)]).T
        at_first = np.array([limits.wider(1 + i) for i in range(steps)])
        found = np.where(at_first, self.wider, self.together)
        raised = (self.one > one) | (found > together)
        return np.where(raised.any(axis=1), 1.0 + raised.argmax(axis=1), np.inf)


def scores(
    law: AbstractOutcomeLaw,
    beliefs,
    queries,
    outcomes,
    length,
    context: Int[np.ndarray, "episodes"] | None = None,
) -> Scores:
    """What the guard sees in whole episodes, all at once.

    Args:
        law: of the answers.
        beliefs: before each query, episodes x steps x hypotheses.
        queries: episodes x steps.
        outcomes: of each query, episodes x steps x entries.
        length: queries made in each episode.
        context: what `AbstractOutcomeLaw.context_of` makes of what was revealed before.
    """
    number, steps = queries.shape
    contexts = np.zeros(number, int) if context is None else context
    num_queries = int(queries.max(initial=0)) + 1
    counts = np.zeros((number, num_queries, outcomes.shape[2]))
    sums = np.zeros_like(counts)
    odds: np.ndarray | None = None
    found = np.full((3, number, steps), -np.inf)
    for step in range(steps):
        rows = np.flatnonzero(length > step)
        if not len(rows):
            break
        query = queries[rows, step]
        count = counts[rows, query]
        mean = sums[rows, query] / np.maximum(count, 1.0)
        outcome = outcomes[rows, step].astype(float)
        belief = beliefs[rows, step].astype(float)
        seen = Seen(belief, query, outcome, count, mean, contexts[rows])
        surprise = law.surprise(seen)
        if odds is None:
            odds = np.zeros((number, *surprise.odds.shape[1:]))
        odds[rows] += surprise.odds
        found[0, rows, step] = surprise.found - np.log(step + 1)
        found[1, rows, step] = _together(odds[rows])
        found[2, rows, step] = _together(odds[rows][:, law.at_first])
        counted = law.is_number(outcome)
        counts[rows, query] += counted
        sums[rows, query] += np.where(counted, outcome, 0.0)
    return Scores(*found)


def _together(
    odds: Float[np.ndarray, "batch others entries"],
) -> Float[np.ndarray, "batch"]:
    """Log of the mean of all ratios: a martingale whatever entries have in common."""
    return log_sum_exp(odds, axis=(1, 2)) - np.log(odds[0].size)
