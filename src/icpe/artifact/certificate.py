"""Certificates: what was tested about an explorer's error probability, and the outcome.

A certificate is a plain record that travels in the explorer's file. It names what it
speaks about by hashes (weights, family, and all of the document that decides what the
explorer does) and is sealed by a digest of its own content, so that a change of any of
them is noticed. The digest needs no secret:
it guards against damage and careless edits, and a careful forgery is found by
repeating the test, which anyone can do.
"""

import dataclasses
import functools as ft
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from icpe.core.errors import ArtifactError, OperatingPointError
from icpe.core.goals import LEAST_CONFIDENCE, Promise, Request


@dataclasses.dataclass(frozen=True)
class PriceTest:
    """One price of the ladder: right answers there, and whether its test passed.

    `episodes` is how many were played there; None if all tests had as many as the
    certificate says. `counts` has the right answers and the episodes that each bet was
    about, where that is not simply all of them: the decided sessions, or one pair for
    each group of hypotheses.
    """

    price: float
    successes: int
    passed: bool
    episodes: int | None = None
    counts: tuple[tuple[int, int], ...] | None = None

    @property
    def bets(self) -> tuple[tuple[int, int], ...]:
        """Right answers and episodes of each bet, all of which must be won."""
        return self.counts or ((self.successes, self.episodes or 0),)


@dataclasses.dataclass(frozen=True)
class Group:
    """Episodes of one kind, for description only: no statement is made about them."""

    name: str
    episodes: int
    successes: int
    mean_queries: float

    @property
    def accuracy(self) -> float:
        """Fraction of right answers."""
        return self.successes / self.episodes


@dataclasses.dataclass(frozen=True)
class Certificate:
    """The outcome of one attempt to certify an explorer, successful or not.

    If `certified`, then an explorer whose accuracy at `price` is below 1 - error_prob
    would have passed with probability at most 1 - confidence. With `test` "betting"
    that probability is of all attempts together, continued in any way; the tests of
    older certificates (`test` None) are exact binomial ones in a fixed sequence, each
    attempt at the full level. `lower_bound` is a statement of its own: it exceeds the
    accuracy at `price` (or `budget`) with probability at most 1 - confidence. Both are
    about the average over the prior. With `test` "held-out" both come from the same
    real cases, drawn like those that the explorer will meet, and at the same level.

    Attributes:
        error_prob: the error probability to be certified, None for a fixed budget.
        budget: the fixed number of queries, None for an error probability.
        confidence: of the tests, and of the lower bound.
        certified: whether it was shown; None for a fixed budget, where only the
            lower bound is given.
        price: the certified price, or the closest one if nothing was certified.
        lower_bound: of the accuracy, one-sided (Clopper and Pearson).
        episodes: episodes of the set behind the lower bound; in a fixed sequence also
            those of each test.
        bound_successes: right answers in that set.
        mean_queries: mean number of queries in that set.
        mean_cost: mean cost in that set.
        ladder: the prices in their order; in a fixed sequence those that were tested,
            of which all but the last have passed.
        episodes_needed: with which the closest price would probably pass, if nothing
            was certified; None also if no number would do.
        seed: seed of the episodes.
        seed_is_default: whether it is the hash of weights and family.
        attempt: which attempt it is, counted from 1: which ladder of these networks
            for "betting", else which record for this error_prob or budget.
        by_hypothesis: the set behind the lower bound, split by the truth.
        by_difficulty: the same, split by a measure of difficulty.
        difficulty: what that measure is.
        weights: hash of the networks.
        fingerprint: hash of the family.
        table: hash of the operating table that the ladder was planned with.
        provenance: versions and device that made the episodes.
        digest: seal of all the rest; empty before sealing.
        test: "betting"; "held-out" for an exact test on real cases, each counted once;
            or None for a fixed sequence and for budgets.
        level: at which each price is tested, by betting or on held-out cases.
        planned_error_prob: the error probability for which the ladder was planned,
            which was that of the first call of this attempt.
        planned_confidence: the confidence of that call.
        document: hash of what the file said of the explorer (see `subject_of`); None
            in certificates that are older than the seal of whole files.
        promise: what was tested, the name of a `Promise`; None for the average. With
            "belief" the price is the doubt at which sessions stop, and all that is
            said of accuracy is about those that do.
        groups: with "every-hypothesis", which hypotheses are tested together; None if
            each by itself.
        bound_counts: as `PriceTest.counts`, in the set behind the lower bound, which
            then is that of the group with the lowest.
        shown: with "every-hypothesis", the groups that may be listed as shown, the
            level being divided among all groups; all of them if it is certified.
        by_answer: the set behind the lower bound, split by the answer given; with
            "belief" of the decided sessions alone.
        cases: what the held-out cases are, such as "images"; None for rows of a table.
    """

    error_prob: float | None
    budget: int | None
    confidence: float
    certified: bool | None
    price: float | None
    lower_bound: float
    episodes: int
    bound_successes: int
    mean_queries: float
    mean_cost: float
    ladder: tuple[PriceTest, ...]
    episodes_needed: int | None
    seed: int
    seed_is_default: bool
    attempt: int
    by_hypothesis: tuple[Group, ...]
    by_difficulty: tuple[Group, ...]
    difficulty: str
    weights: str
    fingerprint: str
    table: str
    provenance: Mapping[str, Any]
    digest: str = ""
    test: str | None = None
    level: float | None = None
    planned_error_prob: float | None = None
    planned_confidence: float | None = None
    document: str | None = None
    promise: str | None = None
    groups: tuple[tuple[int, ...], ...] | None = None
    bound_counts: tuple[tuple[int, int], ...] | None = None
    shown: tuple[str, ...] | None = None
    by_answer: tuple[Group, ...] | None = None
    cases: str | None = None

    @property
    def counted(self) -> str:
        """What was counted, in a word."""
        return (self.cases or "rows") if self.test == "held-out" else "episodes"

    @property
    def undecided(self) -> float | None:
        """The share of undecided sessions in the set behind the lower bound, if any
        session can be."""
        if self.promise != Promise.BELIEF or not self.bound_counts:
            return None
        return 1.0 - self.bound_counts[0][1] / self.episodes

    def sealed(self) -> "Certificate":
        """The same certificate with the digest of its content."""
        return dataclasses.replace(self, digest=self._content_digest())

    @property
    def is_intact(self) -> bool:
        """Whether the digest is that of the content."""
        return self.digest == self._content_digest()

    def _content_digest(self) -> str:
        return digest(self.to_dict() | {"digest": ""})

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values; without what older records do not have."""
        values = dataclasses.asdict(self)
        return _without_none(values, _YOUNGER) | {
            "ladder": tuple(
                _without_none(test, ("episodes", "counts")) for test in values["ladder"]
            )
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Certificate":
        """From the values of `to_dict`.

        Raises:
            ArtifactError: a field is missing, unknown or of the wrong kind.
        """
        try:
            by_answer = values.get("by_answer")
            return Certificate(
                **{
                    **values,
                    "ladder": tuple(_price_test(v) for v in values["ladder"]),
                    "by_hypothesis": tuple(Group(**v) for v in values["by_hypothesis"]),
                    "by_difficulty": tuple(Group(**v) for v in values["by_difficulty"]),
                    "by_answer": by_answer and tuple(Group(**v) for v in by_answer),
                    "groups": _pairs(values.get("groups")),
                    "bound_counts": _pairs(values.get("bound_counts")),
                    "shown": _tuple(values.get("shown")),
                }
            )
        except (KeyError, TypeError) as error:
            raise ArtifactError(
                f"A certificate in the file cannot be read ({error}); make it again "
                "with icpe certify."
            ) from error


_YOUNGER = (
    "test",
    "level",
    "planned_error_prob",
    "planned_confidence",
    "document",
    "promise",
    "groups",
    "bound_counts",
    "shown",
    "by_answer",
    "cases",
)


def _price_test(values: Mapping[str, Any]) -> PriceTest:
    return PriceTest(**{**values, "counts": _pairs(values.get("counts"))})


def _pairs(values: Any) -> Any:
    return values and tuple(map(tuple, values))


def _tuple(values: Any) -> Any:
    return None if values is None else tuple(values)


def _without_none(values: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The values less those names that are None, which older records do not have."""
    return {k: v for k, v in values.items() if v is not None or k not in names}


