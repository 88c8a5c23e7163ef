"""Figures and tables of the study of digits, from its results and its explorer.

    python benchmarks/digits_figures.py docs/data/digits.json digits.safetensors docs

writes DOCS/figures/digits-*.{svg,png,gif} and the section of DOCS/results.md between
the marks `<!-- digits -->` and `<!-- end of digits -->`.
"""

import argparse
import json
from pathlib import Path

from icpe.artifact import Artifact
from icpe.cli.episode import SimulatedWorld, episode_key, run_episode
from icpe.evaluate.adaptivity import Selections, pairwise_p_values
from icpe.evaluate.adaptivity_plots import (
    chord_figure,
    heat_map_figure,
    num_chords,
    num_tests,
    region_curves_figure,
)
from icpe.evaluate.frames import (
    Frame,
    PictureEpisode,
    save_animation,
    strip_figure,
)
from icpe.evaluate.plots import save_figure
from icpe.files import replacing

OPEN, CLOSE = "<!-- digits -->", "<!-- end of digits -->"
NAMES = {
    "ours": "ours",
    "ours-greedy-entropy": "greedy entropy, our inference net",
    "ours-fixed-order": "best fixed order, our inference net",
    "ours-uniform": "uniform, our inference net",
    "paper": "paper's ICPE",
    "paper-frugal": "paper's ICPE, sparing",
    "fixed-order": "best fixed order, frozen classifier",
    "deep-cmab": "Deep CMAB",
    "uniform": "uniform, frozen classifier",
}
ADAPTIVE = ("ours", "paper", "deep-cmab", "uniform")
PAPER = {"paper": (0.91, 10.09), "deep-cmab": (0.66, 7.90), "uniform": (0.25, 10.42)}
BUDGET = 10


