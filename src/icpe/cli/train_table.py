"""`icpe train-table`: from a table of cases to a questionnaire with a certificate."""

import dataclasses
import functools as ft
import shlex
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import tyro

from icpe.cli.options import Seed, check_error_prob, check_seed

_NOT_CERTIFIED = 1
_SMALL = 0.1
"""Error probabilities up to which a single question is suspiciously good."""


def _optional(metavar: str) -> Any:
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


@dataclasses.dataclass(frozen=True)
class Args:
    """Make a questionnaire from a table of cases, measure it, and certify it.

    The table has a header, and commas, semicolons or tabs between values. Values are
    numbers or words; leave a cell empty if its value is unknown. Some rows are put
    aside first, and the certificate is based on them. `icpe play FILE --human` then
    asks for one feature at a time. The exit status is 1 if --error-prob was not
    certified; the file is written anyway.
    """

    data: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="TABLE.csv")]
    """The table, one case a row."""
    target: Annotated[str, tyro.conf.arg(metavar="COLUMN")]
    """The column with the classes."""
    costs: Annotated[Path | None, _optional("COSTS.csv")] = None
    """What features cost: columns feature and cost, 1 where a feature is not named; and
    group, where several are measured together."""
    out: Annotated[Path | None, _optional("FILE")] = None
    """Where it is written; TABLE.safetensors in the current folder if left out."""
    overwrite: bool = False
    """Replace FILE if it is there already, with its certificates."""
    error_prob: Annotated[float | None, _optional("P")] = None
    """The error probability to certify; if left out, the smallest that will probably
    be shown, by the accuracy on the other rows."""
    confidence: Annotated[float, tyro.conf.arg(metavar="C")] = 0.95
    """Confidence of the certificate."""
    held_out: Annotated[float, tyro.conf.arg(metavar="SHARE")] = 0.2
    """Share of the rows that is put aside for the certificate."""
    max_queries: Annotated[int | None, _optional("N")] = None
    """The most queries for a case; 32 if left out, or as many as there are."""
    ignore: Annotated[tuple[str, ...], _optional("COLUMN ..")] = ()
    """Columns to leave out."""
    subject: Annotated[str | None, _optional("COLUMN")] = None
    """The column that says what a row is about, such as the number of a patient, where
    several rows may be about one: these are put aside together, and count as one."""
    seed: Seed = 0
    """Seed of the choice of rows."""
    json: bool = False
    """Print one line of JSON."""


EXAMPLES = (
    "icpe train-table data.csv --target diagnosis --costs costs.csv",
    "icpe train-table data.csv --target diagnosis --error-prob 0.1 --subject patient",
)


def run(args: Args) -> int:
    """Reads, fits, certifies, saves."""
    from icpe.cli.artifact_files import check_out
    from icpe.cli.data_files import check_data_file
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.core.checks import check_confidence, check_share_of_rows
    from icpe.core.locks import locked

    check_seed(args.seed)
    check_confidence(args.confidence, "--confidence")
    check_error_prob(args.error_prob)
    check_share_of_rows("--held-out", args.held_out)
    out = args.out or Path(f"{args.data.stem}.safetensors")
    check_out(out, overwrite=args.overwrite)
    for path in (args.data, args.costs):
        if path is not None:
            check_data_file(path)
    _check_columns(args)
    keep_compiled_programs()
    with locked(out, "icpe train-table"):
        artifact = _made(args)
        choice = _choice(args, artifact)
        asked = args.error_prob if choice is None else choice.error_prob
        artifact, certificate = _certified(args, artifact, asked)
        artifact.save(out)
    _tell(args, out, artifact, certificate, choice)
    passed = certificate is not None and certificate.certified
    return 0 if passed or args.error_prob is None else _NOT_CERTIFIED


