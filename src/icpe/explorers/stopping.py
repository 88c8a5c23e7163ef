"""When a rule with an exact belief stops, and what it may ask."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from icpe.exceptions import OperatingPointError
from icpe.tasks.base import TaskSpec
from icpe.types import STOP, Flag, Index, OperatingPoint, PRNGKey, Regime, Scalar


def stop_threshold(
    name: str, spec: TaskSpec, operating_point: OperatingPoint
) -> Scalar | None:
    """The posterior probability at which to stop, None where the rule never stops.

    Stopping when the best hypothesis has posterior 1 - error_prob or more keeps the
    error probability at or below error_prob on average over the prior.

    Raises:
        OperatingPointError: a price, which a rule without values cannot weigh.
    """
    if operating_point.regime in (Regime.PRICE, Regime.MIXED):
        raise OperatingPointError(
            f"Explorer {name!r} cannot weigh a price; ask for error_prob or budget."
        )
    if operating_point.regime is Regime.BUDGET or not spec.can_stop:
        return None
    return 1.0 - operating_point.error_prob


def is_confident(log_posterior: Float[Array, "hypotheses"], threshold: Scalar) -> Flag:
    """Whether the best hypothesis has reached the threshold."""
    return jnp.max(log_posterior) >= jnp.log(threshold)


def random_query(query_mask: Bool[Array, "queries"], *, key: PRNGKey) -> Index:
    """A uniformly random allowed query, or `STOP` if none is allowed."""
    num_allowed = jnp.cumsum(query_mask.astype(jnp.int32))
    rank = jr.randint(key, (), 0, num_allowed[-1])
    return stop_if(num_allowed[-1] == 0, jnp.argmax(num_allowed > rank))


def stop_if(stop: Flag, query: Index) -> Index:
    """`STOP` where `stop` holds, else the query."""
    return jnp.where(stop, STOP, query.astype(jnp.int32))
