"""The magic action: an arm that points to the best one, more or less clearly."""

import dataclasses
import functools as ft
from typing import Any

from icpe.artifact import Artifact
from icpe.core.family import AbstractTaskFamily
from icpe.evaluate.plots import Figure
from icpe.evaluate.regret import cumulative_regret
from icpe.families.magic_action import MagicAction
from icpe.studies import paper_values
from icpe.studies.figures import LOOKS, Panel, Series, line, named, panels_figure
from icpe.studies.measures import (
    AnyExplorer,
    Baseline,
    Evaluation,
    Optimum,
    Trained,
    Wrapped,
    value_at,
)
from icpe.studies.models import Bench, Model
from icpe.studies.study import AbstractMeasure, Cell, Results, Size, Study, entry
from icpe.studies.tables import (
    ABSENT,
    Table,
    all_of,
    estimate,
    is_at_least,
    is_at_most,
    misses,
    pair,
    shown,
    verdict,
)
from icpe.studies.tiny import EPISODES, tiny_model

NOISES = tuple(round(0.1 * i, 1) for i in range(11))
ERROR_PROB = 0.1
_ASKED = f"{ERROR_PROB:g}"
_METHODS = ("ours", "i-ids", "information-gain")
_REGRET_NOISE, _REGRET_ERROR_PROB, _REGRET_HORIZON = 0.1, 0.01, 500
_REGRET_BASELINES = ("ucb", "thompson", "gaussian-ids")
_OUR_HORIZON = 40
"""Most pulls of the trained explorer, which needs few."""


def _horizon(size: Size) -> int:
    return 8 if size == "tiny" else 100


def _model(size: Size) -> Model:
    """One explorer for all noise levels."""
    horizon = min(_horizon(size), _OUR_HORIZON)
    family = MagicAction(horizon=horizon, vary_noise=True)
    model = Model(family, calibration_episodes=2048)
    return tiny_model(model) if size == "tiny" else model


def _level(noise: float, size: Size) -> MagicAction:
    """One noise level, as the explorer for all of them sees it."""
    return MagicAction(
        horizon=min(_horizon(size), _OUR_HORIZON),
        vary_noise=True,
        lowest_noise=noise,
        highest_noise=noise,
    )


def make(size: Size) -> Study:
    """Declares the study."""
    tiny = size == "tiny"
    cells = []
    for noise in (0.1,) if tiny else NOISES:
        plain = MagicAction(magic_noise=noise, horizon=_horizon(size))
        row, model = f"noise={noise:g}", _model(size)

        def cell(method, family, explorer, episodes, seed=None, row=row) -> Cell:
            measure = Evaluation(
                family,
                explorer,
                error_probs=(ERROR_PROB,),
                statistics=("first-query",),
                episodes=EPISODES if tiny else episodes,
            )
            return Cell(row, method, measure, seed)

        level = _level(noise, size)
        cells.append(Cell(row, "every-task bound", Optimum(plain, ERROR_PROB)))
        exact = Baseline("information-gain")
        cells.append(cell("information-gain", plain, exact, 2_000))
        cells.append(cell("ours", level, Trained(model, level), 20_000, 0))
        greedy = Wrapped("i-ids", Trained(model))
        cells.append(cell("i-ids", level, greedy, 2_000, 0))
    return Study(
        "magic-action",
        "Magic action",
        "Five arms; the mean of arm 0 says which of the others is the best. Its noise "
        "runs from 0, where one pull tells all, to 1, while that of the others falls. "
        "One explorer serves all levels, which are revealed at reset; it and I-IDS "
        f"make at most {_OUR_HORIZON} pulls, the others 100. Paper: figures of the "
        "magic action at error probability 0.1, without numbers. One training seed.",
        tuple(cells),
        _tables,
        _figures,
    )


_value = ft.partial(value_at, kind="error_prob", request=_ASKED)


def _is_met(results: Results, row: str) -> bool | None:
    theirs = _value(results, row, "i-ids", "mean_queries")
    return all_of(
        is_at_least(
            _value(results, row, "ours", "accuracy"),
            paper_values.MAGIC_ACTION_ACCURACY,
        ),
        is_at_most(
            _value(results, row, "ours", "mean_queries"), theirs and theirs.value
        ),
    )


def _tables(results: Results) -> list[Table]:
    rows = []
    for row in results.rows:
        bound = results.first(row, "every-task bound")
        theorem = entry(bound, "correct_on_every_task_mean_queries")
        exact = entry(bound, "mean_queries")
        rows.append(
            (
                row,
                *(
                    pair(
                        _value(results, row, method, "mean_queries"),
                        _value(results, row, method, "accuracy"),
                    )
                    for method in _METHODS
                ),
                shown(_value(results, row, "ours", "first_query_share"), 2),
                shown(_value(results, row, "i-ids", "first_query_share"), 2),
                shown(theorem, 2, ABSENT if bound else "not run"),
                shown(exact, 0, ABSENT if bound else "not run"),
                verdict(_is_met(results, row)),
            )
        )
    return [
        Table(
            "magic-action",
            "Mean queries and accuracy at error probability 0.1; share of magic pulls",
            (
                "",
                "ours",
                "I-IDS",
                "exact IDS",
                "magic pulls, ours",
                "magic pulls, I-IDS",
                "every-task bound",
                "optimum without error",
                "target",
            ),
            tuple(rows),
            (
                "Target: accuracy 0.9 with no more queries than I-IDS, which uses the "
                "belief of ours. The paper's theorem bounds methods that are right on "
                "every task; a rule that knows the prior may need fewer.",
                *misses(results.rows, lambda r: _is_met(results, r), results.notes),
            ),
        )
    ]


