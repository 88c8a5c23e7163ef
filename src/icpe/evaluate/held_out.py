"""Certificates of families that were made of data: on real cases that nothing saw.

There are finitely many of these, and each counts once. So the test is the exact one of
a binomial count, at one price that is fixed before, by what was measured on other rows.
A request that leads to another price is another attempt on the same cases. Whoever asks
for it has seen how the first one ended, so every price of the operating table has a
share of the level beforehand: the union bound then needs neither fresh cases nor
requests that were fixed before.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.random as jr
import numpy as np

from icpe.artifact import Artifact, provenance
from icpe.artifact.certificate import Certificate, PriceTest
from icpe.core.arrays import PyTree
from icpe.core.errors import InvalidParameterError, UnsupportedError
from icpe.evaluate.groups import by_difficulty, by_hypothesis
from icpe.evaluate.ladder import POWER, chance_of_passing, plan_fixed_sequence
from icpe.evaluate.stage import Stage, num_correct
from icpe.play.rollout import Ending, num_cases, run_cases
from icpe.theory.fixed_sequence import critical_successes, trials_needed
from icpe.theory.intervals import clopper_pearson_lower

HELD_OUT = "held-out"
"""The name of the test in certificates."""
_FIRST_SHARE = 0.9
CANDIDATES = tuple(
    np.concatenate(
        [np.arange(1, 10) / 1000, np.arange(10, 50, 5) / 1000, np.arange(5, 41) / 100]
    ).tolist()
)
"""Error probabilities among which one is chosen if nobody names one."""
LIKELY = 0.9
"""Predicted probability of passing from which on one is chosen."""


class Plan(NamedTuple):
    """What is fixed before any case is looked at."""

    price: float
    attempt: int
    level: float


def certify_cases(
    artifact: Artifact,
    cases: PyTree,
    *,
    error_prob: float | None,
    budget: int | None,
    confidence: float,
) -> Certificate:
    """Tests an explorer on the held-out cases of its family.

    Args:
        artifact: the explorer, with an operating table that was measured on others.
        cases: those of its family.
        error_prob: the error probability to certify.
        budget: instead of it, a number of queries, for a lower bound of the accuracy.
        confidence: of the certificate.

    Raises:
        UnsupportedError: nothing was held out, or no case of some class.
        InvalidParameterError: not even an explorer that never errs could pass.
    """
    number = num_cases(cases)
    if number == 0:
        raise UnsupportedError(
            "This explorer was made of a table of which no rows were held out, so "
            "there is nothing to certify it on; train it again and hold some out, as "
            "by --held-out 0.2."
        )
    untested = _untested(artifact, cases)
    if untested is not None:
        raise UnsupportedError(
            f"No {cases_of(artifact)[:-1]} of class {untested!r} was held out, so a "
            f"certificate would not be about it; add {cases_of(artifact)} of that "
            "class, hold out a larger share, or leave the class out."
        )
    stage = Stage(artifact, None)
    if error_prob is None:
        point = artifact.operating_point(budget=budget)
        ending = run_cases(
            artifact.explorer, artifact.family, point, cases, key=stage.key("bound")
        )
        return _record(stage, ending, confidence, confidence, budget=budget).sealed()
    plan = planned(artifact, number, error_prob, confidence, artifact.certificates)
    smallest = best_error_prob(number, plan.level)
    if error_prob < smallest:
        raise InvalidParameterError(
            f"error_prob must be at least {np.ceil(1e4 * smallest) / 1e4:g} to be "
            f"certified on {number} held-out {cases_of(artifact)} at level "
            f"{plan.level:.3g}, even by an explorer that never errs; got "
            f"{error_prob:g}: hold out more {cases_of(artifact)}, or ask for more."
        )
    ending = _play(stage, plan.price, cases)
    right = num_correct(ending)
    passed = right >= critical_successes(number, 1 - error_prob, 1 - plan.level)
    needed = None
    if not passed:
        needed = trials_needed(right / number, 1 - error_prob, 1 - plan.level, POWER)
    return dataclasses.replace(
        _record(stage, ending, confidence, 1 - plan.level, error_prob=error_prob),
        certified=passed,
        price=plan.price,
        attempt=plan.attempt,
        level=plan.level,
        ladder=(PriceTest(plan.price, right, passed, number),),
        episodes_needed=needed,
    ).sealed()


def cases_of(artifact: Artifact) -> str:
    """What the cases of its family are, in a word."""
    return "images" if artifact.family.spec.query_grid else "rows"


def _untested(artifact: Artifact, cases: PyTree) -> str | None:
    """A class of which there is no case: an average would not be about it."""
    spec = artifact.family.spec
    labels = np.asarray(jax.vmap(artifact.family.hypothesis)(cases))
    absent = sorted(set(range(spec.num_hypotheses)) - set(labels.tolist()))
    return spec.hypothesis_name(absent[0]) if absent else None


def attempt_level(confidence: float, attempt: int, num_prices: int = 1) -> float:
    """The level of an attempt; those of all prices add up to 1 - confidence.

    Rows are few and mostly tested once, so the price of the first attempt has nine
    tenths of it; the other prices of the table share the rest equally.
    """
    share = _FIRST_SHARE
    if attempt > 1:
        share = (1 - _FIRST_SHARE) / max(num_prices - 1, 1)
    return (1.0 - confidence) * share


def best_error_prob(number: int, level: float) -> float:
    """The smallest error probability that so many right answers in a row would show."""
    return float(1.0 - level ** (1.0 / number))


class Choice(NamedTuple):
    """An error probability to certify, and why it is this one.

    Attributes:
        error_prob: the chosen one.
        accuracy: the largest that was measured, on rows other than the held-out ones.
        number: how many rows are held out.
        confidence: of the certificate.
    """

    error_prob: float
    accuracy: float
    number: int
    confidence: float

    @property
    def sentence(self) -> str:
        """The reason, and what to do for a smaller one."""
        return (
            f"{self.error_prob:g} is the smallest error probability that "
            f"{self.number} held-out rows will probably show: in at least "
            f"{100 * LIKELY:g} of 100 trials with confidence {self.confidence:g}, by "
            f"the accuracy of {self.accuracy:.3f} on the other rows. For a smaller one "
            "add rows, hold out a larger share (--held-out), or name it "
            "(--error-prob P) and risk that it is not shown."
        )


def likely_choice(artifact: Artifact, number: int, confidence: float) -> Choice | None:
    """The smallest of the candidates that will probably be certified.

    By what was measured on other rows; None if none of them will.
    """
    assert artifact.table is not None
    rows = artifact.table.priced()
    accuracies = np.array([row.accuracy for row in rows])
    trials = np.array([row.episodes for row in rows])
    successes = np.round(trials * accuracies)
    level = attempt_level(confidence, 1)
    for error_prob in CANDIDATES:
        critical = critical_successes(number, 1 - error_prob, 1 - level)
        chances = chance_of_passing(successes, trials, critical, number)
        if chances.max() >= LIKELY:
            accuracy = float(accuracies[chances.argmax()])
            return Choice(error_prob, accuracy, number, confidence)
    return None


def planned(
    artifact: Artifact,
    number: int,
    error_prob: float,
    confidence: float,
    earlier: tuple[dict[str, Any], ...],
) -> Plan:
    """The price to test, as the operating table gives it, and the attempt.

    It is the cheapest price that will clearly pass by what was measured on other rows,
    or else the one most likely to. Its attempt is that of the first certificate that
    tested this price, since what it showed is one bound for all error probabilities.
    """
    assert artifact.table is not None
    first = 1 - attempt_level(confidence, 1)
    price, *_ = plan_fixed_sequence(
        artifact.table.priced(),
        error_prob=error_prob,
        confidence=first,
        episodes=number,
    )
    weights = artifact.weights_hash
    prices = list(
        dict.fromkeys(
            record["price"]
            for record in earlier
            if record.get("test") == HELD_OUT
            and record["weights"] == weights
            and record["error_prob"] is not None
        )
    )
    attempt = 1 + (prices.index(price) if price in prices else len(prices))
    num_prices = len({row.price for row in artifact.table.priced()})
    return Plan(price, attempt, attempt_level(confidence, attempt, num_prices))


def wrong_records(certificate: Certificate, artifact: Artifact) -> Iterator[str]:
    """What does not follow from the counts, from the table or from the file."""
    number = num_cases(artifact.family.held_out_cases())
    if certificate.episodes != number:
        yield (
            f"It counts {certificate.episodes} held-out {certificate.counted}; there "
            f"are {number}."
        )
        return
    if _untested(artifact, artifact.family.held_out_cases()) is not None:
        yield (
            f"The held-out {certificate.counted} lack a class, so it says nothing "
            "about that."
        )
    if certificate.error_prob is None:
        return
    kept = list(artifact.certificates)
    place = kept.index(certificate.to_dict()) if certificate.to_dict() in kept else None
    if artifact.table is not None and certificate.table == artifact.table_hash:
        plan = planned(
            artifact,
            number,
            certificate.error_prob,
            certificate.confidence,
            tuple(kept[:place]),
        )
        recorded = (certificate.price, certificate.attempt, certificate.level)
        if recorded != plan:
            yield (
                f"Its price, attempt and level are {recorded}; the operating table and "
                f"the file give {tuple(plan)}."
            )
    if certificate.certified and not passes(certificate, certificate.bound_successes):
        yield "The recorded counts do not lead to the recorded outcome."


def passes(certificate: Certificate, successes: int) -> bool:
    """Whether its test passes with so many right answers."""
    assert certificate.error_prob is not None and certificate.level is not None
    critical = critical_successes(
        certificate.episodes, 1 - certificate.error_prob, 1 - certificate.level
    )
    return successes >= critical


def bound_confidence(certificate: Certificate) -> float:
    """Of its lower bound, which the same rows give as its test."""
    if certificate.level is None:
        return certificate.confidence
    return 1 - certificate.level


def play_again(stage: Stage, certificate: Certificate) -> int:
    """Right answers on the held-out cases, now."""
    cases = stage.artifact.family.held_out_cases()
    if certificate.budget is not None:
        point = stage.artifact.operating_point(budget=certificate.budget)
        explorer, family = stage.artifact.explorer, stage.artifact.family
        return num_correct(
            run_cases(explorer, family, point, cases, key=stage.key("bound"))
        )
    assert certificate.price is not None
    return num_correct(_play(stage, certificate.price, cases))


def _play(stage: Stage, price: float, cases: PyTree) -> Ending:
    artifact = stage.artifact
    return run_cases(
        artifact.explorer,
        artifact.family,
        artifact.point_at(price),
        cases,
        key=jr.fold_in(stage.key("bound"), 0),
    )


def _record(
    stage: Stage,
    ending: Ending,
    confidence: float,
    of_bound: float,
    *,
    error_prob: float | None = None,
    budget: int | None = None,
) -> Certificate:
    artifact = stage.artifact
    successes, number = num_correct(ending), len(ending.num_queries)
    queries = np.asarray(ending.num_queries, float)
    return Certificate(
        error_prob=error_prob,
        budget=budget,
        confidence=confidence,
        certified=None,
        price=None,
        lower_bound=float(clopper_pearson_lower(successes, number, of_bound)),
        episodes=number,
        bound_successes=successes,
        mean_queries=float(queries.mean()),
        mean_cost=float(np.mean(ending.cost, dtype=np.float64)),
        ladder=(),
        episodes_needed=None,
        seed=stage.seed,
        seed_is_default=True,
        attempt=1,
        by_hypothesis=by_hypothesis(artifact.family, ending),
        by_difficulty=by_difficulty(queries, ending),
        difficulty="number of queries",
        weights=stage.weights,
        fingerprint=stage.fingerprint,
        table=artifact.table_hash,
        provenance=provenance(),
        document=artifact.subject_hash,
        test=HELD_OUT,
        cases=None if cases_of(artifact) == "rows" else cases_of(artifact),
    )
