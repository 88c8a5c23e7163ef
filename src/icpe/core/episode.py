"""The rules of an episode: what may be asked, and why it ends.

They are written once, for arrays; the compiled rollout, a session and the terminal all
follow them.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from icpe.core.spec import TaskSpec
from icpe.portable.episode import StopReason as StopReason

STOP = -1
"""What an explorer answers instead of a query when it wants to stop."""


def why_ended(
    *,
    terminated: Bool[Array, "*batch"],
    num_queries: Int[Array, "*batch"],
    cap: Int[Array, "*batch"],
    is_budget: Bool[Array, "*batch"],
    can_ask: Bool[Array, "*batch"],
    stops: Bool[Array, "*batch"],
) -> Int[Array, "*batch"]:
    """Why an episode is over, or that it is running, as a `StopReason`.

    The world comes first, then the cap, then what there is to ask, then the explorer.

    Args:
        terminated: whether the family ended it.
        num_queries: queries made so far.
        cap: the most queries, by request or by the horizon.
        is_budget: whether the cap was asked for; else it is the horizon.
        can_ask: whether any query is allowed.
        stops: whether the explorer stops.
    """
    reason = jnp.where(stops, StopReason.EXPLORER, StopReason.RUNNING)
    reason = jnp.where(can_ask, reason, StopReason.NO_QUERY)
    at_cap = jnp.where(is_budget, StopReason.BUDGET, StopReason.HORIZON)
    reason = jnp.where(num_queries >= cap, at_cap, reason)
    return jnp.where(terminated, StopReason.TERMINATED, reason).astype(jnp.int32)


def none_asked(spec: TaskSpec, *batch: int) -> Bool[Array, "*batch queries"] | None:
    """What was asked before the first query, None where it may be asked again."""
    return jnp.zeros((*batch, spec.num_queries), bool) if spec.ask_once else None


def allowed_queries(
    query_mask: Bool[Array, "*batch queries"],
    asked: Bool[Array, "*batch queries"] | None,
) -> Bool[Array, "*batch queries"]:
    """What may be asked: what the family allows, less what may be asked but once."""
    return query_mask if asked is None else query_mask & ~asked


def asked_along(
    queries: Int[Array, "steps"], num_queries: int
) -> Bool[Array, "steps+1 queries"]:
    """Which queries were made before each position of a history."""
    made = jnp.cumsum(jax.nn.one_hot(queries, num_queries, dtype=jnp.int32), axis=0)
    return jnp.concatenate([jnp.zeros((1, num_queries), bool), made > 0])