def _check_columns(args: Args) -> None:
    """Complains about columns that the table does not have, before anything loads."""
    from icpe.core.csv_text import one_line, read_rows
    from icpe.core.errors import UnknownNameError, suggesting

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said when it is read in earnest
        header = read_rows(args.data, (args.target,)).header
    target = one_line(args.target)
    named = [("--target", target), *(("--ignore", it) for it in args.ignore)]
    if args.subject is not None:
        named.append(("--subject", args.subject))
    for option, name in ((option, one_line(name)) for option, name in named):
        others = [it for it in header if option == "--target" or it != target]
        if name not in others:
            raise UnknownNameError(
                suggesting(
                    f"{option} {name!r} is no column of {args.data}",
                    name,
                    others,
                    f"it has {', '.join(others)}.",
                )
            )


def _made(args: Args):
    """The explorer, with what was measured on rows that are not held out."""
    import numpy as np

    from icpe.cli.terminal import progress_meter, warnings_said
    from icpe.core.csv_text import one_line
    from icpe.core.errors import DataError
    from icpe.integrations.tables.asked import read_costs
    from icpe.integrations.tables.fit import fit_table
    from icpe.integrations.tables.measured import make_artifact, operating_table
    from icpe.integrations.tables.odd_columns import sort_out
    from icpe.integrations.tables.rare import many_words
    from icpe.integrations.tables.reading import read_csv, read_words

    began = time.perf_counter()
    with warnings_said():
        columns, words = read_csv(args.data, args.target)
    names = [column.name for column in columns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said above
        subjects = (
            None
            if args.subject is None
            else read_words(args.data, args.target, args.subject)
        )
    left_out = {one_line(name) for name in (*args.ignore, args.subject or "")}
    every = columns
    columns, sentences = sort_out([it for it in every if it.name not in left_out])
    kept = {column.name for column in columns}
    for sentence in (*sentences, *many_words(columns)):
        print(f"icpe: {sentence}", file=sys.stderr)
    if not columns:
        raise DataError(
            f"{args.data} has no column beside {args.target} that a question could be "
            "made of; add a feature."
        )
    with warnings_said():
        costs, groups = ({}, {}) if args.costs is None else read_costs(args.costs)
    gone = set(names) - kept
    costs = {name: cost for name, cost in costs.items() if name not in gone}
    groups = {
        name: own
        for name, members in groups.items()
        if (own := [it for it in members if it not in gone])
    }
    classes, labels = np.unique(words, return_inverse=True)
    with warnings_said():
        fitted = fit_table(
            columns,
            labels,
            [str(it) for it in classes],
            groups=groups,
            costs=costs,
            max_queries=args.max_queries,
            held_out=args.held_out,
            subjects=subjects,
            beside=[column for column in every if column.name not in kept],
            seed=args.seed,
            progress=progress_meter(),
        )
    table = operating_table(fitted)
    seconds = time.perf_counter() - began
    made = {"seed": args.seed, "seconds": seconds, "target": one_line(args.target)}
    return make_artifact(fitted, table, **made)


def _choice(args: Args, artifact):
    """What to certify where nobody says it; None if somebody does, or nothing will."""
    from icpe.evaluate.held_out import likely_choice

    number = len(artifact.family.held_out_labels)
    if args.error_prob is not None or not number:
        return None
    return likely_choice(artifact, number, args.confidence)


def _certified(args: Args, artifact, asked: float | None):
    from icpe.core.errors import InvalidParameterError, UnsupportedError
    from icpe.evaluate.certify import certify

    if asked is None:
        return artifact, None
    try:
        certificate = certify(artifact, error_prob=asked, confidence=args.confidence)
    except (InvalidParameterError, UnsupportedError) as error:
        print(f"icpe: Not certified: {error}", file=sys.stderr)
        return artifact, None
    return artifact.with_certificate(certificate), certificate


def _tell(args: Args, out: Path, artifact, certificate, choice) -> None:
    from rich.markup import escape

    from icpe.cli.terminal import output, print_json
    from icpe.portable.reading import listed

    family, made = artifact.family, artifact.training
    if args.json:
        known = None if certificate is None else certificate.to_dict()
        print_json(
            {
                "file": str(out),
                "rows": made["rows"],
                "held_out_rows": made["held_out_rows"],
                "classes": list(family.classes),
                "queries": list(family.query_names),
                "smallest_error_prob": artifact.table.smallest_error_prob(),
                "certified": None if certificate is None else certificate.certified,
                "certificate": known,
                "choice": None if choice is None else choice.sentence,
            }
        )
        return
    say = ft.partial(output().print, soft_wrap=True, highlight=False)
    say(
        f"[bold]{escape(str(out))}[/]: {len(family.query_names)} questions about "
        f"{len(family.classes)} classes, like {made['rows']} rows; "
        f"{made['held_out_rows']} rows were put aside."
    )
    say(f"It asks for {listed(family.query_names)}.", markup=False)
    if args.subject is not None:
        say(_rows_of_subjects(args.subject, made), markup=False)
    if certificate is None:
        say(_best_possible(args, artifact))
    else:
        from icpe.cli.certificate_words import sentences

        for sentence in sentences(certificate):
            say(sentence)
    if choice is not None:
        say(choice.sentence)
    asked = ""
    if certificate is not None and certificate.certified:
        asked = f" --error-prob {certificate.error_prob:g}"
        for remark in (_guessing, _one_question_decides):
            if said := remark(artifact, certificate):
                say(said, markup=False)
    say(f"Try it: icpe play {shlex.quote(str(out))}{asked} --human", markup=False)


def _rows_of_subjects(subject: str, made: dict[str, Any]) -> str:
    """What became of all rows, where several may be about one subject."""
    total, judged = sum(made["rows_by_class"].values()), made["judged_rows"]
    compared = made.get("compared_rows", made["rows"])
    rest = total - compared - made["held_out_rows"] - judged
    return (
        f"Each of the rows put aside is about a different {subject}. Of the {total} "
        f"rows, cases are compared with {compared}, {made['held_out_rows']} were put "
        f"aside, {judged} more, each about a different {subject}, tell where to stop, "
        f"and {rest} are not used: of each {subject} put aside or judged on, one row "
        "counts."
    )


def _guessing(artifact, certificate) -> str | None:
    """A sentence, where whoever always names one class keeps the promise as well."""
    rows = artifact.training["rows_by_class"]
    usual = max(rows, key=rows.__getitem__)
    wrong = 1.0 - rows[usual] / sum(rows.values())
    if wrong > certificate.error_prob:
        return None
    return (
        f"That promise is weak: whoever always names {usual!r} is wrong for "
        f"{100 * wrong:.3g} % of the rows. icpe certify --json has the errors of each "
        "class (by_hypothesis)."
    )


def _one_question_decides(artifact, certificate) -> str | None:
    """A sentence, where nearly every case ends after its first question."""
    row = next(it for it in artifact.table.priced() if it.price == certificate.price)
    first = artifact.training["first_question"]
    if row.quantiles[1] > 1 or certificate.error_prob > _SMALL or row.max_queries == 1:
        return None
    return (
        f"At least nine cases in ten end after one question, {first}. If its answer is "
        f"filled in once the class is known, leave it out (--ignore {first!r})."
    )


def _best_possible(args: Args, artifact) -> str:
    from icpe.evaluate.held_out import CANDIDATES, attempt_level, best_error_prob

    number = artifact.training["held_out_rows"]
    served = artifact.table.smallest_error_prob()
    what = f"By rows left out one at a time, error probabilities from {served:g} on are"
    if not number:
        return f"{what} served; nothing is certified, since no rows were put aside."
    if args.error_prob is None:
        accuracy = max(row.accuracy for row in artifact.table.priced())
        return (
            f"{what} served. Nothing is certified: with an accuracy of {accuracy:.3f} "
            f"on the other rows, {number} rows will probably not show an error "
            f"probability of {CANDIDATES[-1]:g} or less; add rows or features, put "
            "more rows aside (--held-out), or name one (--error-prob P) and risk that "
            "it is not shown."
        )
    best = best_error_prob(number, attempt_level(args.confidence, 1))
    return (
        f"{what} served. Nothing is certified: {number} rows could show {best:.3f} at "
        "best, without a single error; put more rows aside, or add some."
    )
