"""The contract of a bandit: a family whose outcomes are rewards of arms."""

import math
from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Scalar
from icpe.core.errors import InvalidParameterError
from icpe.core.family import AbstractTaskFamily, Difficulty
from icpe.families.bandit.arms import AbstractArms
from icpe.families.bandit.rewards import Means


class AbstractBandit(AbstractTaskFamily):
    """A family with one query for each arm.

    What it says here is all that methods without the prior know about it.
    """

    def arms(self) -> AbstractArms | None:
        """The law of the rewards up to their means, None if it is not a known one."""
        return None

    def reward_noise(
        self, first_outcome: Float[Array, "outcome"]
    ) -> Float[Array, "arms"] | None:
        """Standard deviation of each arm's rewards, as the first outcome tells it.

        None where the first entry of an outcome is not the reward of the arm pulled.
        """
        return None

    def check_means(self, means: Sequence[float]) -> None:
        """Raises one sentence unless arms of the family can have these means.

        A lead of the best arm that the prior excludes is allowed: it is a fact about
        the prior, not about the arms.
        """
        for mean in means:
            if not math.isfinite(mean):
                raise InvalidParameterError(f"means must be finite; got {mean}.")


def gap_difficulty() -> Difficulty:
    """The lead of the best mean, for bandits whose task is the means."""
    return Difficulty("gap between the two largest means", _gap)


def _gap(means: Means) -> Scalar:
    second, first = jnp.sort(means)[-2:]
    return first - second
