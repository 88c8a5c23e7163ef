"""What an explorer does for the error probabilities that people ask for."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from icpe.artifact.certificate import Certificate
from icpe.artifact.document import serving_certificate
from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.core.errors import OperatingPointError
from icpe.core.goals import Promise, Request
from icpe.portable import check_trained_price

_ERROR_PROBS = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)


@dataclasses.dataclass(frozen=True)
class Served:
    """How a round error probability is served, as measured.

    Attributes:
        error_prob: the smallest one that is served like this; where a certificate
            serves, the one that it certifies.
        price: at which price.
        accuracy: there, in calibration or in the episodes of the certificate.
        mean_queries: there, from the same episodes.
        mean_cost: there, from the same episodes.
        certified: whether a certificate serves it, and then larger error
            probabilities as well.
        row: of the operating table at that price; None if it has none, which only a
            certificate from before the last calibration makes possible.
    """

    error_prob: float
    price: float
    accuracy: float
    mean_queries: float
    mean_cost: float
    certified: bool
    row: OperatingRow | None

    @property
    def request(self) -> str:
        """The request, in words."""
        return f"{self.error_prob:g}" + (", certified" if self.certified else "")


def served_requests(
    document: Mapping[str, Any], max_queries: int | None = None
) -> list[Served]:
    """How round and certified error probabilities are served, largest first.

    Of several that are served in the same way only the smallest is kept. A cap on the
    queries is never certified.

    Args:
        document: what the explorer's file says; it has an operating table.
        max_queries: the cap on the queries, none if it is the horizon.
    """
    table = OperatingTable.from_dict(document["operating_table"])
    capped = max_queries not in (None, table.horizon)
    served: dict[tuple[float, bool], Served] = {}
    for error_prob in sorted({*_ERROR_PROBS, *_certified(document)}, reverse=True):
        with contextlib.suppress(OperatingPointError):
            certificate = None if capped else serving_certificate(document, error_prob)
            if certificate is not None:
                entry = _by_certificate(certificate, table)
            elif error_prob in _ERROR_PROBS:
                entry = _by_table(error_prob, table.row_for(error_prob, max_queries))
            else:
                continue
            served[entry.price, entry.certified] = entry
    return sorted(served.values(), key=lambda it: -it.error_prob)


def check_request(
    document: Mapping[str, Any], request: Request, *, usual: bool = False
) -> None:
    """Complains about what a trained explorer cannot serve, before it is loaded.

    Args:
        document: what the explorer's file says.
        request: what is asked of it.
        usual: whether its error probability is only the usual one, in whose place
            another one will be asked for if it is not served.

    Raises:
        OperatingPointError: the budget or cap exceeds the horizon, the price is none
            that it was trained for, or the error probability is too small.
    """
    table = document["operating_table"]
    if table is None or document.get("kind", "universal") != "universal":
        return
    request.check_counts(table["horizon"])
    if request.price is not None and "rule" not in document:
        check_trained_price(request.price, *document["price_range"])
    if usual or request.error_prob is None:
        return
    if request.promise == Promise.AVERAGE:
        _check_error_prob(document, request.error_prob, request.max_queries)


def _check_error_prob(
    document: Mapping[str, Any], error_prob: float, max_queries: int | None
) -> None:
    table = OperatingTable.from_dict(document["operating_table"])
    rows = table.priced(max_queries)
    if any(row.quantiles[-1] >= row.max_queries for row in rows):
        return  # what would help then depends on the family, which is not loaded yet
    if serving_certificate(document, error_prob) is None:
        table.row_for(error_prob, max_queries, trained="rule" not in document)


def _certified(document: Mapping[str, Any]) -> Iterator[float]:
    """The error probabilities that certificates are about, whether they hold or not."""
    for record in document["certificates"]:
        if record.get("error_prob") is not None:
            yield float(record["error_prob"])


def _by_table(error_prob: float, row: OperatingRow) -> Served:
    assert row.price is not None
    return Served(
        error_prob,
        row.price,
        row.accuracy,
        row.mean_queries,
        row.mean_cost,
        certified=False,
        row=row,
    )


def _by_certificate(certificate: Certificate, table: OperatingTable) -> Served:
    assert certificate.error_prob is not None and certificate.price is not None
    return Served(
        certificate.error_prob,
        certificate.price,
        accuracy=certificate.bound_successes / certificate.episodes,
        mean_queries=certificate.mean_queries,
        mean_cost=certificate.mean_cost,
        certified=True,
        row={row.price: row for row in table.priced()}.get(certificate.price),
    )
