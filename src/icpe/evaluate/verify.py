"""Check a certificate: is it unchanged, and does its test come out again."""

import dataclasses
from collections.abc import Iterator

from icpe.artifact import Artifact
from icpe.artifact.certificate import LEAST_CONFIDENCE, Certificate, preferred
from icpe.core.errors import ArtifactError, OperatingPointError
from icpe.core.progress import AbstractProgress
from icpe.core.request import OperatingPoint
from icpe.evaluate.certify import Stage, check_request, num_correct
from icpe.theory.fixed_sequence import critical_successes
from icpe.theory.intervals import clopper_pearson_lower, clopper_pearson_upper

_TOLERANCE = 0.002
"""Fraction of episodes whose answers may differ on other hardware, by rounding."""
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

    Without a seed the episodes of the certificate are played again, and the counts
    must come out the same, up to the few answers that rounding can change on other
    hardware. With a seed fresh episodes are played. These may fail to show the error
    probability a second time by bad luck, so only a contradiction is a problem: an
    upper bound of the accuracy, at the certificate's confidence, that lies below what
    was stated.

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
        certificate.episodes,
        progress,
    )
    problems = [*_changes(certificate, stage), *_inconsistencies(certificate)]
    successes = None
    try:
        point = _operating_point(artifact, certificate)
    except OperatingPointError as error:
        problems.append(f"What was certified cannot be played: {error}")
    else:
        if seed is None:
            problems += _unrepeated_test(certificate, stage, point)
        successes = num_correct(stage.play("bound", point))
        problems += _disagreements(certificate, successes, fresh=seed is not None)
    return Verification(
        certificate=certificate,
        problems=tuple(problems),
        seed=stage.seed,
        fresh=seed is not None,
        successes=successes,
        lower_bound=None if successes is None else _lower_bound(certificate, successes),
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


def _changes(certificate: Certificate, stage: Stage) -> Iterator[str]:
    if not certificate.is_intact:
        yield "The certificate was changed after it was made."
    if certificate.weights != stage.weights:
        yield "The networks are not those that were certified."
    if certificate.fingerprint != stage.fingerprint:
        yield "The family is not the one that the certificate is about."
    if certificate.table != stage.artifact.table_hash:
        yield (
            "The operating table was changed after the certificate was made; certify "
            "again."
        )
    if certificate.seed_is_default != (certificate.seed == stage.default_seed):
        yield "The seed is not the hash of weights and family that it claims to be."


def _inconsistencies(certificate: Certificate) -> Iterator[str]:
    """The stated conclusions must follow from the recorded counts."""
    if certificate.error_prob is not None:
        critical = critical_successes(
            certificate.episodes, 1.0 - certificate.error_prob, certificate.confidence
        )
        if any(it.passed != (it.successes >= critical) for it in certificate.ladder):
            yield "The recorded counts do not lead to the recorded outcomes."
        if _tested_successes(certificate) < critical:
            yield "The recorded price is not one that passed its test."
    stated = _lower_bound(certificate, certificate.bound_successes)
    if certificate.lower_bound != stated:
        yield (
            f"The recorded counts give the lower bound {stated:.6f}, not "
            f"{certificate.lower_bound:.6f}."
        )


def _unrepeated_test(
    certificate: Certificate, stage: Stage, point: OperatingPoint
) -> Iterator[str]:
    if certificate.error_prob is None:
        return
    successes = num_correct(stage.play("test", point))
    recorded = _tested_successes(certificate)
    if not _equal(successes, recorded, certificate.episodes):
        yield (
            f"The test at the recorded price gave {recorded} right answers of "
            f"{certificate.episodes}; played again, the same episodes give {successes}."
        )


def _disagreements(
    certificate: Certificate, successes: int, *, fresh: bool
) -> Iterator[str]:
    """What the episodes of the bound, the same or fresh ones, say against it."""
    episodes = certificate.episodes
    recorded = certificate.bound_successes
    if not fresh and not _equal(successes, recorded, episodes):
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


def _equal(first: int, second: int, episodes: int) -> bool:
    return abs(first - second) <= max(2, round(_TOLERANCE * episodes))


def _tested_successes(certificate: Certificate) -> int:
    """The recorded right answers of the test at the certified price; -1 if none."""
    counts = {test.price: test.successes for test in certificate.ladder}
    return counts.get(certificate.price or 0.0, -1)


def _lower_bound(certificate: Certificate, successes: int) -> float:
    bound = clopper_pearson_lower(
        successes, certificate.episodes, certificate.confidence
    )
    return float(bound)


def _operating_point(artifact: Artifact, certificate: Certificate) -> OperatingPoint:
    if certificate.budget is not None:
        return artifact.operating_point(budget=certificate.budget)
    return artifact.operating_point(price=certificate.price)
