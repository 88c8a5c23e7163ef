"""Certify the error probability of a trained explorer.

Three sets of episodes never meet: calibration plans a ladder of prices; the tests use
a second set; the lower bound uses a third. The tests bet against too many errors, and
every ladder has a share of the level, so that an explorer gets a price at which it
errs too often with probability at most 1 - confidence, however often, for however many
error probabilities and with however many ladders that is tried.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from icpe.artifact import Artifact, provenance
from icpe.artifact.certificate import Certificate, PriceTest, certifiable_request
from icpe.artifact.operating_table import OperatingRow
from icpe.artifact.player import Player
from icpe.core.checks import check_confidence, check_num_episodes
from icpe.core.errors import (
    InvalidParameterError,
    OperatingPointError,
    UnsupportedError,
)
from icpe.core.progress import AbstractProgress
from icpe.core.request import OperatingPoint, Promise
from icpe.evaluate.attempts import BETTING, Attempt, find_attempt
from icpe.evaluate.climb import Block, Climb, Rung, climb
from icpe.evaluate.groups import by_answer, by_difficulty, by_hypothesis, hardness
from icpe.evaluate.held_out import certify_cases
from icpe.evaluate.ladder import (
    POWER,
    check_episodes,
    default_episodes,
    default_limit,
)
from icpe.evaluate.promises import Counting, decided_in
from icpe.evaluate.stage import Stage, num_correct
from icpe.play.rollout import Ending
from icpe.theory.betting import bets_needed, fewest_successes
from icpe.theory.intervals import clopper_pearson_lower

DEFAULT_BUDGET_EPISODES = 10_000


def certify(
    artifact: Artifact,
    *,
    error_prob: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    episodes: int | None = None,
    seed: int | None = None,
    promise: str = Promise.AVERAGE,
    groups: Sequence[Sequence[int]] | None = None,
    progress: AbstractProgress | None = None,
) -> Certificate:
    """Tests whether an explorer errs rarely enough, on average over the prior.

    With another promise: whether it errs rarely enough among the sessions that its
    belief has stopped, or whichever hypothesis is true.

    Where the family was made of data, on its held-out cases, each counted once; then
    neither a number of episodes nor a seed changes anything (`evaluate.held_out`).

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
        promise: what error_prob is promised about, the name of a `Promise`. "belief"
            needs `artifact.belief_table` (see `icpe.evaluate.recalibrate`).
        groups: with promise "every-hypothesis", hypotheses that are tested together;
            each by itself if None.
        progress: notified of every chunk of episodes.

    Raises:
        OperatingPointError: not exactly one of error_prob and budget is given, one is
            out of range, or the operating table or that of beliefs is missing.
        UnsupportedError: an error_prob for an explorer of the paper's learner.
        InvalidParameterError: so few episodes that no explorer could pass.
    """
    check_confidence(confidence)
    counting = Counting.of(promise, artifact.family.spec, groups)
    cases = artifact.family.held_out_cases()
    if cases is not None:
        check_request(artifact, error_prob, budget)
        if error_prob is not None:
            _checked(artifact, error_prob, budget)
        if counting.recorded is not None:
            raise UnsupportedError(
                f"promise {counting.promise} cannot be shown on held-out cases, "
                "which are few; leave it out for the average."
            )
        return certify_cases(
            artifact, cases, error_prob=error_prob, budget=budget, confidence=confidence
        )
    if budget is not None and counting.recorded is not None:
        raise OperatingPointError(
            f"promise {counting.promise} is about error_prob; leave out the budget."
        )
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
    rows = certified_rows(artifact, counting)
    stage = Stage(artifact, seed, counting=counting, progress=progress)
    return _certify_error_prob(stage, rows, error_prob, confidence, episodes)


def certified_rows(artifact: Artifact, counting: Counting) -> tuple[OperatingRow, ...]:
    """The measured rows that a ladder is planned with.

    Raises:
        OperatingPointError: they were not measured yet.
    """
    if counting.promise is Promise.BELIEF:
        return artifact.beliefs.decided()
    assert artifact.table is not None
    return artifact.table.priced()


def _certify_error_prob(
    stage: Stage,
    rows: Sequence[OperatingRow],
    error_prob: float,
    confidence: float,
    episodes: int | None,
) -> Certificate:
    """Finds or starts the attempt, and goes on with it."""
    artifact, counting = stage.artifact, stage.counting
    attempt = find_attempt(
        artifact.certificates,
        rows,
        error_prob=error_prob,
        confidence=confidence,
        weights=stage.weights,
        table_hash=artifact.table_hash_for(counting.promise),
        seed=stage.seed,
        counting=counting,
    )
    for shown in attempt.certificates:
        asked = (shown.error_prob, shown.confidence)
        if shown.certified and asked == (error_prob, confidence) and shown.is_intact:
            return shown
    stage.attempt = attempt.number
    usual = counting.times * default_limit(error_prob, confidence)
    limit = usual if episodes is None else episodes
    level = attempt.level(confidence)
    check_num_episodes("episodes", limit)
    check_episodes(limit, error_prob, level)

    def point_at(price: float) -> OperatingPoint:
        return counting.player(artifact, price).operating_point

    block = stage.block(point_at(attempt.rungs[0].price), limit)
    result = climb(
        attempt.rungs,
        lambda price, first, last: stage.test_counts(
            point_at(price), first, last, block
        ),
        error_prob=error_prob,
        level=level,
        limit=limit,
    )
    usual = counting.times * default_episodes(error_prob, confidence)
    number = min(limit, usual)
    bound = stage.play("bound", point_at(result.price), number, block)
    return dataclasses.replace(
        _certificate(
            stage,
            bound,
            confidence,
            error_prob=error_prob,
            attempt=attempt.number,
            player=counting.player(artifact, result.price),
        ),
        **_outcome(result, attempt, bound, error_prob, level),
        shown=shown_groups(result, counting, error_prob, level),
    ).sealed()


def shown_groups(
    result: Climb, counting: Counting, error_prob: float, level: float
) -> tuple[str, ...] | None:
    """The groups that may be listed as shown at the price, None if there are none.

    All of them if all passed. Whoever lists some has made as many statements as there
    are groups, so each then has its share of the level.
    """
    if counting.promise is not Promise.EVERY_HYPOTHESIS:
        return None
    if result.certified:
        return counting.names
    at = next(rung for rung in result.rungs if rung.price == result.price)
    share = level / len(counting.members)
    return tuple(
        name
        for name, (right, number) in zip(counting.names, at.counts or (), strict=False)
        if right >= fewest_successes(number, probability=1.0 - error_prob, level=share)
    )


def _outcome(
    result: Climb, attempt: Attempt, bound: Ending, error_prob: float, level: float
) -> dict[str, Any]:
    """The fields of a certificate that its tests decide."""
    needed = None
    if not result.certified and result.rungs[0].counts is None:
        first = result.rungs[0]
        right = num_correct(bound) + first.successes
        pooled = right / (len(bound.num_queries) + first.episodes)
        needed = bets_needed(pooled, 1.0 - error_prob, level, POWER)
    return {
        "certified": result.certified,
        "price": result.price,
        "ladder": tuple(
            PriceTest(it.price, it.successes, it.passed, it.episodes, it.counts)
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
    player: Player | None = None,
) -> Certificate:
    """What the bound and the request say; nothing of tests."""
    artifact, counting = stage.artifact, stage.counting
    hard = hardness(artifact.family, bound, key=stage.key("bound"))
    player = player or Player(artifact.explorer, artifact.operating_point(budget=1))
    found = counting.block(bound, player)
    decided = np.ones(found.episodes, bool)
    if counting.promise is Promise.BELIEF:
        decided = decided_in(bound, player)
    return Certificate(
        error_prob=error_prob,
        budget=budget,
        confidence=confidence,
        certified=None,
        price=None,
        lower_bound=lowest_bound(found, confidence),
        episodes=found.episodes,
        bound_successes=found.successes,
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
        table=artifact.table_hash_for(counting.promise),
        provenance=provenance(),
        document=artifact.subject_hash,
        promise=counting.recorded,
        groups=counting.groups,
        bound_counts=found.counts,
        by_answer=by_answer(artifact.family, bound, decided),
    )


def lowest_bound(found: Block | Rung, confidence: float) -> float:
    """The lower bound of the accuracy; of several counts that of the lowest.

    It lies above the lowest accuracy with probability at most 1 - confidence, since
    then the bound of that very count lies above it.
    """
    pairs = found.counts or ((found.successes, found.episodes),)
    return min(
        float(clopper_pearson_lower(right, number, confidence)) if number else 0.0
        for right, number in pairs
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
