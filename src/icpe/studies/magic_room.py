"""The magic room: walk, find two clues, leave by the right door."""

from icpe.evaluate.plots import Figure
from icpe.families.magic_room import MagicRoom
from icpe.studies import paper_values
from icpe.studies.figures import LOOKS, Look, Panel, Series, named, panels_figure
from icpe.studies.measures import Evaluation, Trained, at, value_at
from icpe.studies.models import Model
from icpe.studies.study import Cell, Results, Size, Study
from icpe.studies.tables import (
    ABSENT,
    NOT_RUN,
    NOT_SERVED,
    Estimate,
    Table,
    all_of,
    is_at_least,
    is_at_most,
    misses,
    shown,
    verdict,
)
from icpe.studies.tiny import EPISODES, tiny_model

SIZES = tuple(paper_values.MAGIC_ROOM)
_OFTEN, _ALMOST_ALWAYS = paper_values.MAGIC_ROOM_ACCURACIES
_COUNTED = ("no clue", "one clue", "both clues")
_ERROR_PROBS = tuple(round(1.0 - a, 6) for a in paper_values.MAGIC_ROOM_ACCURACIES)


def make(size: Size) -> Study:
    """Declares the study."""
    tiny = size == "tiny"
    cells = []
    for number in (3,) if tiny else SIZES:
        family = MagicRoom(size=number)
        model = Model(family, calibration_episodes=16_384)
        measure = Evaluation(
            family,
            Trained(tiny_model(model) if tiny else model),
            error_probs=_ERROR_PROBS,
            statistics=("clues",),
            episodes=EPISODES if tiny else 20_000,
        )
        cells.append(Cell(f"K={number}", "ours", measure, 0))
    return Study(
        "magic-room",
        "Magic room",
        "A room of K x K cells with four doors; two clues tell which is right. Nothing "
        "but leaving, or the horizon, ends an episode. Paper: table of the magic room "
        "(appendix), error probability 0.05. No baseline is known. One training seed.",
        tuple(cells),
        _tables,
        _figures,
    )


def _value(results: Results, row: str, error_prob: float, name: str) -> Estimate | None:
    asked = f"{error_prob:g}"
    return value_at(results, row, "ours", name, kind="error_prob", request=asked)


def _is_met(results: Results, row: str) -> bool | None:
    printed = paper_values.MAGIC_ROOM.get(int(row.removeprefix("K=")))
    first, second = _ERROR_PROBS
    return all_of(
        is_at_least(_value(results, row, first, "accuracy"), _OFTEN),
        is_at_most(
            _value(results, row, first, "mean_queries"), printed and printed.queries
        ),
        is_at_least(_value(results, row, second, "accuracy"), _ALMOST_ALWAYS),
    )


def _tables(results: Results) -> list[Table]:
    rows = []
    for row in results.rows:
        printed = paper_values.MAGIC_ROOM.get(int(row.removeprefix("K=")))
        paper = (ABSENT, ABSENT)
        if printed is not None:
            paper = (
                Estimate(printed.accuracy, printed.accuracy_interval).text(3),
                Estimate(printed.queries, printed.queries_interval).text(2),
            )
        rows.append(
            (
                row,
                *paper,
                *(
                    shown(_value(results, row, p, name), digits)
                    for p in _ERROR_PROBS
                    for name, digits in (("accuracy", 4), ("mean_queries", 2))
                ),
                verdict(_is_met(results, row)),
            )
        )
    notes = misses(results.rows, lambda row: _is_met(results, row), results.notes)
    main = Table(
        "magic-room",
        "Accuracy and steps",
        (
            "",
            "paper, accuracy",
            "paper, steps",
            *(
                f"ours asked for {p:g}, {what}"
                for p in _ERROR_PROBS
                for what in ("accuracy", "steps")
            ),
            "target",
        ),
        tuple(rows),
        (
            "Target: accuracy 0.95 with fewer steps than the paper, and a second "
            "operating point with accuracy 0.999. The limit is not known.",
            *notes,
        ),
    )
    return [main, _clue_table(results)]


def _clue_table(results: Results) -> Table:
    rows = []
    for row in results.rows:
        for p in _ERROR_PROBS:
            report = at(results.first(row, "ours"), "error_prob", f"{p:g}")
            clues = (report or {}).get("clues") or [{}] * 3
            for count, found in enumerate(clues):
                absent = NOT_RUN if report is None else NOT_SERVED
                absent = ABSENT if found else absent
                rows.append(
                    (
                        f"{row}, asked for {p:g}, {_COUNTED[count]}",
                        shown(found.get("episodes"), 0, absent),
                        shown(found.get("accuracy"), 4, absent),
                        shown(found.get("mean_queries"), 2, absent),
                    )
                )
    return Table(
        "magic-room-clues",
        "Clues found before leaving",
        ("", "episodes", "accuracy", "mean steps"),
        tuple(rows),
    )


def _figures(results: Results) -> dict[str, Figure]:
    panels = []
    for row in results.rows:
        series = []
        for p, line_style in zip(_ERROR_PROBS, ("-", "--"), strict=True):
            report = at(results.first(row, "ours"), "error_prob", f"{p:g}")
            if report is not None and "survival" in report:
                name = f"asked for {p:g}"
                look = Look(name, LOOKS["ours"].color, line=line_style)
                steps = list(range(len(report["survival"])))
                series.append(
                    Series(look, steps, report["survival"], markers=False, steps=True)
                )
        size = row.removeprefix("K=")
        printed = paper_values.MAGIC_ROOM.get(int(size))
        panels.append(
            Panel(
                series,
                "steps t",
                "P(more than t steps)",
                f"Room of {size} x {size}",
                y_range=(0, 1.02),
                x_line=printed and (printed.queries, "paper's mean at 0.05"),
                legend=True,
            )
        )
    return named(panels_figure(panels, width=4.9), "magic-room")
