"""Check a certificate: is it unchanged, and does its test come out again."""

import dataclasses
from collections.abc import Iterator

from icpe.artifact import Artifact, provenance
from icpe.artifact.certificate import LEAST_CONFIDENCE, Certificate, preferred
from icpe.core.errors import ArtifactError, OperatingPointError
from icpe.core.progress import AbstractProgress
from icpe.core.request import OperatingPoint, Promise
from icpe.evaluate.certify import check_request, lowest_bound
from icpe.evaluate.climb import Block, Rung, climb
from icpe.evaluate.guard import guard_problems
from icpe.evaluate.held_out import (
    HELD_OUT,
    bound_confidence,
    passes,
    play_again,
    wrong_records,
)
from icpe.evaluate.promises import Counting
from icpe.evaluate.record_checks import (
    MOST_ATTEMPTS,
    changes,
    critical_count,
    inconsistencies,
    level_of,
    num_episodes,
    tested,
)
from icpe.evaluate.stage import Stage
from icpe.theory.intervals import clopper_pearson_lower, clopper_pearson_upper

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
    promise: str | None = None,
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
    lies below what was stated. The guard of the file, if it has one, is checked in the
    same way: its own sessions raise no more alarms than it says.

    Args:
        artifact: the explorer.
        error_prob: the error probability that the certificate is to cover.
        budget: instead of it, the fixed budget whose lower bound is checked. With
            neither, the file must have a certificate for one request alone.
        confidence: the least confidence of the certificate to be checked.
        promise: what the certificate promises; the average if None, or whatever the
            only one in the file does.
        seed: seed of fresh episodes.
        progress: notified of every chunk of episodes.

    Raises:
        ArtifactError: there is no such certificate, or several and none was named.
    """
    if error_prob is None and budget is None:
        error_prob, budget, promise = _only_request(artifact, confidence, promise)
    promise = promise or Promise.AVERAGE
    certificate = _find(artifact, error_prob, budget, confidence, promise)
    if certificate.test == HELD_OUT:
        return _verify_held_out(artifact, certificate, seed)
    counting = Counting.of(promise, artifact.family.spec, certificate.groups)
    stage = Stage(
        artifact,
        certificate.seed if seed is None else seed,
        attempt=_attempt(certificate),
        counting=counting,
        progress=progress,
    )
    problems = [
        *changes(certificate, stage),
        *inconsistencies(certificate, artifact),
    ]
    found = None
    try:
        point = _operating_point(artifact, certificate, counting)
    except OperatingPointError as error:
        problems.append(f"What was certified cannot be played: {error}")
    else:
        if seed is None:
            problems += _unrepeated_test(certificate, stage, point)
        bound = stage.play("bound", point, certificate.episodes)
        found = counting.block(bound, stage.player(point))
        problems += _disagreements(certificate, found, fresh=seed is not None)
    if artifact.guard is not None:
        problems += guard_problems(artifact, artifact.guard, seed=seed)
    return Verification(
        certificate=certificate,
        problems=tuple(problems),
        seed=stage.seed,
        fresh=seed is not None,
        successes=None if found is None else found.successes,
        lower_bound=None
        if found is None
        else lowest_bound(found, certificate.confidence),
    )


def _verify_held_out(
    artifact: Artifact, certificate: Certificate, seed: int | None
) -> Verification:
    """The same for a certificate on real cases, of which there are no others."""
    if seed is not None:
        raise OperatingPointError(
            f"seed must be left out; got {seed}: the certificate is about the held-out "
            f"{certificate.counted}, and there are no fresh ones to play."
        )
    if artifact.family.held_out_cases() is None:
        raise ArtifactError(
            f"The certificate is about held-out {certificate.counted}, and the family "
            "has none; make it again with icpe certify."
        )
    stage = Stage(artifact, None)
    problems = [*changes(certificate, stage), *wrong_records(certificate, artifact)]
    successes = play_again(stage, certificate)
    found = bound_confidence(certificate)
    lower = float(clopper_pearson_lower(successes, certificate.episodes, found))
    recorded = certificate.bound_successes
    if abs(successes - recorded) > _flips(certificate, recorded, certificate.episodes):
        problems.append(
            f"The certificate rests on {recorded} right answers of "
            f"{certificate.episodes}; played again, the same {certificate.counted} "
            f"give {successes}."
        )
    elif certificate.certified and not passes(certificate, successes):
        problems.append(
            f"Played again, the {certificate.episodes} held-out {certificate.counted} "
            f"give {successes} right answers, with which the test does not pass."
        )
    return Verification(
        certificate, tuple(problems), stage.seed, False, successes, lower
    )


def _only_request(
    artifact: Artifact, confidence: float, promise: str | None
) -> tuple[float | None, int | None, str | None]:
    """The request that is certified, if there is but one."""
    known = [
        it
        for it in _usable(artifact)
        if promise is None or (it.promise or Promise.AVERAGE) == promise
    ]
    confident = (it for it in known if it.confidence >= confidence)
    requests = {(it.error_prob, it.budget, it.promise) for it in confident}
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
    average = sorted(p for p, _, it in requests if p is not None and it is None)
    budgets = sorted(n for _, n, _ in requests if n is not None)
    others = sorted((it, p) for p, _, it in requests if p is not None and it)
    names = [f"error_prob {p}" for p in average] + [f"budget {n}" for n in budgets]
    names += [f"error_prob {p} with promise {it}" for it, p in others]
    raise ArtifactError(
        f"The file has certificates for {', '.join(names)}; say which one is to be "
        "checked, by error_prob or budget" + (" and promise." if others else ".")
    )


def _find(
    artifact: Artifact,
    error_prob: float | None,
    budget: int | None,
    confidence: float,
    promise: str,
) -> Certificate:
    """The certificate that would serve, were it intact."""
    check_request(artifact, error_prob, budget)
    known = [
        it for it in _usable(artifact) if (it.promise or Promise.AVERAGE) == promise
    ]
    if error_prob is None:
        found = [it for it in known if it.budget == budget]
        asked = f"budget {budget}"
    else:
        found = [it for it in known if it.error_prob and it.error_prob <= error_prob]
        asked = f"error_prob {error_prob}"
        if promise != Promise.AVERAGE:
            asked += f" with promise {promise}"
    certificate = preferred(
        (it for it in found if it.confidence >= confidence),
        artifact.table_hash_for(promise),
    )
    if certificate is None:
        has = [_named(it) for it in _usable(artifact)]
        raise ArtifactError(
            f"The file has no certificate for {asked} with confidence {confidence:g}; "
            f"it has {', '.join(has) or 'none at all'}; {_HOW}"
        )
    return certificate


def _named(it: Certificate) -> str:
    """A certificate among others."""
    about = f"budget {it.budget}" if it.budget else f"error_prob {it.error_prob}"
    promise = f" and promise {it.promise}" if it.promise else ""
    return f"{about} with confidence {it.confidence:g}{promise}"


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
    again = Rung(test.price, 0, 0)
    for part in stage.test_counts(point, 0, episodes, block):
        again = again.plus(part)
    recorded = Rung(test.price, test.successes, episodes, counts=test.counts)
    if not _agree(certificate, recorded, again):
        yield (
            f"The test at the recorded price gave {_told(recorded)} right answers of "
            f"{episodes}; played again, the same episodes give {_told(again)}."
        )
    elif not _passes(certificate, stage, point, again):
        needed = [critical_count(certificate, number) for _, number in again.bets]
        yield (
            f"Played again, the {episodes} test episodes give {_told(again)} right "
            f"answers, and the test needs {', '.join(map(str, needed))}."
        )


def _told(rung: Rung) -> str:
    return ", ".join(str(right) for right, _ in rung.bets)


def _agree(certificate: Certificate, recorded: Rung | Block, again: Rung | Block):
    """Whether counts differ by no more than rounding can make them."""
    one = recorded.counts or ((recorded.successes, recorded.episodes),)
    two = again.counts or ((again.successes, again.episodes),)
    if len(one) != len(two):
        return False
    wrong = sum(number - right for right, number in one)
    most = _flips(certificate, 0, wrong)
    return all(
        abs(right - other) <= most and abs(number - others) <= most
        for (right, number), (other, others) in zip(one, two, strict=True)
    )


def _passes(
    certificate: Certificate, stage: Stage, point: OperatingPoint, again: Rung
) -> bool:
    """Whether the certificate's own test passes with the right answers of now.

    A test that passed narrowly may fall short when a few answers differ by rounding.
    Betting may go on, so it does, for as many episodes again. A fixed number of
    episodes leaves no such way: there those few answers are granted, if the hardware
    is another.
    """
    successes, episodes = again.successes, again.episodes
    if certificate.test is None:
        here = _is_made_here(certificate)
        granted = 0 if here else _flips(certificate, successes, episodes)
        return successes + granted >= critical_count(certificate, episodes)
    assert certificate.error_prob is not None and certificate.price is not None
    block = stage.block(point, episodes)
    return climb(
        (again,),
        lambda _, first, last: stage.test_counts(point, first, last, block),
        error_prob=certificate.error_prob,
        level=level_of(certificate),
        limit=2 * episodes,
    ).certified


def _disagreements(
    certificate: Certificate, found: Block, *, fresh: bool
) -> Iterator[str]:
    """What the episodes of the bound, the same or fresh ones, say against it."""
    episodes = certificate.episodes
    recorded = Block(certificate.bound_successes, episodes, certificate.bound_counts)
    if not fresh and not _agree(certificate, recorded, found):
        yield (
            f"The lower bound rests on {recorded.successes} right answers of "
            f"{episodes}; played again, the same episodes give {found.successes}."
        )
    stated = certificate.lower_bound
    if certificate.error_prob is not None:
        stated = 1.0 - certificate.error_prob
    pairs = found.counts or ((found.successes, episodes),)
    # One of several is contradicted by chance the more often the more there are.
    confidence = 1.0 - (1.0 - certificate.confidence) / len(pairs)
    for successes, number in pairs:
        upper = clopper_pearson_upper(successes, number, confidence) if number else 1.0
        if fresh and upper < stated:
            yield (
                f"Fresh episodes contradict the certificate: {successes} right answers "
                f"of {number}, so an accuracy of at most {float(upper):.4f}."
            )
            break


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


def _operating_point(
    artifact: Artifact, certificate: Certificate, counting: Counting
) -> OperatingPoint:
    if certificate.budget is not None:
        return artifact.operating_point(budget=certificate.budget)
    return counting.player(artifact, certificate.price or 0.0).operating_point
