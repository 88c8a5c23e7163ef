"""Is the stated posterior right: how often is an explorer right when it says p?"""

import dataclasses

import jax.random as jr
import numpy as np
from jaxtyping import Bool, Float, Int

from icpe.core.checks import check_at_least
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.evaluate.benchmark import Contender, Request
from icpe.play.rollout import Ending, rollout_chunks
from icpe.theory.intervals import clopper_pearson

NUM_BINS = 15


@dataclasses.dataclass(frozen=True)
class Reliability:
    """Episodes by the probability that the explorer gave to its answer at the end.

    Bins are equally wide on [0, 1]; sums of disjoint sets of episodes add up.

    Attributes:
        episodes: episodes in each bin.
        successes: right answers among them.
        stated: sum of the stated probabilities.
        squared_error: sum over all episodes of (stated - right)^2.
    """

    episodes: Int[np.ndarray, "bins"]
    successes: Int[np.ndarray, "bins"]
    stated: Float[np.ndarray, "bins"]
    squared_error: float

    @staticmethod
    def of(
        probability: Float[np.ndarray, "episodes"],
        correct: Bool[np.ndarray, "episodes"],
        num_bins: int = NUM_BINS,
    ) -> "Reliability":
        """Counts episodes with these stated probabilities and outcomes."""
        check_at_least("num_bins", num_bins, 1)
        bins = np.clip((probability * num_bins).astype(int), 0, num_bins - 1)

        def total(weights):
            return np.bincount(bins, weights, minlength=num_bins)

        return Reliability(
            episodes=np.bincount(bins, minlength=num_bins),
            successes=total(correct).astype(int),
            stated=total(probability),
            squared_error=float(np.sum((probability - correct) ** 2)),
        )

    def __add__(self, other: "Reliability") -> "Reliability":
        return Reliability(
            self.episodes + other.episodes,
            self.successes + other.successes,
            self.stated + other.stated,
            self.squared_error + other.squared_error,
        )

    @property
    def edges(self) -> Float[np.ndarray, "edges"]:
        """The ends of the bins."""
        return np.linspace(0.0, 1.0, len(self.episodes) + 1)

    @property
    def confidence(self) -> Float[np.ndarray, "bins"]:
        """Mean stated probability of each bin; NaN where it is empty."""
        return _ratio(self.stated, self.episodes)

    @property
    def accuracy(self) -> Float[np.ndarray, "bins"]:
        """Fraction of right answers of each bin; NaN where it is empty."""
        return _ratio(self.successes, self.episodes)

    def accuracy_interval(
        self, confidence: float = 0.95
    ) -> tuple[Float[np.ndarray, "bins"], Float[np.ndarray, "bins"]]:
        """Ends of the interval of each bin (Clopper and Pearson); NaN if empty."""
        some = self.episodes > 0
        low, high = clopper_pearson(
            self.successes, np.where(some, self.episodes, 1), confidence
        )
        return np.where(some, low, np.nan), np.where(some, high, np.nan)

    @property
    def expected_calibration_error(self) -> float:
        """Mean distance of stated probability and accuracy, bins by their episodes.

        Its expectation is positive even for an exact posterior, of the order of
        sqrt(bins / episodes) / 2 at most, since accuracies of bins are noisy.
        """
        distance = np.abs(self.stated - self.successes)
        return float(distance.sum() / self.episodes.sum())

    @property
    def largest_calibration_error(self) -> float:
        """Largest distance of stated probability and accuracy in a bin."""
        return float(np.nanmax(np.abs(self.confidence - self.accuracy)))

    @property
    def brier_score(self) -> float:
        """Mean of (stated - right)^2, less is better."""
        return self.squared_error / float(self.episodes.sum())


def measure_reliability(
    contender: Contender,
    family: AbstractTaskFamily,
    *,
    error_prob: float | None = None,
    budget: int | None = None,
    price: float | None = None,
    max_queries: int | None = None,
    episodes: int = 10_000,
    seed: int = 0,
    num_bins: int = NUM_BINS,
) -> Reliability:
    """Plays fresh episodes and compares the belief at their end with the truth.

    Raises:
        OperatingPointError: the request is malformed, or cannot be served.
        UnsupportedError: the explorer has no belief.
    """
    request = Request(error_prob, budget, price, max_queries)
    player = request.put_to(contender, family)
    total = None
    for chunk in rollout_chunks(
        player.explorer,
        family,
        player.operating_point,
        episodes,
        key=jr.key(seed),
        keep_posterior=True,
    ):
        part = Reliability.of(*_stated(chunk.ending), num_bins=num_bins)
        total = part if total is None else total + part
    assert total is not None
    return total


def _stated(ending: Ending) -> tuple[np.ndarray, np.ndarray]:
    """The probability of the answer that was given, and whether it was right."""
    if ending.log_posterior is None:
        raise UnsupportedError(
            "The explorer has no belief whose reliability could be measured; choose "
            "one that has, such as a trained one."
        )
    chosen = np.asarray(ending.recommendation)[:, None]
    log_posterior = np.take_along_axis(np.asarray(ending.log_posterior), chosen, 1)
    return np.exp(log_posterior[:, 0].astype(float)), np.asarray(ending.correct)


def _ratio(
    above: np.ndarray, below: Int[np.ndarray, "bins"]
) -> Float[np.ndarray, "bins"]:
    return np.where(below > 0, above / np.maximum(below, 1), np.nan)
