"""Certify the error probability of a trained explorer.

Three sets of episodes never meet: calibration plans a ladder of prices; the tests use
a second set; the lower bound uses a third. The tests bet against too many errors, and
every ladder has a share of the level, so that an explorer gets a price at which it
errs too often with probability at most 1 - confidence, however often, for however many
error probabilities and with however many ladders that is tried.
"""

import dataclasses
from typing import Any

import numpy as np

from icpe.artifact import Artifact, provenance
from icpe.artifact.certificate import Certificate, PriceTest, certifiable_request
from icpe.core.checks import check_num_episodes
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.progress import AbstractProgress
from icpe.evaluate.attempts import BETTING, Attempt, find_attempt
from icpe.evaluate.climb import Climb, climb
from icpe.evaluate.groups import by_difficulty, by_hypothesis, hardness
from icpe.evaluate.ladder import (
    POWER,
    check_episodes,
    default_episodes,
    default_limit,
)
from icpe.evaluate.stage import Stage, num_correct
from icpe.play.rollout import Ending
from icpe.theory.betting import bets_needed
from icpe.theory.intervals import check_confidence, clopper_pearson_lower

DEFAULT_BUDGET_EPISODES = 10_000


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
    which is due to failed attempts as well: the next call goes on with the episodes
    of the artifact's certificates, at no cost of confidence. One that has already
    shown the same request is returned as it is.

    Args:
        artifact: the explorer, calibrated.
        error_prob: the error probability to certify: the cheapest price of the
            ladder that passes is certified.
        budget: instead of it, a fixed number of queries: only a lower bound of the
            accuracy is given.
        confidence: of the certificate and, separately, of the lower bound.
        episodes: the most episodes at each price, those of earlier calls included
            (see `default_limit`), and in the bound.
        seed: seed of the episodes; a hash of weights and family if None. Another seed
            is another attempt.
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
        check_num_episodes("episodes", number)
        stage = Stage(artifact, seed, progress=progress)
        bound = stage.play("bound", artifact.operating_point(budget=budget), number)
        return _certificate(
            stage,
            bound,
            confidence,
            budget=budget,
            attempt=1 + _earlier_bounds(stage, budget),
        ).sealed()
    error_prob = _checked(artifact, error_prob, budget)
    return _certify_error_prob(
        artifact, error_prob, confidence, episodes, seed, progress
    )


def _certify_error_prob(
    artifact: Artifact,
    error_prob: float,
    confidence: float,
    episodes: int | None,
    seed: int | None,
    progress: AbstractProgress | None,
) -> Certificate:
    """Finds or starts the attempt, and goes on with it."""
    stage = Stage(artifact, seed, progress=progress)
    assert artifact.table is not None
    attempt = find_attempt(
        artifact.certificates,
        artifact.table,
        error_prob=error_prob,
        confidence=confidence,
        weights=stage.weights,
        table_hash=artifact.table_hash,
        seed=stage.seed,
    )
    for shown in attempt.certificates:
        asked = (shown.error_prob, shown.confidence)
        if shown.certified and asked == (error_prob, confidence) and shown.is_intact:
            return shown
    stage.attempt = attempt.number
    limit = default_limit(error_prob, confidence) if episodes is None else episodes
    level = attempt.level(confidence)
    check_num_episodes("episodes", limit)
    check_episodes(limit, error_prob, level)
    block = stage.block(artifact.point_at(attempt.rungs[0].price), limit)
    result = climb(
        attempt.rungs,
        lambda price, first, last: stage.test_counts(
            artifact.point_at(price), first, last, block
        ),
        error_prob=error_prob,
        level=level,
        limit=limit,
    )
    number = min(limit, default_episodes(error_prob, confidence))
    point = artifact.point_at(result.price)
    bound = stage.play("bound", point, number, block)
    return dataclasses.replace(
        _certificate(
            stage, bound, confidence, error_prob=error_prob, attempt=attempt.number
        ),
        **_outcome(result, attempt, bound, error_prob, level),
    ).sealed()


def _outcome(
    result: Climb, attempt: Attempt, bound: Ending, error_prob: float, level: float
) -> dict[str, Any]:
    """The fields of a certificate that its tests decide."""
    needed = None
    if not result.certified:
        first = result.rungs[0]
        right = num_correct(bound) + first.successes
        pooled = right / (len(bound.num_queries) + first.episodes)
        needed = bets_needed(pooled, 1.0 - error_prob, level, POWER)
    return {
        "certified": result.certified,
        "price": result.price,
        "ladder": tuple(
            PriceTest(it.price, it.successes, it.passed, it.episodes)
            for it in result.rungs
        ),
        "episodes_needed": needed,
        "test": BETTING,
        "level": level,
        "planned_error_prob": attempt.error_prob,
        "planned_confidence": attempt.confidence,
    }


def _certificate(
    stage: Stage,
    bound: Ending,
    confidence: float,
    *,
    attempt: int,
    error_prob: float | None = None,
    budget: int | None = None,
) -> Certificate:
    """What the bound and the request say; nothing of tests."""
    artifact = stage.artifact
    hard = hardness(artifact.family, bound, key=stage.key("bound"))
    successes, episodes = num_correct(bound), len(bound.num_queries)
    return Certificate(
        error_prob=error_prob,
        budget=budget,
        confidence=confidence,
        certified=None,
        price=None,
        lower_bound=float(clopper_pearson_lower(successes, episodes, confidence)),
        episodes=episodes,
        bound_successes=successes,
        mean_queries=float(np.mean(bound.num_queries)),
        mean_cost=float(np.mean(bound.cost, dtype=np.float64)),
        ladder=(),
        episodes_needed=None,
        seed=stage.seed,
        seed_is_default=stage.seed == stage.default_seed,
        attempt=attempt,
        by_hypothesis=by_hypothesis(artifact.family, bound),
        by_difficulty=by_difficulty(hard.values, bound),
        difficulty=hard.name,
        weights=stage.weights,
        fingerprint=stage.fingerprint,
        table=artifact.table_hash,
        provenance=provenance(),
        document=artifact.subject_hash,
    )


def _earlier_bounds(stage: Stage, budget: int) -> int:
    return sum(
        record["weights"] == stage.weights
        and (record["error_prob"], record["budget"]) == (None, budget)
        for record in stage.artifact.certificates
    )


def check_request(
    artifact: Artifact, error_prob: float | None, budget: int | None
) -> None:
    """Raises one sentence unless it is an error probability or else a budget."""
    certifiable_request(error_prob, budget).at(artifact.family.spec.horizon)


def _checked(artifact: Artifact, error_prob: float | None, budget: int | None) -> float:
    check_request(artifact, error_prob, budget)
    assert error_prob is not None
    _ = artifact.prices  # there must be some to climb
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
