"""Pixel sampling on MNIST, part by part: train on one GPU, measure on test images.

    ICPE_DATA=DATA python benchmarks/digits.py FOLDER --parts classifier values bandit

trains what answers by a frozen classifier; `--parts ours` trains the universal
learner; `--parts evaluate-paper evaluate-ours` measures both. Every part reads what
earlier ones left in FOLDER and adds to FOLDER/results.json. `--size tiny` runs all of
it on drawn digits, to see that it works.
"""

import argparse
import dataclasses
import time
from pathlib import Path

from icpe.progress import AbstractProgress
from icpe.studies import digits, digits_scores

TRAINING = {
    "classifier": digits.train_classifier,
    "values": digits.train_values,
    "bandit": digits.train_bandit,
    "ours": digits.train_ours,
}
MEASURING = {
    "evaluate-paper": digits_scores.evaluate_paper,
    "evaluate-ours": digits_scores.evaluate_ours,
}
SECONDS = {"classifier": 90.0, "values": 420.0, "bandit": 120.0, "ours": 540.0}


class Lines(AbstractProgress):
    """Prints a line every few seconds."""

    def start(self, label: str, total: int) -> None:
        """Begins to count."""
        self._label, self._total, self._done = label, total, 0
        self._start = self._last = time.monotonic()
        self._note = ""

    def advance(self, amount: int) -> None:
        """Counts, and prints if the last line is old."""
        self._done += amount
        now = time.monotonic()
        if now - self._last > 15:
            self._last = now
            seconds = now - self._start
            far = f"{self._done}/{self._total}"
            print(f"{self._label} {far} {seconds:.0f} s {self._note}", flush=True)

    def note(self, text: str) -> None:
        """Remembers what to print."""
        self._note = text

    def finish(self) -> None:
        """Prints nothing more."""


def main() -> None:
    """Runs the parts in their order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    names = [*TRAINING, *MEASURING]
    parser.add_argument("--parts", nargs="+", choices=names, default=names)
    parser.add_argument("--size", choices=["full", "tiny"], default="full")
    parser.add_argument("--time-limit", type=float, help="seconds of each training")
    parser.add_argument("--episodes", type=int, help="test episodes of each row")
    parser.add_argument("--seed", type=int, default=0, help="seed of trainings")
    args = parser.parse_args()
    setup = _setup(args)
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name not in args.parts:
            continue
        start = time.monotonic()
        if name in TRAINING:
            limit = args.time_limit or SECONDS[name]
            facts = TRAINING[name](
                setup, args.folder, time_limit=limit, progress=Lines()
            )
        else:
            facts = MEASURING[name](setup, args.folder)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
        _show(facts)


def _setup(args) -> digits.DigitsSetup:
    setup = digits.FULL if args.size == "full" else digits.TINY
    configs = {
        name: dataclasses.replace(getattr(setup, name), seed=args.seed)
        for name in TRAINING
    }
    return dataclasses.replace(
        setup, **configs, episodes=args.episodes or setup.episodes
    )


def _show(facts: dict) -> None:
    for name in ("updates", "iterations", "seconds", "accuracy", "margin", "order"):
        if name in facts:
            print(f"  {name} {facts[name]}")
    if "losses" in facts:
        print("  losses", facts["losses"][:: max(1, len(facts["losses"]) // 8)])
    for name, rows in facts.get("curves", {}).items():
        points = (f"{row['accuracy']:.4f}@{row['mean_regions']:.2f}" for row in rows)
        print(f"  {name}: {' '.join(points)}")
    for row in facts.get("by_price", ()):
        regions = row["mean_regions"]
        print(f"  price {row['price']:.4f}: {row['accuracy']:.4f} at {regions:.2f}")


if __name__ == "__main__":
    main()
