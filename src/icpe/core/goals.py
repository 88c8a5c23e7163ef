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

    Raises:
        OperatingPointError: not exactly one of the first three is given, or a value is
            of the wrong kind or lies outside its range.
        InvalidParameterError: the confidence is no probability.
    """

    error_prob: float | None = None
    budget: int | None = None
    price: float | None = None
    max_queries: int | None = None
    confidence: float = LEAST_CONFIDENCE

    def __post_init__(self):
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

    def at(self, horizon: int) -> "OperatingPoint":
        """The request as arrays, for a family with this horizon.

        Raises:
            OperatingPointError: the budget or the cap is no whole number from 1 to the
                horizon.
        """
        cap = horizon
        for name in ("budget", "max_queries"):
            if getattr(self, name) is not None:
                cap = getattr(self, name)
                _check_count(name, cap, horizon)
        from icpe.core.request import operating_point

        return operating_point(self, cap)

    def __str__(self) -> str:
        asked = {name: getattr(self, name) for name in (*_GOALS, "max_queries")}
        return ", ".join(f"{k}={v:g}" for k, v in asked.items() if v is not None)


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
