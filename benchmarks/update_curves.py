"""Learning curves of several versions of the learner, laid over each other.

    python benchmarks/update_curves.py OUT.json now=src before=OTHER/src
    python benchmarks/update_curves.py OUT.json --figure docs/figures/update-curves.svg

Each version trains a Gaussian bandit of ten arms with three seeds, with small networks
in bfloat16 where the machine has it, all side by side, and keeps what every twentieth
iteration reports. `--figure` draws what an earlier run has written.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SEEDS = (0, 1, 2)
EVERY = 20
_COLORS = ("C0", "C1", "C2", "C3")


def main(arguments: argparse.Namespace) -> None:
    """Starts a process for every version and seed, and writes their curves."""
    with tempfile.TemporaryDirectory() as folder:
        started = []
        for version in arguments.versions:
            name, _, source = version.partition("=")
            for seed in SEEDS:
                out = Path(folder) / f"{name}-{seed}"
                words = [str(out), source, "--here", str(seed)]
                words += ["--tiny"] * arguments.tiny
                environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
                command = [sys.executable, __file__, *words]
                process = subprocess.Popen(command, env=environment)
                started.append((name, seed, out, process))
        curves: dict = {}
        for name, seed, out, process in started:
            if process.wait():
                raise SystemExit(f"{name} could not be trained with seed {seed}.")
            curves.setdefault(name, {})[seed] = json.loads(out.read_text())
    arguments.out.write_text(json.dumps(curves, indent=1) + "\n")


def train(arguments: argparse.Namespace) -> None:
    """One version with one seed, in this process."""
    sys.path.insert(0, arguments.versions[0])
    import jax

    from icpe.families import GaussianBandit
    from icpe.learn.config import TrainConfig
    from icpe.learn.fit import FitOptions, fit

    config = TrainConfig(
        num_iterations=40 if arguments.tiny else 400,
        batch_size=8 if arguments.tiny else 512,
        minibatch_size=8 if arguments.tiny else 512,
        updates_per_iteration=2,
        replay_size=32 if arguments.tiny else 4096,
        warmup_iterations=10 if arguments.tiny else 40,
        learning_rate=1e-3,
        width=64,
        num_layers=2,
        bfloat16=jax.default_backend() != "cpu",
        log_every=EVERY,
        seed=arguments.here,
        min_price=0.002,
        max_price=0.1,
    )
    metrics = arguments.out.with_suffix(".jsonl")
    fit(GaussianBandit(num_arms=10, horizon=50), config, FitOptions(metrics=metrics))
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    arguments.out.write_text(json.dumps(rows))


def draw(curves: dict, path: Path) -> None:
    """Losses by iteration, a color for each version."""
    import matplotlib.pyplot as plt

    shown = {"inference_loss": "loss of the belief", "query_loss": "loss of the values"}
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for axis, (key, words) in zip(axes, shown.items(), strict=True):
        for color, (name, seeds) in zip(_COLORS, curves.items(), strict=False):
            for number, rows in enumerate(seeds.values()):
                x = [row["iteration"] for row in rows]
                y = [row[key] for row in rows]
                label = None if number else name
                axis.plot(x, y, color=color, alpha=0.7, label=label)
        axis.set(xlabel="iteration", ylabel=words)
    axes[0].legend(frameon=False)
    figure.savefig(path)


def parse() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("versions", nargs="*", help="NAME=FOLDER of the sources")
    parser.add_argument("--figure", type=Path, help="draw what OUT holds")
    parser.add_argument("--tiny", action="store_true", help="a trial of seconds")
    parser.add_argument("--here", type=int, default=-1, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    asked = parse()
    if asked.figure:
        draw(json.loads(asked.out.read_text()), asked.figure)
    elif asked.here >= 0:
        train(asked)
    else:
        main(asked)