def _figures(results: Results) -> dict[str, Figure]:
    noises = [float(row.removeprefix("noise=")) for row in results.rows]
    bounds = [results.first(row, "every-task bound") for row in results.rows]
    theorem = [entry(one, "correct_on_every_task_mean_queries") for one in bounds]
    limit = dataclasses.replace(LOOKS["limit"], name="right on every task")
    panels = []
    for name, label in (
        ("mean_queries", "mean number of queries"),
        ("accuracy", "accuracy"),
        ("first_query_share", "share of magic pulls"),
    ):
        series = [
            line(m, noises, [_value(results, row, m, name) for row in results.rows])
            for m in _METHODS
        ]
        if name == "mean_queries":
            drawn = line("limit", noises, theorem)
            series.append(dataclasses.replace(drawn, look=limit))
        asked = 1.0 - ERROR_PROB if name == "accuracy" else None
        panels.append(
            Panel(
                series,
                "noise of the magic arm",
                label,
                x_ticks=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
                y_line=asked,
            )
        )
    return named(panels_figure(panels, width=4.9), "magic-action")


@dataclasses.dataclass(frozen=True)
class RegretMeasure(AbstractMeasure):
    """Cumulative regret of an explorer that never stops."""

    family: AbstractTaskFamily
    explorer: AnyExplorer
    horizon: int
    episodes: int

    def run(self, bench: Bench, seed: int) -> dict[str, Any]:
        """Plays fresh tasks to the horizon."""
        explorer = self.explorer.build(self.family, bench)
        assert not isinstance(explorer, Artifact)
        (report,) = cumulative_regret(
            {"it": explorer},
            self.family,
            horizon=self.horizon,
            episodes=self.episodes,
            seed=seed,
            progress=bench.progress,
        )
        found = report.to_dict()
        kept = ("horizon", "episodes", "regret", "regret_interval", "best_arm_rate")
        return {name: found[name] for name in kept} | {"curve": found["curve"]}


def make_regret(size: Size) -> Study:
    """Declares the study of regret."""
    tiny = size == "tiny"
    horizon, episodes = (12, 8) if tiny else (_REGRET_HORIZON, 1_000)
    plain = MagicAction(magic_noise=_REGRET_NOISE, horizon=_horizon(size))
    row = f"noise={_REGRET_NOISE:g}"
    cells = [
        Cell(row, name, RegretMeasure(plain, Baseline(name), horizon, episodes))
        for name in _REGRET_BASELINES
    ]
    level = _level(_REGRET_NOISE, size)
    commits = Wrapped(
        "explore-then-commit",
        Trained(_model(size), level),
        error_prob=0.99 if tiny else _REGRET_ERROR_PROB,
    )
    measure = RegretMeasure(level, commits, horizon, episodes)
    cells.append(Cell(row, "explore-then-commit", measure, 0))
    return Study(
        "regret",
        "Regret on the magic action",
        "Explore until the answer is wrong with probability at most 0.01, then pull it "
        f"for the rest of {_REGRET_HORIZON} pulls; magic noise 0.1. Paper: figure of "
        "regret, without numbers. One training seed.",
        tuple(cells),
        _regret_tables,
        _regret_figures,
    )


def _regret_met(results: Results) -> bool | None:
    row = results.rows[0]
    ours = estimate(results.of(row, "explore-then-commit"), "regret")
    others = [estimate(results.of(row, m), "regret") for m in _REGRET_BASELINES]
    return all_of(*(is_at_most(ours, other and other.value) for other in others))


def _regret_tables(results: Results) -> list[Table]:
    row, rows = results.rows[0], []
    for method in ("explore-then-commit", *_REGRET_BASELINES):
        found = results.of(row, method)
        ours = method == "explore-then-commit"
        rows.append(
            (
                LOOKS[method].name,
                shown(estimate(found, "regret"), 1),
                shown(estimate(found, "best_arm_rate"), 3),
                verdict(_regret_met(results)) if ours else ABSENT,
            )
        )
    return [
        Table(
            "regret",
            f"Regret after {_REGRET_HORIZON} pulls",
            ("", "regret", "share of best-arm pulls", "below all others"),
            tuple(rows),
            misses(results.rows, lambda _: _regret_met(results), results.notes),
        )
    ]


def _regret_figures(results: Results) -> dict[str, Figure]:
    series = []
    for method in ("explore-then-commit", *_REGRET_BASELINES):
        found = results.first(results.rows[0], method)
        if found is not None:
            pulls = list(range(1, len(found["curve"]) + 1))
            series.append(Series(LOOKS[method], pulls, found["curve"], markers=False))
    title = "Magic action, noise 0.1"
    panel = Panel(series, "number of pulls", "mean regret", title, y_range=(0, None))
    return named(panels_figure([panel], width=6.2), "regret")
