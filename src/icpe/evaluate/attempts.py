"""Which attempt to certify an explorer a call belongs to, and what it has played.

An attempt is a ladder with the seed of its episodes, fixed at its first call. Later
calls go on with it; another operating table, seed or error probability far from the
planned one makes another attempt, with less confidence left and episodes of its own.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from icpe.artifact.certificate import Certificate
from icpe.artifact.operating_table import OperatingRow
from icpe.core.errors import ArtifactError
from icpe.evaluate.climb import Rung
from icpe.evaluate.ladder import price_level
from icpe.evaluate.promises import Counting

BETTING = "betting"
_NEAR = 0.1
"""A ladder serves error probabilities that differ from the planned one by a tenth."""


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A ladder, with the right answers and episodes at each price so far.

    Attributes:
        number: counted from 1 among all ladders of the same networks.
        error_prob: for which the ladder was planned.
        confidence: for which the ladder was planned.
        rungs: the prices, with what was played there.
        certificates: what this attempt has led to, oldest first.
    """

    number: int
    error_prob: float
    confidence: float
    rungs: tuple[Rung, ...]
    certificates: tuple[Certificate, ...] = ()

    def level(self, confidence: float) -> float:
        """The level of the test of each price, for a certificate of a confidence."""
        return price_level(confidence, self.number, len(self.rungs))


def find_attempt(
    records: Sequence[Mapping[str, Any]],
    rows: Sequence[OperatingRow],
    *,
    error_prob: float,
    confidence: float,
    weights: str,
    table_hash: str,
    seed: int,
    counting: Counting,
) -> Attempt:
    """The attempt in a file that a request goes on with; a new one if there is none."""
    known = [
        (number, it)
        for number, it in numbered(records, weights)
        if it.table == table_hash
        and it.seed == seed
        and it.test == BETTING
        and (it.promise, it.groups) == (counting.recorded, counting.groups)
    ]
    near = [(number, it) for number, it in known if is_near(error_prob, _planned(it))]
    if near:
        return _as_recorded(near[-1][0], [it for n, it in near if n == near[-1][0]])
    prices = counting.plan(rows, error_prob=error_prob, confidence=confidence)
    return Attempt(
        1 + max((number for number, _ in numbered(records, weights)), default=0),
        error_prob,
        confidence,
        tuple(Rung(price, 0, 0) for price in prices),
    )


def is_near(error_prob: float, planned: float) -> bool:
    """Whether a ladder that was planned for one error probability serves another."""
    return abs(error_prob - planned) <= _NEAR * planned * (1 + 1e-9)


def numbered(
    records: Sequence[Mapping[str, Any]], weights: str
) -> Iterator[tuple[int, Certificate]]:
    """The certificates for error probabilities, with the attempts they belong to.

    Each test in a fixed sequence counts as an attempt, since each had its own level.
    """
    numbers: dict[Any, int] = {}
    for index, record in enumerate(records):
        certificate = Certificate.from_dict(record)
        if certificate.weights != weights or certificate.error_prob is None:
            continue
        ladder: Any = index if certificate.test != BETTING else _identity(certificate)
        numbers.setdefault(ladder, len(numbers) + 1)
        yield numbers[ladder], certificate


def _identity(certificate: Certificate) -> tuple[Any, ...]:
    """What is fixed at the first call of an attempt."""
    return (
        certificate.table,
        certificate.seed,
        certificate.planned_error_prob,
        certificate.planned_confidence,
        certificate.promise,
        certificate.groups,
        tuple(test.price for test in certificate.ladder),
    )


def _planned(certificate: Certificate) -> float:
    if certificate.planned_error_prob is None:
        raise ArtifactError(
            "A certificate in the file does not say for which error probability its "
            "ladder was planned; make it again with icpe certify."
        )
    return certificate.planned_error_prob


def _as_recorded(number: int, certificates: Sequence[Certificate]) -> Attempt:
    """The attempt with the most episodes that any of its certificates has counted."""
    last = max(
        certificates, key=lambda it: sum(test.episodes or 0 for test in it.ladder)
    )
    return Attempt(
        number,
        _planned(last),
        last.planned_confidence or last.confidence,
        tuple(
            Rung(it.price, it.successes, it.episodes or 0, counts=it.counts)
            for it in last.ladder
        ),
        tuple(certificates),
    )
