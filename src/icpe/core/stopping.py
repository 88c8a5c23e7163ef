"""When a rule with an exact belief stops, and what it may ask."""

import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Flag, Index, PRNGKey, Scalar
from icpe.core.episode import STOP
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec


def stop_threshold(
    name: str,
    spec: TaskSpec,
    operating_point: OperatingPoint,
    tuned: float | None = None,
) -> Scalar | None:
    """The posterior probability at which to stop, None where the rule never stops.

    Stopping when the best hypothesis has posterior 1 - error_prob or more keeps the
    error probability at or below error_prob on average over the prior. A `tuned`
    threshold replaces this value.

    Raises:
        OperatingPointError: a price, which a rule without values cannot weigh.
    """
    if operating_point.regime in (Regime.PRICE, Regime.MIXED):
        raise OperatingPointError(
            f"Explorer {name!r} cannot weigh a price; ask for error_prob or budget."
        )
    if operating_point.regime is Regime.BUDGET or not spec.can_stop:
        return None
    if tuned is not None:
        return jnp.full_like(operating_point.error_prob, tuned)
    return 1.0 - operating_point.error_prob


def check_threshold(threshold: float | None) -> None:
    """Raises one sentence unless the threshold is left out or lies in (0, 1]."""
    if threshold is not None and not 0.0 < threshold <= 1.0:
        raise InvalidParameterError(
            "threshold must be greater than 0 and at most 1, or left out for "
            f"1 - error_prob; got {threshold}."
        )


def is_confident(log_posterior: Float[Array, "hypotheses"], threshold: Scalar) -> Flag:
    """Whether the best hypothesis has reached the threshold."""
    return jnp.max(log_posterior) >= jnp.log(threshold)


def random_query(query_mask: Bool[Array, "queries"], *, key: PRNGKey) -> Index:
    """A uniformly random allowed query, or `STOP` if none is allowed."""
    # A mask that never changes is a constant, whose sums a compiler takes seconds for.
    query_mask = lax.optimization_barrier(query_mask)
    num_allowed = jnp.cumsum(query_mask.astype(jnp.int32))
    rank = jr.randint(key, (), 0, num_allowed[-1])
    return stop_if(num_allowed[-1] == 0, jnp.argmax(num_allowed > rank))


def stop_if(stop: Flag, query: Index) -> Index:
    """`STOP` where `stop` holds, else the query."""
    return jnp.where(stop, STOP, query.astype(jnp.int32))