def covering(
    records: Sequence[Mapping[str, Any]],
    error_prob: float,
    *,
    weights: str,
    table: str,
    document: Callable[[], str] | None = None,
    confidence: float = LEAST_CONFIDENCE,
    promise: str = Promise.AVERAGE,
) -> Certificate | None:
    """The certificate that serves a request, None if there is none.

    A certificate for 0.1 serves 0.1 and any larger value; of those that serve, the
    `preferred` one is taken. Certificates of less confidence than asked for, that were
    changed, or are about another explorer, do not serve.

    Args:
        records: what is kept in an artifact.
        error_prob: the error probability asked for.
        weights: hash of the networks that would serve.
        table: hash of their operating table.
        document: gives the hash of what their file says of them (see `subject_of`),
            asked for where a certificate names it.
        confidence: the least confidence that will do.
        promise: what is asked for. What holds for every hypothesis holds on average.
    """
    named = ft.cache(document or (lambda: ""))
    return preferred(
        (
            certificate
            for certificate in map(Certificate.from_dict, records)
            if certificate.certified
            and _keeps(certificate, promise, table)
            and certificate.error_prob is not None
            and certificate.error_prob <= error_prob
            and certificate.confidence >= confidence
            and certificate.weights == weights
            and certificate.is_intact
            and (certificate.document is None or certificate.document == named())
        ),
        table,
    )


def _keeps(certificate: Certificate, promise: str, table: str) -> bool:
    """Whether what was tested is what is asked for, or implies it.

    What stops by a belief depends on the table of beliefs, which must be the same.
    """
    found = certificate.promise or Promise.AVERAGE
    if found == Promise.BELIEF:
        return promise == found and certificate.table == table
    return promise in (found, Promise.AVERAGE)


def preferred(certificates: Iterable[Certificate], table: str) -> Certificate | None:
    """The one of several certificates to be used, None if there is none.

    It is the one for the largest error probability, which needs the fewest queries,
    and rather for the average than for every hypothesis; then the one of the largest
    confidence; then one planned with the operating table of this hash; then the
    earliest attempt, so that trying again for a better price changes nothing; then the
    one that went on the longest, which costs no confidence.
    """
    return max(
        certificates,
        key=lambda it: (
            it.error_prob or 0.0,
            it.promise is None,
            it.confidence,
            it.table == table,
            -it.attempt,
            sum(test.episodes or 0 for test in it.ladder),
        ),
        default=None,
    )


def certifiable_request(error_prob: float | None, budget: int | None) -> Request:
    """What a certificate is asked to be about.

    Raises:
        OperatingPointError: not exactly one is given, or it is out of range.
    """
    if (error_prob is None) == (budget is None):
        given = "none of them" if budget is None else "error_prob and budget"
        raise OperatingPointError(
            "A certificate is for exactly one of error_prob and budget; got "
            f"{given}: name one, such as --error-prob 0.1."
        )
    return Request(error_prob=error_prob, budget=budget)


def digest(values: Any) -> str:
    """A short hash of JSON-compatible values."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
