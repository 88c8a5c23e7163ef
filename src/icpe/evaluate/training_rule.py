"""Stop training when the evidence is strong that the explorer has become accurate.

The rule of the paper ("Training-time certification and stopping"): at every epoch the
present networks play a batch of fresh episodes at one declared price, and training
ends when the accuracies so far cross a boundary that they would cross with probability
at most `level` if the error had been too large at every epoch. That is all a crossing
says. It speaks about the last networks only if accuracy never fell from epoch to
epoch, and so it never makes a certificate; `certify` does, on the finished explorer.
"""

import dataclasses
import math
from typing import Any, Literal

import jax.random as jr
import numpy as np
from numpy.typing import ArrayLike

from icpe.core.checks import check_at_least
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import OperatingPoint
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.play.rollout import run_episodes
from icpe.theory.betting import log_wealth
from icpe.theory.martingales import mixture_boundary

_STREAM = 0x07A14
"""Folded into the seed, so that the rule shares no episodes with anything else."""


@dataclasses.dataclass(frozen=True)
class SequentialTest:
    """Rejects "the error was larger than error_prob at every epoch so far".

    If it was, `rejects` is ever True with probability at most `level`, by Ville's
    inequality, even though it is asked at every epoch.

    Attributes:
        error_prob: the error probability, at most 3/4 for the mixture boundary.
        level: probability of a false alarm.
        batch_size: episodes of an epoch.
        boundary: the paper's mixture martingale, or betting, which needs several
            times fewer epochs.
    """

    error_prob: float
    level: float
    batch_size: int
    boundary: Literal["mixture", "betting"] = "mixture"

    def __post_init__(self):
        check_at_least("batch_size", self.batch_size, 1)
        for name in ("error_prob", "level"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise InvalidParameterError(
                    f"{name} must lie strictly between 0 and 1; "
                    f"got {getattr(self, name)}."
                )
        if self.boundary == "mixture" and self.error_prob > 0.75:
            raise InvalidParameterError(
                "error_prob must be at most 0.75 for the mixture boundary; got "
                f"{self.error_prob}."
            )

    def rejects(self, successes: ArrayLike, epochs: ArrayLike) -> np.ndarray:
        """Whether so many right answers in all epochs together meet the boundary."""
        trials = np.asarray(epochs) * self.batch_size
        accuracy = 1.0 - self.error_prob
        if self.boundary == "betting":
            wealth = log_wealth(successes, trials, probability=accuracy)
            return np.asarray(wealth >= -math.log(self.level))
        needed = mixture_boundary(
            epochs,
            probability=accuracy,
            batch_size=self.batch_size,
            level=self.level,
        )
        return np.asarray(np.asarray(successes) / trials >= needed)


class TrainingRule:
    """Says when training is enough; to be given to `fit` as `is_enough`.

    A training that is resumed starts its count again, and may then raise a false
    alarm with probability `level` once more.

    Args:
        family: the family that is trained for.
        price: the declared price, inside the trained range.
        error_prob: the error probability to be reached there.
        level: probability of stopping although it was never reached.
        first_iteration: iterations before this one do not count. Accuracies are
            averaged over all epochs that count, so early ones only delay the end.
        batch_size: episodes played after each chunk of training.
        boundary: see `SequentialTest`.
        seed: seed of those episodes.
    """

    def __init__(
        self,
        family: AbstractTaskFamily,
        *,
        price: float,
        error_prob: float,
        level: float = 0.05,
        first_iteration: int = 0,
        batch_size: int = 512,
        boundary: Literal["mixture", "betting"] = "mixture",
        seed: int = 0,
    ):
        self._family = family
        self._point = OperatingPoint.at(family.spec.horizon, price=price)
        self._test = SequentialTest(
            error_prob=error_prob,
            level=level,
            batch_size=batch_size,
            boundary=boundary,
        )
        self._price = price
        self._first_iteration = first_iteration
        self._key = jr.fold_in(jr.key(seed), _STREAM)
        self._epochs = self._successes = 0
        self._ended_at: int | None = None

    def __call__(self, iteration: int, nets: ExplorerNets) -> bool:
        """Plays one epoch with the networks; True when training is enough.

        Raises:
            OperatingPointError: the networks are not trained for the price.
        """
        if iteration < self._first_iteration:
            return False
        prices = nets.prices
        if not prices.low <= self._price <= prices.high:
            raise OperatingPointError(
                f"price must lie in the trained range [{prices.low:g}, "
                f"{prices.high:g}]; got {self._price}."
            )
        ending = run_episodes(
            NeuralExplorer(nets.for_play()),
            self._family,
            self._point,
            self._test.batch_size,
            key=jr.fold_in(self._key, iteration),
        )
        self._epochs += 1
        self._successes += int(np.sum(ending.correct))
        if self._test.rejects(self._successes, self._epochs):
            self._ended_at = iteration
        return self._ended_at is not None

    def record(self) -> dict[str, Any]:
        """What was declared and what came of it, for the provenance of an artifact."""
        return {
            "price": self._price,
            **dataclasses.asdict(self._test),
            "first_iteration": self._first_iteration,
            "epochs": self._epochs,
            "successes": self._successes,
            "ended_at": self._ended_at,
        }
