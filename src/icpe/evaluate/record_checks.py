"""What can be wrong with a certificate before any episode is played again.

The stated conclusions must follow from the recorded counts, and what was fixed before
the tests must follow from the operating table and from the rest of the file: the
ladder, the number of the attempt and the level of each test.
"""

from collections.abc import Iterator

from icpe.artifact import Artifact
from icpe.artifact.certificate import Certificate, PriceTest
from icpe.core.request import Promise
from icpe.evaluate.attempts import BETTING, is_near, numbered
from icpe.evaluate.certify import certified_rows, lowest_bound
from icpe.evaluate.climb import Block, Counts
from icpe.evaluate.ladder import plan_fixed_sequence, price_level
from icpe.evaluate.promises import Counting
from icpe.evaluate.stage import Stage
from icpe.theory.betting import fewest_successes
from icpe.theory.fixed_sequence import critical_successes

MOST_ATTEMPTS = 64
"""Later ones would have no confidence to speak of."""


def changes(certificate: Certificate, stage: Stage) -> Iterator[str]:
    """What is no longer as it was when the certificate was made."""
    if not certificate.is_intact:
        yield "The certificate was changed after it was made."
    if certificate.weights != stage.weights:
        yield "The networks are not those that were certified."
    if certificate.fingerprint != stage.fingerprint:
        yield "The family is not the one that the certificate is about."
    if certificate.document not in (None, stage.artifact.subject_hash):
        yield (
            "What the file says of networks, prices or family is not what was "
            "certified."
        )
    promise = certificate.promise or Promise.AVERAGE
    if certificate.table != stage.artifact.table_hash_for(promise):
        yield (
            "The operating table was changed after the certificate was made; certify "
            "again."
        )
    if certificate.seed_is_default != (certificate.seed == stage.default_seed):
        yield "The seed is not the hash of weights and family that it claims to be."


def inconsistencies(certificate: Certificate, artifact: Artifact) -> Iterator[str]:
    """What does not follow from the counts, from the table or from the file."""
    if certificate.error_prob is not None:
        if certificate.test not in (BETTING, None):
            yield (
                f"Its test is {certificate.test!r}, which this version of icpe does "
                "not know."
            )
        else:
            if certificate.test == BETTING:
                yield from _wrong_attempt(certificate, artifact)
            yield from _wrong_conclusions(certificate)
            yield from _another_ladder(certificate, artifact)
    stated = bound_of(
        certificate, certificate.bound_successes, certificate.bound_counts
    )
    if certificate.lower_bound != stated:
        yield (
            f"The recorded counts give the lower bound {stated:.6f}, not "
            f"{certificate.lower_bound:.6f}."
        )


def critical_count(certificate: Certificate, episodes: int) -> int:
    """The fewest right answers with which the certificate's own test passes.

    By betting at the level that its confidence, attempt and ladder leave for a price,
    whatever level is recorded.
    """
    assert certificate.error_prob is not None
    accuracy = 1.0 - certificate.error_prob
    if certificate.test is None:
        return critical_successes(episodes, accuracy, certificate.confidence)
    return fewest_successes(episodes, probability=accuracy, level=level_of(certificate))


def tested(certificate: Certificate) -> PriceTest | None:
    """The test at the certified price, None if the ladder does not have it."""
    tests = (it for it in certificate.ladder if it.price == certificate.price)
    return next(tests, None)


def num_episodes(certificate: Certificate, test: PriceTest) -> int:
    """Episodes of one of its tests."""
    return certificate.episodes if test.episodes is None else test.episodes


def bound_of(
    certificate: Certificate, successes: int, counts: Counts | None = None
) -> float:
    """The lower bound of the accuracy that so many right answers give."""
    found = Block(successes, certificate.episodes, counts)
    return lowest_bound(found, certificate.confidence)


def level_of(certificate: Certificate) -> float:
    """The level of each price by betting, from confidence, attempt and ladder."""
    attempt = min(max(certificate.attempt, 1), MOST_ATTEMPTS)
    return price_level(certificate.confidence, attempt, max(1, len(certificate.ladder)))


