"""The card of a trained explorer: what its file says about itself, for people."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from icpe.exceptions import OperatingPointError
from icpe.operating_table import OperatingRow, OperatingTable
from icpe.tasks.registry import describe_record

_ERROR_PROBS = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)
_HEADINGS = ("accuracy", "queries", "median", "90 %", "99 %", "most")


def print_card(console: Console, document: Mapping[str, Any], path: str) -> None:
    """Prints family, operating table, certificates and provenance."""
    family, made = document["family"], document["provenance"]
    described = describe_record(family["name"], family["parameters"])
    console.print(f"[bold]{escape(path)}[/] explores {escape(described)}")
    console.print(
        f"[dim]trained for {made.get('iterations', '?')} iterations in "
        f"{made.get('seconds', 0.0):.0f} s on {made.get('device', '?')} with icpe "
        f"{made.get('icpe', '?')} and jax {made.get('jax', '?')}[/]"
    )
    network = document["networks"]["transformer"]
    console.print(
        f"[dim]two Transformers, {network['num_layers']} layers of width "
        f"{network['width']}; family fingerprint {document['fingerprint']}[/]"
    )
    if document.get("kind") == "paper":
        _print_one_request(console, document)
        return
    low, high = document["price_range"]
    if document["operating_table"] is None:
        console.print(
            f"\nIt serves budgets, and prices from {low:.3g} to {high:.3g}. For error "
            "probabilities it needs its operating table: icpe calibrate "
            f"{escape(path)}",
            soft_wrap=True,
        )
    else:
        table = OperatingTable.from_dict(document["operating_table"])
        _print_table(console, table)
    _print_certificates(console, document["certificates"], path)


def _print_one_request(console: Console, document: Mapping[str, Any]) -> None:
    """What an explorer of the paper's learner serves, and how well."""
    objective = document["objective"]
    asked = " ".join(f"{k}={v:g}" for k, v in objective.items() if v is not None)
    console.print(f"\nMade by the paper's learner: it serves {asked} alone.")
    measured = document["evaluation"]
    if measured is not None:
        console.print(
            f"Accuracy {measured['accuracy']:.4f} with {measured['mean_queries']:.3f} "
            f"queries (at most {measured['max_queries']}) on {measured['episodes']} "
            "episodes."
        )


def requests(
    table: OperatingTable, max_queries: int | None = None
) -> list[tuple[float, OperatingRow]]:
    """Rows worth reading: for round error probabilities, the row that serves them.

    Of several that one row serves only the smallest is kept.
    """
    served: dict[float | None, tuple[float, OperatingRow]] = {}
    for error_prob in _ERROR_PROBS:
        with contextlib.suppress(OperatingPointError):
            row = table.row_for(error_prob, max_queries)
            served[row.price] = (error_prob, row)
    return list(served.values())


def _print_table(console: Console, table: OperatingTable) -> None:
    caps = sorted({row.max_queries for row in table.rows if row.price is not None})
    for cap in reversed(caps):
        rows = requests(table, cap)
        within = "" if cap == table.horizon else f" within {cap} queries"
        console.print(
            f"\nAn error probability{within}, at least "
            f"{table.smallest_error_prob(cap):g}:"
        )
        if rows:
            entries = [(f"{p:g}", f"{row.price:.4g}", row) for p, row in rows]
            console.print(_rows(("error_prob", "price"), entries))
    console.print(f"\nA budget of queries, at most {table.horizon}:")
    budgets = [(str(row.max_queries), row) for row in table.budgets()]
    console.print(_rows(("budget",), budgets))
    each = " or ".join(sorted({str(row.episodes) for row in table.rows}))
    console.print(f"[dim]each row measured on {each} episodes, seed {table.seed}[/]")


def _rows(names: Sequence[str], entries: Sequence[tuple]) -> Table:
    """A table of operating rows; budgets always make all their queries."""
    priced = len(names) > 1
    table = Table(box=None)
    for heading in (*names, *(_HEADINGS if priced else _HEADINGS[:1])):
        table.add_column(heading, justify="right")
    for *cells, row in entries:
        measured = [f"{row.mean_queries:.3f}", *row.quantiles, row.longest]
        table.add_row(
            *cells, f"{row.accuracy:.4f}", *(map(str, measured) if priced else ())
        )
    return table


def _print_certificates(
    console: Console, certificates: Sequence[Mapping[str, Any]], path: str
) -> None:
    if not certificates:
        console.print("\nNo certificates.")
        return
    console.print("\nCertificates:")
    table = Table(box=None)
    names = ("error_prob", "certified", "confidence", "lower_bound", "price")
    for name in names:
        table.add_column(name.replace("_", " "), justify="right")
    for certificate in certificates:
        table.add_row(*(_cell(certificate.get(name)) for name in names))
    console.print(table)


def _cell(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "-"}[value]
    return f"{value:.4g}" if isinstance(value, float) else str(value)
