"""Certify the error probability of a trained explorer.

Three sets of episodes never meet: calibration plans a ladder of prices; the tests use
a second set, of a size fixed beforehand; the lower bound uses a third. The tests form
a fixed sequence, so that an explorer gets a price at which it errs too often with
probability at most 1 - confidence, however many prices are tried.
"""

from typing import Literal

import jax
import jax.random as jr
import numpy as np

from icpe.artifact import Artifact, provenance
from icpe.artifact.certificate import Certificate, PriceTest, digest
from icpe.core.arrays import PRNGKey
from icpe.core.checks import check_at_least
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.fingerprint import fingerprint
from icpe.core.progress import AbstractProgress, NoProgress
from icpe.core.request import OperatingPoint
from icpe.evaluate.groups import by_difficulty, by_hypothesis, hardness
from icpe.evaluate.ladder import (
    POWER,
    Climb,
    check_episodes,
    climb,
    default_episodes,
)
from icpe.play.rollout import Ending, rollout_chunks
from icpe.theory.fixed_sequence import trials_needed
from icpe.theory.intervals import check_confidence, clopper_pearson_lower

DEFAULT_BUDGET_EPISODES = 10_000
_STREAM = 0x0CE47
"""Folded into the seed, so that certificates share no episodes with anything else."""
_SETS = {"test": 0, "bound": 1}


def certify(
    artifact: Artifact,
    *,
    error_prob: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    episodes: int | None = None,
    seed: int | None = None,
    progress: AbstractProgress | None = None,
) -> Certificate:
    """Tests whether an explorer errs rarely enough, on average over the prior.

    The certificate is not written anywhere; `artifact.with_certificate` keeps it,
    which is due to failed attempts as well.

    Args:
        artifact: the explorer, calibrated.
        error_prob: the error probability to certify: the cheapest price of the
            ladder that passes is certified.
        budget: instead of it, a fixed number of queries: only a lower bound of the
            accuracy is given.
        confidence: of the certificate and, separately, of the lower bound.
        episodes: episodes of each test and of the bound; see `default_episodes`.
        seed: seed of the episodes; a hash of weights and family if None, so that
            trying again until it passes does not go unseen.
        progress: notified of every chunk of episodes.

    Raises:
        OperatingPointError: not exactly one of error_prob and budget is given, one is
            out of range, or the operating table is missing.
        UnsupportedError: an error_prob for an explorer of the paper's learner.
        InvalidParameterError: so few episodes that no explorer could pass.
    """
    check_confidence(confidence)
    if budget is not None and error_prob is None:
        number = DEFAULT_BUDGET_EPISODES if episodes is None else episodes
        check_at_least("episodes", number, 1)
        stage = Stage(artifact, seed, number, progress)
        bound = stage.play("bound", artifact.operating_point(budget=budget))
        return _certificate(stage, bound, confidence, budget=budget).sealed()
    error_prob = _checked(artifact, error_prob, budget)
    number = default_episodes(error_prob, confidence) if episodes is None else episodes
    check_episodes(number, error_prob, confidence)
    stage = Stage(artifact, seed, number, progress)
    assert artifact.table is not None
    result = climb(
        artifact.table.priced(),
        lambda price: num_correct(
            stage.play("test", artifact.operating_point(price=price))
        ),
        error_prob=error_prob,
        confidence=confidence,
        episodes=number,
    )
    bound = stage.play("bound", artifact.operating_point(price=result.price))
    certificate = _certificate(
        stage, bound, confidence, error_prob=error_prob, result=result
    )
    return certificate.sealed()