def main() -> None:
    """Draws everything and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("docs", type=Path)
    args = parser.parse_args()
    results = json.loads(args.results.read_text())
    artifact = Artifact.load(args.artifact)
    figures = args.docs / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    curves = {
        name: rows
        for part in ("evaluate-ours", "evaluate-paper")
        for name, rows in results.get(part, {}).get("curves", {}).items()
    }
    limit = results["classifier"]["accuracy"]["test"]
    figure = region_curves_figure(
        {NAMES[name]: curves[name] for name in NAMES if name in curves},
        limit=limit,
        dashed=[NAMES[name] for name in NAMES if not name.startswith("ours")],
    )
    save_figure(figure, figures / "digits-accuracy.svg")
    p_values = _p_values(curves)
    class_names = artifact.family.spec.hypothesis_names
    save_figure(heat_map_figure(p_values, class_names), figures / "digits-tests.svg")
    save_figure(chord_figure(p_values, class_names), figures / "digits-chords.svg")
    for name, episode in _episodes(artifact).items():
        save_figure(strip_figure(episode), figures / f"digits-{name}.png")
        save_animation(episode, figures / f"digits-{name}.gif")
    _write_section(args.docs / "results.md", _section(results, curves, p_values, limit))


def _p_values(curves: dict) -> dict:
    """Pairwise tests of the last row of each explorer that is compared."""
    found = {}
    for name in ADAPTIVE:
        rows = [row for row in curves.get(name, ()) if "selections" in row]
        if rows:
            row = next((r for r in rows if r["budget"] == 12), rows[-1])
            selections = Selections.from_dict(row["selections"])
            found[NAMES[name]] = pairwise_p_values(selections)
    return found


def _episodes(artifact: Artifact) -> dict[str, PictureEpisode]:
    """The first right and the first wrong episode of `icpe evaluate` with seed 0."""
    family = artifact.family
    budget = min(BUDGET, family.spec.horizon)
    point = artifact.operating_point(budget=budget)
    found: dict[str, PictureEpisode] = {}
    for number in range(200):
        world = SimulatedWorld(family, key=episode_key(0, number))
        end = run_episode(
            artifact.explorer,
            family.spec,
            point,
            world,
            key=world.explorer_key,
            on_turn=lambda turn: None,
        )
        name = "right" if end.recommendation == world.truth else "wrong"
        frames = tuple(Frame(t.query, t.outcome, t.belief) for t in end.turns)
        found.setdefault(name, PictureEpisode(family.spec, frames, world.truth))
        if len(found) == 2:
            break
    return found


def _section(results: dict, curves: dict, p_values: dict, limit: float) -> str:
    seconds = {name: results[name]["seconds"] for name in _TRAINED if name in results}
    device = results["classifier"]["device"]
    lines = [
        "## Pixel sampling on MNIST",
        "",
        "Test images, each distorted anew; every row is "
        f"{_episodes_in(curves)} episodes. On the fully revealed image the frozen "
        f"classifier is right in {limit:.4f} of the cases, which is its limit. Trained "
        f"on one {device}: "
        + ", ".join(f"{_TRAINED[name]} {s:.0f} s" for name, s in seconds.items())
        + ".",
        "",
        "In the paper's setting (12 queries, repeats allowed, answers by a classifier "
        "that was trained on whole images):",
        "",
        "| | accuracy | 95 % | patches | accuracy (paper) | patches (paper) |",
        "|---|---|---|---|---|---|",
    ]
    for name in ("paper", "paper-frugal", "deep-cmab", "fixed-order", "uniform"):
        if name in curves:
            theirs = PAPER.get(name)
            cells = ("", "") if theirs is None else (f"{theirs[0]}", f"{theirs[1]}")
            lines.append(
                f"| {NAMES[name]} | {_cells(curves[name][-1])} | {cells[0]} | "
                f"{cells[1]} |"
            )
    lines += [
        "",
        "With an inference net trained on what is revealed, and no patch twice:",
        "",
        "| | 5 patches | 7 patches | 10 patches | 12 patches |",
        "|---|---|---|---|---|",
    ]
    for name in NAMES:
        if name.startswith("ours") and name in curves:
            by_budget = {row["budget"]: row["accuracy"] for row in curves[name]}
            cells = [
                f"{by_budget[n]:.4f}" if n in by_budget else "" for n in (5, 7, 10, 12)
            ]
            lines.append(f"| {NAMES[name]} | {' | '.join(cells)} |")
    lines += [
        "",
        "Left to stop by itself, at a price per patch:",
        "",
        "| price | accuracy | 95 % | patches |",
        "|---|---|---|---|",
        *(
            f"| {row['price']:.4f} | {_cells(row)} |"
            for row in results.get("evaluate-ours", {}).get("by_price", ())
        ),
        "",
        "![accuracy against patches](figures/digits-accuracy.svg)",
        "",
        "Does it look elsewhere when the digit is another? Pairs of digits whose "
        "patches are not told apart (chi-squared, p > 0.05): "
        + ", ".join(
            f"{name} {num_chords(p)} of {num_tests(p)}" for name, p in p_values.items()
        )
        + ".",
        "",
        "![pairwise tests](figures/digits-tests.svg)",
        "![chords](figures/digits-chords.svg)",
        "",
        "Two episodes of ours with ten patches, one right and one wrong:",
        "",
        "![a right episode](figures/digits-right.png)",
        "![a wrong episode](figures/digits-wrong.png)",
    ]
    return "\n".join(lines)


_TRAINED = {
    "classifier": "the classifier",
    "values": "the paper's explorer",
    "bandit": "Deep CMAB",
    "ours": "ours",
}


def _episodes_in(curves: dict) -> str:
    numbers = sorted({row["episodes"] for rows in curves.values() for row in rows})
    return " or ".join(f"{number:,}" for number in numbers)


def _cells(row: dict) -> str:
    low, high = row["accuracy_interval"]
    return f"{row['accuracy']:.4f} | {low:.3f}-{high:.3f} | {row['mean_regions']:.2f}"


def _write_section(path: Path, section: str) -> None:
    text = path.read_text() if path.exists() else f"# Results\n\n{OPEN}\n{CLOSE}\n"
    if OPEN not in text:
        text = f"{text.rstrip()}\n\n{OPEN}\n{CLOSE}\n"
    before, rest = text.split(OPEN, 1)
    _, after = rest.split(CLOSE, 1)
    with replacing(path) as temporary:
        temporary.write_text(f"{before}{OPEN}\n{section}\n{CLOSE}{after}")


if __name__ == "__main__":
    main()
