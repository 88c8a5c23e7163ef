"""Lambda-returns of one episode, whatever its rewards, values and traces are."""

from jax import lax
from jaxtyping import Array, Float


def lambda_returns(
    rewards: Float[Array, "steps"],
    next_values: Float[Array, "steps"],
    traces: Float[Array, "steps"],
    *,
    discount: float = 1.0,
) -> Float[Array, "steps"]:
    """G_t = r_t + discount * ((1 - l_t) V_{t+1} + l_t G_{t+1}).

    All steps at once, in a number of operations that grows with the logarithm of the
    length.

    Args:
        rewards: r_t.
        next_values: V_{t+1}.
        traces: l_t, how far the return follows the episode; 0 at its last step. In
            Watkins' returns it is 0 wherever the next query is not the greedy one.
        discount: of what comes after.
    """

    def combine(later, earlier):
        (sum_later, weight_later), (sum_now, weight_now) = later, earlier
        return sum_now + weight_now * sum_later, weight_now * weight_later

    one_step = rewards + discount * (1.0 - traces) * next_values
    returns, _ = lax.associative_scan(
        combine, (one_step, discount * traces), reverse=True
    )
    return returns
