"""What is asked of an explorer: an error probability, a budget or a price."""

import enum
import numbers
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from icpe.core.checks import is_whole
from icpe.core.errors import OperatingPointError


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
    def at(
        horizon: int,
        *,
        error_prob: float | None = None,
        budget: int | None = None,
        price: float | None = None,
        max_queries: int | None = None,
    ) -> "OperatingPoint":
        """Validates a request and turns it into arrays.

        Args:
            horizon: the family's horizon, the largest possible number of queries.
            error_prob: stop when the error probability is at most this.
            budget: make exactly this many queries.
            price: price of one unit of cost, in units of probability.
            max_queries: cap on the queries, beside a price or an error probability.

        Raises:
            OperatingPointError: not exactly one of the first three is given, or a
                value is of the wrong kind or lies outside its range.
        """
        given = {"error_prob": error_prob, "budget": budget, "price": price}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            raise OperatingPointError(
                "Exactly one of error_prob, budget and price must be given; got "
                f"{' and '.join(named) if named else 'none of them'}."
            )
        if budget is not None:
            if max_queries is not None:
                raise OperatingPointError(
                    "max_queries cannot be combined with budget, which already fixes "
                    "the number of queries; leave one of them out."
                )
            _check_count("budget", budget, horizon)
            return _point(0.0, 0.0, budget, Regime.BUDGET)
        cap = horizon if max_queries is None else max_queries
        _check_count("max_queries", cap, horizon)
        if error_prob is not None:
            _check_number("error_prob", error_prob)
            if not 0.0 < error_prob < 1.0:
                raise OperatingPointError(
                    f"error_prob must lie strictly between 0 and 1; got {error_prob}."
                )
            return _point(0.0, error_prob, cap, Regime.ERROR_PROB)
        assert price is not None
        _check_number("price", price)
        if not 0.0 < price < float("inf"):
            raise OperatingPointError(
                f"price must be positive and finite; got {price}. For a fixed number "
                "of queries use budget."
            )
        return _point(price, 0.0, cap, Regime.PRICE)


def _point(price: float, error_prob: float, cap: int, regime: Regime) -> OperatingPoint:
    return OperatingPoint(
        price=jnp.asarray(price, jnp.float32),
        error_prob=jnp.asarray(error_prob, jnp.float32),
        max_queries=jnp.asarray(cap, jnp.int32),
        regime=regime,
    )


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
