"""What a user asks of an explorer: an error probability, a budget or a price.

Needs no jax, so that a request is checked before anything is loaded.
"""

import dataclasses
import enum
import numbers
from typing import TYPE_CHECKING, Any

from icpe.core.checks import check_between, is_whole
from icpe.core.errors import OperatingPointError

if TYPE_CHECKING:
    from icpe.core.request import OperatingPoint
else:
    OperatingPoint = Any

LEAST_CONFIDENCE = 0.95
"""Requests are served by certificates of this confidence or more, if none is named."""


class Promise(enum.StrEnum):
    """What an error probability is promised about.

    * `AVERAGE`: answers to such problems are wrong that often at most, on average.
    * `BELIEF`: it stops only when its belief in the answer, recalibrated at such stops,
      reaches 1 - error_prob; sessions that end otherwise are undecided.
    * `EVERY_HYPOTHESIS`: as for the average, whichever hypothesis is true.
    """

    AVERAGE = "average"
    BELIEF = "belief"
    EVERY_HYPOTHESIS = "every-hypothesis"


class Regime(enum.StrEnum):
    """What an episode is asked to optimize (section "operating points" of the docs).

    * `BUDGET`: exactly `max_queries` queries, then the most probable answer.
    * `PRICE`: maximize P(correct) - price * cost.
    * `ERROR_PROB`: stop as soon as the error probability is at most `error_prob`.
    * `MIXED`: each episode of a batch has its own price; price 0 means a fixed budget.
    """

    BUDGET = "budget"
    PRICE = "price"
    ERROR_PROB = "error_prob"
    MIXED = "mixed"


@dataclasses.dataclass(frozen=True)
class Request:
    """What a user asks for: exactly one of the first three, perhaps with a cap.

    Attributes:
        error_prob: stop when the error probability is at most this.
        budget: make exactly this many queries.
        price: price of one unit of cost, in units of probability.
        max_queries: cap on the queries, beside a price or an error probability.
        confidence: the least confidence of a certificate that may serve error_prob.
        promise: what error_prob is promised about, a `Promise` or its name.

    Raises:
        OperatingPointError: not exactly one of the first three is given, a value is
            of the wrong kind or lies outside its range, or a promise other than the
            average comes without error_prob.
        InvalidParameterError: the confidence is no probability.
    """

    error_prob: float | None = None
    budget: int | None = None
    price: float | None = None
    max_queries: int | None = None
    confidence: float = LEAST_CONFIDENCE
    promise: Promise | str = Promise.AVERAGE

    def __post_init__(self):
        self._check_promise()
        named = [name for name in _GOALS if getattr(self, name) is not None]
        if len(named) != 1:
            raise OperatingPointError(
                "Exactly one of error_prob, budget and price must be given; got "
                f"{' and '.join(named) if named else 'none of them'}."
            )
        if self.budget is not None and self.max_queries is not None:
            raise OperatingPointError(
                "max_queries cannot be combined with budget, which already fixes "
                "the number of queries; leave one of them out."
            )
        if self.error_prob is not None:
            _check_number("error_prob", self.error_prob)
            if not 0.0 < self.error_prob < 1.0:
                raise OperatingPointError(
                    "error_prob must lie strictly between 0 and 1; got "
                    f"{self.error_prob}."
                )
        if self.price is not None:
            _check_number("price", self.price)
            if not 0.0 < self.price < float("inf"):
                raise OperatingPointError(
                    f"price must be positive and finite; got {self.price}. For a fixed "
                    "number of queries use budget."
                )
        check_between("confidence", self.confidence, 0.0, 1.0)

    @property
    def regime(self) -> Regime:
        """What is optimized."""
        return next(Regime(name) for name in _GOALS if getattr(self, name) is not None)

    def has_cap(self, horizon: int) -> bool:
        """Whether the cap is below the horizon, where it matters."""
        return self.max_queries not in (None, horizon)

    def check_counts(self, horizon: int) -> None:
        """Raises one sentence unless budget and cap fit a horizon; see `at`."""
        for name in ("budget", "max_queries"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name), horizon)

    def at(self, horizon: int) -> "OperatingPoint":
        """The request as arrays, for a family with this horizon.

        Raises:
            OperatingPointError: the budget or the cap is no whole number from 1 to the
                horizon.
        """
        self.check_counts(horizon)
        cap = self.max_queries if self.budget is None else self.budget
        cap = horizon if cap is None else cap
        from icpe.core.request import operating_point

        return operating_point(self, cap)

    def _check_promise(self) -> None:
        if self.promise not in tuple(Promise):
            raise OperatingPointError(
                f"promise must be one of {', '.join(Promise)}; got {self.promise!r}."
            )
        object.__setattr__(self, "promise", Promise(self.promise))
        if self.promise is not Promise.AVERAGE and self.error_prob is None:
            raise OperatingPointError(
                f"promise {self.promise} is about error_prob, which is missing; give "
                "it, or leave the promise out."
            )

    @property
    def promised(self) -> str | None:
        """What is promised of the answer, in words; None without an error_prob."""
        if self.error_prob is None:
            return None
        share = f"at most {100 * self.error_prob:g} %"
        if self.promise is Promise.BELIEF:
            return (
                "it stops only when its recalibrated belief reaches "
                f"{1 - self.error_prob:g}; of the answers that come so, {share} are "
                "wrong on average over such problems"
            )
        if self.promise is Promise.EVERY_HYPOTHESIS:
            return (
                f"whichever hypothesis is true, {share} of the answers are wrong on "
                "average over such problems"
            )
        return (
            f"{share} of the answers are wrong on average over such problems; a single "
            "one may be less sure"
        )

    def __str__(self) -> str:
        asked = {name: getattr(self, name) for name in (*_GOALS, "max_queries")}
        words = [f"{k}={v:g}" for k, v in asked.items() if v is not None]
        if self.promise is not Promise.AVERAGE:
            words.append(f"promise={self.promise}")
        return ", ".join(words)


_GOALS = ("error_prob", "budget", "price")


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise OperatingPointError(
            f"{name} must be a number such as 0.1; got {value!r}."
        )


def _check_count(name: str, value: Any, horizon: int) -> None:
    if not is_whole(value):
        raise OperatingPointError(
            f"{name} must be a whole number from 1 to {horizon}; got {value!r}."
        )
    if not 1 <= value <= horizon:
        raise OperatingPointError(
            f"{name} must be between 1 and the family's horizon {horizon}; got {value}."
        )
