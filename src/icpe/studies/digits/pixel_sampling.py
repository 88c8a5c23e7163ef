"""The study of digits: pixel sampling on MNIST, in the paper's setting and in ours."""

import dataclasses
import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from icpe.evaluate.plots import Figure
from icpe.studies import paper_values
from icpe.studies.digits import scores as digits_scores
from icpe.studies.digits import study as digits
from icpe.studies.digits.figures import NAMES, accuracy_figure
from icpe.studies.digits.study import DigitsSetup
from icpe.studies.figures import named
from icpe.studies.models import Bench, OutOfTimeError
from icpe.studies.statistics.adaptivity import Selections, pairwise_p_values
from icpe.studies.statistics.adaptivity_plots import (
    chord_figure,
    heat_map_figure,
    num_chords,
    num_tests,
)
from icpe.studies.study import (
    AbstractMeasure,
    Cell,
    Record,
    Results,
    Size,
    Study,
    plain,
)
from icpe.studies.tables import (
    ABSENT,
    Table,
    estimate,
    is_at_least,
    is_at_most,
    misses,
    shown,
    verdict,
)

PAPERS, OURS = "12 queries, frozen classifier", "no patch twice, our inference net"
_ADAPTIVE = ("ours", "paper", "deep-cmab", "uniform")
_SHOWN_BUDGETS = (5, 7, 10, 12)
_TRAIN = {
    "classifier": digits.train_classifier,
    "values": digits.train_values,
    "bandit": digits.train_bandit,
    "ours": digits.train_ours,
}
_PARTS = {"paper": ("classifier", "values", "bandit"), "ours": ("ours",)}


