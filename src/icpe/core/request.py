"""What is asked of an explorer in one episode, as arrays."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from icpe.core.goals import LEAST_CONFIDENCE as LEAST_CONFIDENCE
from icpe.core.goals import Promise as Promise
from icpe.core.goals import Regime as Regime
from icpe.core.goals import Request as Request


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


def operating_point(request: Request, max_queries: int) -> OperatingPoint:
    """A request as arrays, with its cap on the queries."""
    return OperatingPoint(
        price=jnp.asarray(request.price or 0.0, jnp.float32),
        error_prob=jnp.asarray(request.error_prob or 0.0, jnp.float32),
        max_queries=jnp.asarray(max_queries, jnp.int32),
        regime=request.regime,
    )
