"""Check a certificate: is it unchanged, and does its test come out again."""

import dataclasses
from collections.abc import Iterator

from icpe.artifact import Artifact, provenance
from icpe.artifact.certificate import LEAST_CONFIDENCE, Certificate, preferred
from icpe.core.errors import ArtifactError, OperatingPointError
from icpe.core.progress import AbstractProgress
from icpe.core.request import OperatingPoint
from icpe.evaluate.certify import check_request
from icpe.evaluate.climb import Rung, climb
from icpe.evaluate.record_checks import (
    MOST_ATTEMPTS,
    bound_of,
    changes,
    critical_count,
    inconsistencies,
    level_of,
    num_episodes,
    tested,
)
from icpe.evaluate.stage import Stage, num_correct
from icpe.theory.intervals import clopper_pearson_upper

_TOLERANCE = 0.02
"""Change of the wrong answers by rounding on other hardware, as a fraction of them."""
_FEW = 2
"""Answers that may always differ, since chunks of other sizes are rounded otherwise."""
_HOW = "make one with icpe certify FILE --error-prob P."


@dataclasses.dataclass(frozen=True)
class Verification:
    """What came of checking a certificate.

    Attributes:
        certificate: the one that was checked.
        problems: a sentence for everything that is wrong; none if it is verified.
        seed: seed of the episodes of this check.
        fresh: whether they are others than those of the certificate.
        successes: right answers among `certificate.episodes` of them; None if they
            could not be played.
        lower_bound: of the accuracy, from this check alone.
    """

    certificate: Certificate
    problems: tuple[str, ...]
    seed: int
    fresh: bool
    successes: int | None
    lower_bound: float | None

    @property
    def verified(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(
    artifact: Artifact,
    error_prob: float | None = None,
    *,
    budget: int | None = None,
    confidence: float = LEAST_CONFIDENCE,
    seed: int | None = None,
    progress: AbstractProgress | None = None,
) -> Verification:
    """Checks the certificate that covers a request, and tests its price again.

    The ladder, the attempt and the level are derived again. Without a seed the episodes
    of the certificate are played again: its own test must pass with the right answers
    of now, and the counts must be those recorded, up to the few answers that rounding
    can change on other hardware. With a seed fresh episodes are played. These may fail
    to show the error probability a second time by bad luck, so only a contradiction is
    a problem: an upper bound of the accuracy, at the certificate's confidence, that
    lies below what was stated.

    Args:
        artifact: the explorer.
        error_prob: the error probability that the certificate is to cover.
        budget: instead of it, the fixed budget whose lower bound is checked. With
            neither, the file must have a certificate for one request alone.
        confidence: the least confidence of the certificate to be checked.
        seed: seed of fresh episodes.
        progress: notified of every chunk of episodes.

    Raises:
        ArtifactError: there is no such certificate, or several and none was named.
    """
    if error_prob is None and budget is None:
        error_prob, budget = _only_request(artifact, confidence)
    certificate = _find(artifact, error_prob, budget, confidence)
    stage = Stage(
        artifact,
        certificate.seed if seed is None else seed,
        attempt=_attempt(certificate),
        progress=progress,
    )
    problems = [
        *changes(certificate, stage),
        *inconsistencies(certificate, artifact),
    ]
    successes = None
    try:
        point = _operating_point(artifact, certificate)
    except OperatingPointError as error:
        problems.append(f"What was certified cannot be played: {error}")
    else:
        if seed is None:
            problems += _unrepeated_test(certificate, stage, point)
        successes = num_correct(stage.play("bound", point, certificate.episodes))
        problems += _disagreements(certificate, successes, fresh=seed is not None)
    return Verification(
        certificate=certificate,
        problems=tuple(problems),
        seed=stage.seed,
        fresh=seed is not None,
        successes=successes,
        lower_bound=None if successes is None else bound_of(certificate, successes),
    )


def _only_request(
    artifact: Artifact, confidence: float
) -> tuple[float | None, int | None]:
    """The error probability or budget of the one request that is certified."""
    known = _usable(artifact)
    confident = (it for it in known if it.confidence >= confidence)
    requests = {(it.error_prob, it.budget) for it in confident}
    if len(requests) == 1:
        return requests.pop()
    if not requests and known:
        best = max(it.confidence for it in known)
        raise ArtifactError(
            f"The file has no certificate with confidence {confidence:g}; ask for "
            f"confidence {best:g}, or {_HOW}"
        )
    if not requests:
        raise ArtifactError(f"The file has no certificate; {_HOW}")
    error_probs = sorted(p for p, _ in requests if p is not None)
    budgets = sorted(n for _, n in requests if n is not None)
    names = [f"error_prob {p}" for p in error_probs] + [f"budget {n}" for n in budgets]
    raise ArtifactError(
        f"The file has certificates for {', '.join(names)}; say which one is to be "
        "checked, by error_prob or budget."
    )


def _find(
    artifact: Artifact, error_prob: float | None, budget: int | None, confidence: float
) -> Certificate:
    """The certificate that would serve, were it intact."""
    check_request(artifact, error_prob, budget)
    known = _usable(artifact)
    if error_prob is None:
        kept = [(it.budget, it) for it in known if it.budget is not None]
        found = [it for value, it in kept if value == budget]
        asked = f"budget {budget}"
    else:
        kept = [(it.error_prob, it) for it in known if it.error_prob is not None]
        found = [it for value, it in kept if value <= error_prob]
        asked = f"error_prob {error_prob}"
    certificate = preferred(
        (it for it in found if it.confidence >= confidence), artifact.table_hash
    )
    if certificate is None:
        has = [f"{value} with confidence {it.confidence:g}" for value, it in kept]
        raise ArtifactError(
            f"The file has no certificate for {asked} with confidence {confidence:g}; "
            f"it has {', '.join(has) or 'none at all'}; {_HOW}"
        )
    return certificate


def _usable(artifact: Artifact) -> list[Certificate]:
    """What was shown, without the attempts that failed."""
    known = [Certificate.from_dict(record) for record in artifact.certificates]
    return [it for it in known if it.certified or it.budget is not None]


def _unrepeated_test(
    certificate: Certificate, stage: Stage, point: OperatingPoint
) -> Iterator[str]:
    """What the test episodes, played again, say against the test that passed."""
    test = tested(certificate)
    if certificate.error_prob is None or test is None or not test.successes:
        return
    episodes = num_episodes(certificate, test)
    block = None if certificate.test is None else stage.block(point, episodes)
    successes = sum(right for right, _ in stage.test_counts(point, 0, episodes, block))
    critical = critical_count(certificate, episodes)
    if abs(successes - test.successes) > _flips(certificate, test.successes, episodes):
        yield (
            f"The test at the recorded price gave {test.successes} right answers of "
            f"{episodes}; played again, the same episodes give {successes}."
        )
    elif not _passes(certificate, stage, point, successes, episodes):
        yield (
            f"Played again, the {episodes} test episodes give {successes} right "
            f"answers, and the test needs {critical}."
        )


def _passes(
    certificate: Certificate,
    stage: Stage,
    point: OperatingPoint,
    successes: int,
    episodes: int,
) -> bool:
    """Whether the certificate's own test passes with the right answers of now.

    A test that passed narrowly may fall short when a few answers differ by rounding.
    Betting may go on, so it does, for as many episodes again. A fixed number of
    episodes leaves no such way: there those few answers are granted, if the hardware
    is another.
    """
    if certificate.test is None:
        here = _is_made_here(certificate)
        granted = 0 if here else _flips(certificate, successes, episodes)
        return successes + granted >= critical_count(certificate, episodes)
    assert certificate.error_prob is not None and certificate.price is not None
    block = stage.block(point, episodes)
    return climb(
        (Rung(certificate.price, successes, episodes),),
        lambda _, first, last: stage.test_counts(point, first, last, block),
        error_prob=certificate.error_prob,
        level=level_of(certificate),
        limit=2 * episodes,
    ).certified


def _disagreements(
    certificate: Certificate, successes: int, *, fresh: bool
) -> Iterator[str]:
    """What the episodes of the bound, the same or fresh ones, say against it."""
    episodes = certificate.episodes
    recorded = certificate.bound_successes
    if not fresh and abs(successes - recorded) > _flips(
        certificate, recorded, episodes
    ):
        yield (
            f"The lower bound rests on {recorded} right answers of {episodes}; played "
            f"again, the same episodes give {successes}."
        )
    stated = certificate.lower_bound
    if certificate.error_prob is not None:
        stated = 1.0 - certificate.error_prob
    upper = clopper_pearson_upper(successes, episodes, certificate.confidence)
    if fresh and upper < stated:
        yield (
            f"Fresh episodes contradict the certificate: {successes} right answers of "
            f"{episodes}, so an accuracy of at most {float(upper):.4f}."
        )


def _flips(certificate: Certificate, successes: int, episodes: int) -> int:
    """Answers that may differ by rounding: more of them where the hardware differs."""
    if _is_made_here(certificate):
        return _FEW
    return max(_FEW, round(_TOLERANCE * (episodes - successes)))


def _is_made_here(certificate: Certificate) -> bool:
    """Whether its episodes were played by such a machine and such a version of jax."""
    here = provenance()
    return all(certificate.provenance.get(it) == here[it] for it in ("device", "jax"))


def _attempt(certificate: Certificate) -> int | None:
    """Whose sets of episodes are to be played."""
    if certificate.test is None:
        return None
    return min(max(certificate.attempt, 1), MOST_ATTEMPTS)


def _operating_point(artifact: Artifact, certificate: Certificate) -> OperatingPoint:
    if certificate.budget is not None:
        return artifact.operating_point(budget=certificate.budget)
    return artifact.point_at(certificate.price or 0.0)