@dataclasses.dataclass(frozen=True)
class PixelSampling(AbstractMeasure):
    """Trains what a setting needs, and measures it on test images.

    What is trained is kept beside the trained explorers of other studies.

    Attributes:
        setup: sizes of everything.
        setting: the paper's, where a frozen classifier answers, or ours.
        seed: seed of the trainings.
    """

    setup: DigitsSetup
    setting: Literal["paper", "ours"]
    seed: int = 0

    def run(self, bench: Bench, seed: int) -> dict[str, Any]:
        """Accuracy against patches for every method of the setting.

        Raises:
            OutOfTimeError: the deadline is too close to train a part.
        """
        folder = self.folder(bench)
        folder.mkdir(parents=True, exist_ok=True)
        setup = self.setup.with_seed(self.seed)
        for part in _PARTS[self.setting]:
            if not digits.part_file(folder, part).exists():
                limit = digits.SECONDS[part]
                if time.monotonic() + limit > bench.deadline:
                    raise OutOfTimeError(
                        f"There is not enough time left to train {part}; it takes "
                        f"{limit:.0f} s."
                    )
                _TRAIN[part](setup, folder, time_limit=limit, progress=bench.progress)
        if self.setting == "paper":
            measured = digits_scores.evaluate_paper(setup, folder, seed=seed)
        else:
            measured = digits_scores.evaluate_ours(setup, folder, seed=seed)
        facts = json.loads((folder / "results.json").read_text())
        return {part: facts[part] for part in _PARTS[self.setting]} | measured

    def folder(self, bench: Bench) -> Path:
        """Where the trained parts are kept."""
        text = json.dumps(plain(self.setup), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return bench.folder / f"digits-{digest}-seed={self.seed}"


def make(size: Size) -> Study:
    """Declares the study."""
    setup = digits.TINY if size == "tiny" else digits.FULL
    cells = (
        Cell(PAPERS, "paper", PixelSampling(setup, "paper"), 0),
        Cell(OURS, "ours", PixelSampling(setup, "ours"), 0),
    )
    return Study(
        "digits",
        "Pixel sampling on MNIST",
        "Which digit is it? A query uncovers one of 36 patches; test images, each "
        "distorted anew. Paper: table and figures of pixel sampling. In its setting a "
        "classifier that was trained on whole images answers, and patches may be asked "
        "for twice; ours answers by an inference net trained on what is uncovered. One "
        "training seed.",
        cells,
        _tables,
        _figures,
    )


def _curves(results: Results) -> dict[str, list[Record]]:
    found = {}
    for row, method in ((OURS, "ours"), (PAPERS, "paper")):
        found |= (results.first(row, method) or {}).get("curves", {})
    return found


def _limit(results: Results) -> float | None:
    """Accuracy of the classifier on fully uncovered test images."""
    found = results.first(PAPERS, "paper")
    return None if found is None else found["classifier"]["accuracy"]["test"]


def _tables(results: Results) -> list[Table]:
    curves = _curves(results)
    tables = [_papers_table(results, curves), _budget_table(results, curves)]
    by_price = (results.first(OURS, "ours") or {}).get("by_price", ())
    if by_price:
        tables.append(_price_table(by_price))
    p_values = _p_values(curves)
    if p_values:
        tables.append(_adaptivity_table(p_values))
    return tables


def _episodes(curves: dict, names: Iterable[str]) -> list[str]:
    """How many episodes each row of a table has."""
    numbers = {NAMES[n]: curves[n][-1]["episodes"] for n in names if n in curves}
    if not numbers:
        return []
    usual = max(numbers.values())
    fewer = [f"{name} {n:,}" for name, n in numbers.items() if n < usual]
    but = f" ({', '.join(fewer)})" if fewer else ""
    return [f"{usual:,} episodes on test images in each row{but}."]


def _training(result: Record | None, setting: str) -> list[str]:
    """How long the parts of a setting were trained, and on what."""
    if result is None:
        return []
    facts = {part: result[part] for part in _PARTS[setting]}
    seconds = " + ".join(f"{fact['seconds']:.0f}" for fact in facts.values())
    devices = " and ".join(sorted({fact["device"] for fact in facts.values()}))
    return [f"Trained in {seconds} s on {devices} ({', '.join(facts)})."]


def _papers_table(results: Results, curves: dict) -> Table:
    rows, is_met = [], {}
    goal = paper_values.FROZEN_PIXEL_TARGET
    for name in ("paper", "paper-frugal", "deep-cmab", "fixed-order", "uniform"):
        last = [curves[name][-1] if name in curves else None]
        printed = paper_values.PIXELS.get(name)
        accuracy, patches = (estimate(last, n) for n in ("accuracy", "mean_regions"))
        if name.startswith("paper"):
            few = is_at_most(patches, goal.patches)
            is_met[NAMES[name]] = few and is_at_least(accuracy, goal.accuracy)
        rows.append(
            (
                NAMES[name],
                ABSENT if printed is None else f"{printed.accuracy:g}",
                ABSENT if printed is None else f"{printed.patches:g}",
                shown(accuracy, 4),
                shown(patches, 2),
            )
        )
    met = list(is_met.values())
    reached = True if any(met) else (None if None in met else False)
    rows.append(
        (
            "target",
            ABSENT,
            ABSENT,
            f"at least {goal.accuracy:g}",
            f"at most {goal.patches:g}, {verdict(reached)}",
        )
    )
    notes = misses([PAPERS], lambda _: reached, results.notes)
    return Table(
        "digits-paper",
        "The paper's setting: 12 queries, answers by the frozen classifier",
        ("", "accuracy (paper)", "patches (paper)", "accuracy", "patches"),
        tuple(rows),
        (
            "Limit: on the whole image the classifier is right in "
            f"{shown(_limit(results), 4)} of the cases.",
            *_episodes(curves, ("paper", "deep-cmab", "fixed-order", "uniform")),
            *_training(results.first(PAPERS, "paper"), "paper"),
            *notes,
        ),
    )


def _budget_table(results: Results, curves: dict) -> Table:
    rows = []
    for name in (name for name in NAMES if name.startswith("ours")):
        by_budget = {row["budget"]: row for row in curves.get(name, ())}
        rows.append(
            (
                NAMES[name],
                *(
                    shown(estimate([by_budget.get(n)], "accuracy"), 4)
                    for n in _SHOWN_BUDGETS
                ),
            )
        )
    by_budget = {row["budget"]: row["accuracy"] for row in curves.get("ours", ())}
    goals = paper_values.PIXEL_TARGETS
    met = {n: is_at_least(by_budget.get(n), goal) for n, goal in goals.items()}
    rows.append(
        (
            "target of ours",
            *(
                f"{goals[n]:g}, {verdict(met[n])}" if n in goals else ABSENT
                for n in _SHOWN_BUDGETS
            ),
        )
    )
    is_met = {f"{NAMES['ours']} with {n} patches": one for n, one in met.items()}
    return Table(
        "digits-ours",
        "Accuracy with so many patches, none twice",
        ("", *(f"{n} patches" for n in _SHOWN_BUDGETS)),
        tuple(rows),
        (
            *_episodes(curves, (name for name in NAMES if name.startswith("ours"))),
            *_training(results.first(OURS, "ours"), "ours"),
            *misses(tuple(is_met), is_met.__getitem__, results.notes),
        ),
    )


def _price_table(by_price) -> Table:
    rows = tuple(
        (
            f"{row['price']:.4f}",
            shown(estimate([row], "accuracy"), 4),
            shown(row["mean_regions"], 2),
        )
        for row in by_price
    )
    caption = "Ours, left to stop by itself at a price of a patch"
    return Table("digits-prices", caption, ("price", "accuracy", "patches"), rows)


def _adaptivity_table(p_values: dict) -> Table:
    rows = tuple(
        (name, str(num_tests(matrix)), str(num_chords(matrix)))
        for name, matrix in p_values.items()
    )
    return Table(
        "digits-adaptivity",
        "Does it look elsewhere when the digit is another?",
        ("", "pairs of digits tested", "not told apart (chi-squared, p > 0.05)"),
        rows,
    )


def _p_values(curves: dict) -> dict:
    """Pairwise tests between digits of what each explorer uncovered."""
    found = {}
    for name in _ADAPTIVE:
        rows = [row for row in curves.get(name, ()) if "selections" in row]
        if rows:
            row = next((r for r in rows if r["budget"] == 12), rows[-1])
            selections = Selections.from_dict(row["selections"])
            found[NAMES[name]] = pairwise_p_values(selections)
    return found


def _figures(results: Results) -> dict[str, Figure]:
    curves = _curves(results)
    if not curves:
        return {}
    by_price = (results.first(OURS, "ours") or {}).get("by_price")
    lines = {"ours-stopping": by_price} if by_price else {}
    lines |= {name: curves[name] for name in NAMES if name in curves}
    figures = named(accuracy_figure(lines, _limit(results)), "digits-accuracy")
    p_values = _p_values(curves)
    if p_values:
        classes = [str(number) for number in range(10)]
        figures["digits-tests"] = heat_map_figure(p_values, classes)
        figures |= named(chord_figure(p_values, classes), "digits-chords")
    return figures
