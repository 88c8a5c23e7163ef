"""Track-and-Stop: pull arms in the proportions that are optimal for what was seen."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.errors import InvalidParameterError
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.classical.arms_explorer import (
    AbstractSamplingRule,
    ArmsExplorer,
    LikelihoodRatioStopping,
    Scale,
    check_scale,
    untried_first,
)
from icpe.explorers.classical.served import plain_arms_of
from icpe.families.bandit.arms import PlainArms, Seen

TRACKINGS = ("D", "C")


class Tracking(AbstractSamplingRule):
    """Keeps the pulls close to the optimal proportions w* of the sample means.

    After one pull of each arm:

    * D-tracking: an arm with fewer than sqrt(t) - K/2 pulls, if there is one, the one
      with the fewest; else the arm that is furthest behind t w*(t).
    * C-tracking: the arm furthest behind the sum over s <= t of w*(s), each mixed
      with the uniform law so that no entry is below 1 / (2 sqrt(K^2 + s)).

    Both pull in the optimal proportions in the long run (Garivier and Kaufmann 2016,
    Lemmas 7 and 8; their projection is replaced by mixing, which keeps its properties).
    The memory is the sum of the proportions, None for D-tracking.
    """

    arms: PlainArms
    tracking: str = eqx.field(static=True, default="D")

    def __check_init__(self):
        if self.tracking not in TRACKINGS:
            raise InvalidParameterError(
                f"tracking must be one of {', '.join(TRACKINGS)}; "
                f"got {self.tracking!r}."
            )

    def init(
        self, seen: Seen, error_prob: Scalar | None
    ) -> Float[Array, "queries"] | None:
        return jnp.zeros_like(seen.sums) if self.tracking == "C" else None

    def update(
        self,
        memory: Float[Array, "queries"] | None,
        seen: Seen,
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> Float[Array, "queries"] | None:
        """Adds the proportions for the new sample means."""
        if memory is None:
            return None
        return memory + mixed_with_uniform(
            self.arms.characteristic_time(seen.means).proportions, seen
        )

    def preferences(
        self, memory: Float[Array, "queries"] | None, seen: Seen, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        """How far each arm is behind."""
        pulls = seen.pulls.astype(seen.sums.dtype)
        if memory is not None:
            return untried_first(memory - pulls, seen)
        behind = (
            jnp.sum(pulls) * self.arms.characteristic_time(seen.means).proportions
            - pulls
        )
        return untried_first(forced_first(behind, pulls), seen)


def forced_first(
    scores: Float[Array, "queries"], pulls: Float[Array, "queries"]
) -> Float[Array, "queries"]:
    """The scores, below those of queries made fewer than sqrt(t) - K/2 times."""
    size, time = pulls.shape[0], jnp.sum(pulls)
    forced = pulls < jnp.sqrt(time) - size / 2
    return jnp.where(forced, 2.0 * (time + 1.0) - pulls, scores)


def mixed_with_uniform(
    proportions: Float[Array, "queries"], seen: Seen
) -> Float[Array, "queries"]:
    """Proportions of which none is below 1 / (2 sqrt(K^2 + t))."""
    size = proportions.shape[0]
    time = jnp.sum(seen.pulls).astype(proportions.dtype)
    least = 0.5 / jnp.sqrt(size**2 + time)
    return (1.0 - size * least) * proportions + least


def make_track_and_stop(
    family: AbstractTaskFamily,
    *,
    tracking: Annotated[str, "D or C: track the last or the mean proportions"] = "D",
    threshold: Annotated[
        str, "heuristic: ln((1 + ln t) / delta), as in the paper; or valid"
    ] = "heuristic",
    scale: Scale = 1.0,
) -> ArmsExplorer:
    """Track-and-Stop for a bandit."""
    arms = plain_arms_of(family)
    return ArmsExplorer(
        "track-and-stop",
        arms,
        Tracking(arms, tracking),
        LikelihoodRatioStopping(arms, threshold, check_scale(scale)),
    )