def _wrong_attempt(certificate: Certificate, artifact: Artifact) -> Iterator[str]:
    """The number of the attempt, its level, and whether all its episodes are there."""
    records = list(numbered(artifact.certificates, certificate.weights))
    place = [it for _, it in records].index(certificate)
    number = records[place][0]
    if certificate.attempt != number:
        yield (
            f"It says that it was attempt {certificate.attempt}; by the certificates "
            f"of the file before it, it was attempt {number}."
        )
    elif certificate.level != level_of(certificate):
        yield (
            f"Each price was tested at level {certificate.level}; attempt {number} "
            f"with {len(certificate.ladder)} prices has {level_of(certificate):.6g}."
        )
    before = [it for n, it in records[:place] if n == number]
    first = (*before, certificate)[0]
    planned = certificate.planned_error_prob, certificate.planned_confidence
    if planned != (first.error_prob, first.confidence):
        yield (
            f"Its ladder was planned for error_prob {planned[0]}, but the first call "
            f"of the attempt asked for {first.error_prob}."
        )
    elif not is_near(certificate.error_prob or 0.0, planned[0] or 0.0):
        yield (
            f"Its ladder was planned for error_prob {planned[0]}, too far from "
            f"{certificate.error_prob}."
        )
    for earlier in before:
        if any(
            num_episodes(certificate, it) < num_episodes(earlier, old)
            for it, old in zip(certificate.ladder, earlier.ladder, strict=True)
        ):
            yield (
                "An earlier certificate of the same attempt counts more episodes: "
                "some were dropped."
            )
            break


def _wrong_conclusions(certificate: Certificate) -> Iterator[str]:
    for it in certificate.ladder:
        if it.passed != _is_enough(certificate, it):
            yield "The recorded counts do not lead to the recorded outcomes."
            break
    passed = [it.price for it in certificate.ladder if it.passed]
    if certificate.price not in passed:
        yield "The recorded price is not one that passed its test."
    elif certificate.price != passed[-1]:
        yield (
            f"The recorded price {certificate.price:.6g} is not the last that passed, "
            f"which is {passed[-1]:.6g}."
        )


def _is_enough(certificate: Certificate, it: PriceTest) -> bool:
    """Whether the recorded counts are enough for every bet."""
    bets = it.counts or ((it.successes, num_episodes(certificate, it)),)
    return all(right >= critical_count(certificate, number) for right, number in bets)


def _another_ladder(certificate: Certificate, artifact: Artifact) -> Iterator[str]:
    """The ladder is planned again, unless the table is another by now."""
    prices = tuple(it.price for it in certificate.ladder)
    promise = certificate.promise or Promise.AVERAGE
    if artifact.table is None or certificate.table != artifact.table_hash_for(promise):
        return
    counting = Counting.of(promise, artifact.family.spec, certificate.groups)
    rows = certified_rows(artifact, counting)
    assert certificate.error_prob is not None
    if certificate.test == BETTING:
        planned = counting.plan(
            rows,
            error_prob=certificate.planned_error_prob or certificate.error_prob,
            confidence=certificate.planned_confidence or certificate.confidence,
        )
        as_planned = prices == planned
    else:
        planned = plan_fixed_sequence(
            rows,
            error_prob=certificate.error_prob,
            confidence=certificate.confidence,
            episodes=certificate.episodes,
        )
        ended = all(it.passed for it in certificate.ladder[:-1]) and (
            len(prices) == len(planned) or not certificate.ladder[-1].passed
        )
        as_planned = bool(prices) and prices == planned[: len(prices)] and ended
    if not as_planned:
        yield (
            f"Its ladder is {_listed(prices)}; the operating table gives "
            f"{_listed(planned)}."
        )


def _listed(prices: tuple[float, ...]) -> str:
    return ", ".join(f"{price:.6g}" for price in prices) or "empty"
