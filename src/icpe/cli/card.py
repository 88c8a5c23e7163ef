"""The card of a trained explorer: what its file says about itself, for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from icpe.artifact.document import is_sealed_by_the_old_rule
from icpe.artifact.operating_table import OperatingTable
from icpe.artifact.rule_gain import RuleGain
from icpe.cli.catalog import describe_record, in_words
from icpe.cli.guard_words import guard_words
from icpe.cli.held_out import held_out
from icpe.cli.served import served_requests
from icpe.cli.terminal import floored, printable
from icpe.portable.reading import listed

_WORSE = 0.02
"""Accuracy that the largest budget loses, from which it is said."""
_HEADINGS = ("accuracy", "queries", "median", "90 %", "99 %", "most")


def print_card(console: Console, document: Mapping[str, Any], path: str) -> None:
    """Prints family, operating table, certificates and provenance."""
    document = printable(document)
    path = printable(path)
    family, made = document["family"], document["provenance"]
    described = describe_record(family["name"], family["parameters"])
    console.print(f"[bold]{escape(path)}[/] explores {escape(described)}")
    words = in_words(family["name"], family["parameters"])
    if words:
        console.print(f"problems: {escape(words)}", soft_wrap=True, highlight=False)
    console.print(
        f"[dim]{_made(document)} in "
        f"{made.get('seconds') or 0.0:.0f} s on {_told(made, 'device')} with icpe "
        f"{_told(made, 'icpe')} and jax {_told(made, 'jax')}[/]"
    )
    if family.get("source") is not None:
        console.print(
            "[dim]its family is not one of icpe's: commands that use the file need "
            f"--import {escape(family['source'])}[/]",
            soft_wrap=True,
        )
    if is_sealed_by_the_old_rule(document):
        console.print(
            "[dim]sealed by the old rule: networks and certificates have hashes, the "
            "rest of the file has none; whatever writes it next seals the whole[/]",
            soft_wrap=True,
        )
    rows = document["training"].get("rows_by_class")
    if rows:
        questions = listed(family["parameters"]["query_names"])
        console.print(
            f"it asks for {escape(questions)}", soft_wrap=True, highlight=False
        )
        shown = ", ".join(f"{name} {count}" for name, count in rows.items())
        console.print(
            f"rows of each class: {escape(shown)}", soft_wrap=True, highlight=False
        )
    images = held_out(document)
    if images is not None:
        console.print(f"[dim]{images}[/]", soft_wrap=True)
    console.print(
        f"[dim]{_inside(document)}; family fingerprint "
        f"{escape(document['fingerprint'])}[/]",
        soft_wrap=True,
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
        _print_table(console, document)
    _print_certificates(console, document["certificates"], path)
    guard = escape(guard_words(document, path))
    console.print(f"[dim]{guard}[/]", soft_wrap=True, highlight=False)
    if document.get("against_rule") is not None:
        gain = RuleGain.from_dict(document["against_rule"])
        console.print(f"\n{escape(gain.sentence)}", soft_wrap=True, highlight=False)
        console.print(
            f"[dim]on the same {gain.episodes} episodes, seed {gain.seed}; the times "
            f"on {escape(gain.device)}[/]",
            soft_wrap=True,
        )


def _made(document: Mapping[str, Any]) -> str:
    if document.get("kind") == "rule":
        return "a rule, which was not trained; measured"
    return f"trained for {document['provenance'].get('iterations', '?')} iterations"


def _inside(document: Mapping[str, Any]) -> str:
    """What decides, in words."""
    if document.get("kind") == "rule":
        return (
            f"exact posterior; queries by {escape(document['rule']['score'])}; price "
            "is the doubt, one minus the largest posterior, at which it stops"
        )
    network = document["networks"]["transformer"]
    return (
        f"two Transformers, {network.get('num_layers', '?')} layers of width "
        f"{network.get('width', '?')}"
    )


def _told(made: Mapping[str, Any], name: str) -> str:
    return escape(made.get(name) or "?")


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


def _print_table(console: Console, document: Mapping[str, Any]) -> None:
    table = OperatingTable.from_dict(document["operating_table"])
    caps = sorted({row.max_queries for row in table.rows if row.price is not None})
    costs = ("cost",) if _has_costs(table) else ()
    for cap in reversed(caps):
        within = "" if cap == table.horizon else f" within {cap} queries"
        requests = served_requests(document, cap)
        console.print(
            f"\nAn error probability{within}, at least "
            f"{table.smallest_error_prob(cap):g}{':' if requests else '.'}"
        )
        headings = ("error_prob", "price", *_HEADINGS, *costs)
        shown = _empty_table(*headings)
        for it in requests:
            spread = (*it.row.quantiles, it.row.longest) if it.row else ()
            shown.add_row(
                it.request,
                f"{it.price:.4g}",
                f"{it.accuracy:.4f}",
                f"{it.mean_queries:.3f}",
                *map(str, spread or ("",) * len(_HEADINGS[2:])),
                *(_cell("", it.mean_cost) for _ in costs),
            )
        if shown.rows:
            console.print(shown)
        certified = [it for it in requests if it.certified]
        if certified:
            has_row = any(it.row for it in certified)
            console.print(
                "[dim]A certified error probability also serves every larger one, up "
                "to the next that is certified. Its price was chosen with a margin, so "
                "as to pass a test on new episodes, and may take more queries than a "
                "smaller error probability without a certificate, which has no margin "
                "and promises nothing. Its accuracy and queries are from the "
                "certificate's own episodes"
                + (", the rest from the row of its price.[/]" if has_row else ".[/]"),
                soft_wrap=True,
            )
    console.print(f"\nA budget of queries, at most {table.horizon}:")
    shown = _empty_table("budget", "accuracy", *costs)
    for row in table.budgets():
        cost = (_cell("", row.mean_cost) for _ in costs)
        shown.add_row(str(row.max_queries), f"{row.accuracy:.4f}", *cost)
    console.print(shown)
    best = max(table.budgets(), key=lambda row: row.accuracy, default=None)
    if best is not None and best.accuracy - table.budgets()[-1].accuracy > _WORSE:
        console.print(
            "[dim]More queries are not better here: a budget of "
            f"{best.max_queries} was right most often.[/]",
            soft_wrap=True,
        )
    each = " or ".join(sorted({str(row.episodes) for row in table.rows}))
    console.print(
        f"[dim]each row measured on {each} episodes, seed {table.seed}[/]",
        soft_wrap=True,
    )


def _has_costs(table: OperatingTable) -> bool:
    """Whether queries cost anything but 1 each."""
    return any(
        abs(row.mean_cost - row.mean_queries) > 1e-6 * row.mean_queries
        for row in table.rows
    )


def _empty_table(*headings: str) -> Table:
    table = Table(box=None)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _print_certificates(
    console: Console, certificates: Sequence[Mapping[str, Any]], path: str
) -> None:
    if not certificates:
        console.print("\nNo certificates.")
        return
    console.print("\nCertificates:")
    names = ("error_prob", "certified", "confidence", "lower_bound", "price")
    origin = ("attempt", "seed", "set by")
    table = _empty_table(*(name.replace("_", " ") for name in names), *origin)
    table.pad_edge, table.collapse_padding = False, True  # all of it in 80 columns
    for certificate in certificates:
        table.add_row(
            *(_cell(name, certificate.get(name)) for name in (*names, *origin[:2])),
            _SET_BY[certificate.get("seed_is_default")],
        )
    console.print(table)
    console.print(
        "[dim]set by: hash if the seed is that of weights and family, user if somebody "
        "chose it[/]",
        soft_wrap=True,
    )


_SET_BY = {True: "hash", False: "user", None: "-"}


def _cell(name: str, value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "-"}[value]
    if name == "lower_bound":
        return floored(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