class Stage:
    """Where the episodes of one certificate are played.

    The episodes of a set have the same keys at every price: what differs is the price
    alone. The tests may depend on one another, so this costs nothing.
    """

    def __init__(
        self,
        artifact: Artifact,
        seed: int | None,
        episodes: int,
        progress: AbstractProgress | None = None,
    ):
        self.artifact = artifact
        self.weights = artifact.weights_hash
        self.fingerprint = fingerprint(artifact.family)
        self.default_seed = int(digest([self.weights, self.fingerprint])[:8], 16)
        self.seed = self.default_seed if seed is None else seed
        self.episodes = episodes
        self._progress = progress or NoProgress()
        self._explorer = artifact.explorer

    def key(self, name: Literal["test", "bound"]) -> PRNGKey:
        """The key of a set of episodes."""
        return jr.fold_in(jr.fold_in(jr.key(self.seed), _STREAM), _SETS[name])

    def play(self, name: Literal["test", "bound"], point: OperatingPoint) -> Ending:
        """Plays all episodes of a set at an operating point."""
        price = float(point.price)
        at = f"price {price:.4g}" if price else f"budget {int(point.max_queries)}"
        self._progress.start(f"{name} at {at}", self.episodes)
        endings = []
        try:
            for chunk in rollout_chunks(
                self._explorer,
                self.artifact.family,
                point,
                self.episodes,
                key=self.key(name),
            ):
                endings.append(chunk.ending)
                self._progress.advance(len(chunk.ending.num_queries))
        finally:
            self._progress.finish()
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *endings)


def num_correct(ending: Ending) -> int:
    """Number of right answers."""
    return int(np.sum(ending.correct))


def _certificate(
    stage: Stage,
    bound: Ending,
    confidence: float,
    *,
    error_prob: float | None = None,
    budget: int | None = None,
    result: Climb | None = None,
) -> Certificate:
    artifact = stage.artifact
    hard = hardness(artifact.family, bound, key=stage.key("bound"))
    successes = num_correct(bound)
    needed = None
    if result is not None and error_prob is not None and not result.certified:
        pooled = (successes + result.rungs[0].successes) / (2 * stage.episodes)
        needed = trials_needed(pooled, 1.0 - error_prob, confidence, POWER)
    return Certificate(
        error_prob=error_prob,
        budget=budget,
        confidence=confidence,
        certified=None if result is None else result.certified,
        price=None if result is None else result.price,
        lower_bound=float(clopper_pearson_lower(successes, stage.episodes, confidence)),
        episodes=stage.episodes,
        bound_successes=successes,
        mean_queries=float(np.mean(bound.num_queries)),
        mean_cost=float(np.mean(bound.cost, dtype=np.float64)),
        ladder=tuple(PriceTest(*rung) for rung in (result.rungs if result else ())),
        episodes_needed=needed,
        seed=stage.seed,
        seed_is_default=stage.seed == stage.default_seed,
        attempt=1 + _earlier_attempts(stage, error_prob, budget),
        by_hypothesis=by_hypothesis(artifact.family, bound),
        by_difficulty=by_difficulty(hard.values, bound),
        difficulty=hard.name,
        weights=stage.weights,
        fingerprint=stage.fingerprint,
        table=artifact.table_hash,
        provenance=provenance(),
    )


def _earlier_attempts(
    stage: Stage, error_prob: float | None, budget: int | None
) -> int:
    return sum(
        record["weights"] == stage.weights
        and (record["error_prob"], record["budget"]) == (error_prob, budget)
        for record in stage.artifact.certificates
    )


def check_request(
    artifact: Artifact, error_prob: float | None, budget: int | None
) -> None:
    """Raises one sentence unless it is an error probability or else a budget."""
    if (error_prob is None) == (budget is None):
        given = "none of them" if budget is None else "error_prob and budget"
        raise OperatingPointError(
            "A certificate is for exactly one of error_prob and budget; got "
            f"{given}: name one, such as --error-prob 0.1."
        )
    OperatingPoint.at(
        artifact.family.spec.horizon, error_prob=error_prob, budget=budget
    )


def _checked(artifact: Artifact, error_prob: float | None, budget: int | None) -> float:
    check_request(artifact, error_prob, budget)
    assert error_prob is not None
    _ = artifact.universal_nets  # only these have prices to climb
    if artifact.table is None or not artifact.table.priced():
        raise OperatingPointError(
            "error_prob needs the operating table, which this file does not have yet; "
            "make it with icpe calibrate FILE."
        )
    if error_prob < 1e-9:
        raise InvalidParameterError(
            f"error_prob must be at least 1e-9 to be certified; got {error_prob}."
        )
    return error_prob
