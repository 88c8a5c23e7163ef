"""What is asked of an explorer: an error probability, a budget or a price."""

import dataclasses
import enum
import numbers
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from icpe.core.checks import check_between, is_whole
from icpe.core.errors import OperatingPointError

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
        return OperatingPoint(
            price=jnp.asarray(self.price or 0.0, jnp.float32),
            error_prob=jnp.asarray(self.error_prob or 0.0, jnp.float32),
            max_queries=jnp.asarray(cap, jnp.int32),
            regime=self.regime,
        )

    def __str__(self) -> str:
        asked = {name: getattr(self, name) for name in (*_GOALS, "max_queries")}
        return ", ".join(f"{k}={v:g}" for k, v in asked.items() if v is not None)


class OperatingPoint(eqx.Module):
    """What is asked of an explorer in one episode.

    The numbers are arrays, so that a grid of operating points is one `vmap` and a
    new price does not recompile; the regime is static, so that explorers branch on
    it in Python. `price` and `error_prob` are 0 where the regime does not use them.
    A batch of operating points has leading axes.
    """

    price: Float[Array, "*batch"]
    error_prob: Float[Array, "*batch"]
    max_queries: Int[Array, "*batch"]
    regime: Regime = eqx.field(static=True)

    @staticmethod
    def at(horizon: int, **asked: Any) -> "OperatingPoint":
        """The operating point of a `Request` with these fields.

        Raises:
            OperatingPointError: the request is malformed or beyond the horizon.
        """
        return Request(**asked).at(horizon)

    def is_budget(self, horizon: int) -> Bool[Array, "*batch"]:
        """Whether the cap was asked for, and is not merely the horizon."""
        capped = self.max_queries < horizon
        if self.regime is Regime.MIXED:
            return capped | (self.price == 0)
        return capped | (self.regime is Regime.BUDGET)


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
