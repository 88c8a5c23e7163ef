"""Which arm is best when a pull reveals its mean: the exact posterior."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def revealed_best_log_posterior(
    tried: Bool[Array, "arms"],
    values: Float[Array, "arms"],
    exists: Bool[Array, "arms"] | None = None,
) -> Float[Array, "arms"]:
    """Log-probability that each arm is best; means are independent U[0, 1].

    With m the largest revealed mean and u arms untried, all of the untried are below
    m with probability m^u. So the revealed best is best with probability m^u, and by
    symmetry each untried arm with (1 - m^u) / u.

    Args:
        tried: the arms whose mean is known.
        values: their means; ignored where untried.
        exists: the arms that there are, the first one among them; all if None. The
            others are never tried, and never best.
    """
    untried = ~tried if exists is None else exists & ~tried
    num_untried = jnp.sum(untried).astype(values.dtype)
    known = jnp.where(tried, jnp.clip(values, 0.0, 1.0), -1.0)
    leader = jnp.argmax(known)
    none_tried = ~tried[leader]
    largest = jnp.where(none_tried, 0.0, known[leader])
    log_lead = jnp.where(num_untried > 0, num_untried * jnp.log(largest), 0.0)
    log_others = jnp.log(-jnp.expm1(log_lead)) - jnp.log(jnp.maximum(num_untried, 1))
    revealed = jnp.where(jnp.arange(tried.shape[0]) == leader, log_lead, -jnp.inf)
    return jnp.where(untried, log_others, revealed)
