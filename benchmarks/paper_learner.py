"""The paper's learner on the Gaussian bandit: accuracy, queries and dual variable.

Trains one model for one error probability, evaluates it on fresh episodes, and writes
into a folder: the artifact, a JSON file with the evaluation, and in it the history of
the dual variable, from which `benchmarks/dual_figure.py` draws the figure of
docs/learner.md.

    python benchmarks/paper_learner.py OUT [--arms 4] [--horizon 64] [--seconds 270]
                                          [--set learning_rate=1e-3 ..]
"""

import argparse
import dataclasses
import json
from pathlib import Path

from icpe.artifact import Artifact, provenance
from icpe.cli.terminal import progress_meter
from icpe.core.files import replacing
from icpe.evaluate import evaluate
from icpe.families import GaussianBandit
from icpe.learn.fit import FitOptions, fit
from icpe.learn.paper.presets import paper_preset

_TINY = {
    "num_iterations": 4,
    "batch_size": 8,
    "minibatch_size": 8,
    "updates_per_iteration": 2,
    "replay_size": 32,
    "width": 8,
    "num_layers": 1,
    "num_heads": 1,
    "log_every": 2,
}


def main(arguments: argparse.Namespace) -> None:
    """Trains, evaluates, writes."""
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    name = f"paper-gaussian-{arguments.arms}"
    family = GaussianBandit(num_arms=arguments.arms, horizon=arguments.horizon)
    changes = dict(_TINY) if arguments.tiny else {}
    for setting in arguments.set:
        field, _, value = setting.partition("=")
        changes[field] = json.loads(value)
    config = dataclasses.replace(
        paper_preset(arguments.preset, family),
        error_prob=arguments.error_prob,
        **changes,
    )
    metrics = out / f"{name}.metrics.jsonl"
    options = FitOptions(time_limit=arguments.seconds, metrics=metrics)
    result = fit(family, config, options, progress=progress_meter())
    artifact = Artifact(
        nets=result.nets,
        family=family,
        training=dataclasses.asdict(config),
        provenance=provenance(iterations=result.iterations, seconds=result.seconds),
    )
    (report,) = evaluate(
        {"paper": artifact},
        family,
        error_prob=arguments.error_prob,
        episodes=arguments.episodes,
        seed=1,
    )
    dataclasses.replace(artifact, evaluation=report.to_dict()).save(
        out / f"{name}.safetensors"
    )
    history = [json.loads(line) for line in metrics.read_text().splitlines()]
    record = {
        "evaluation": report.to_dict(),
        "training": dataclasses.asdict(config),
        "stopped": result.stopped,
        **provenance(iterations=result.iterations, seconds=round(result.seconds, 1)),
        "history": {
            field: [round(line[field], 6) for line in history]
            for field in ("iteration", "cost", "accuracy", "mean_queries")
        },
    }
    with replacing(out / f"{name}.json") as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n")
    print(f"accuracy {report.accuracy:.4f}, {report.mean_queries:.3f} queries", end="")
    print(f", {result.iterations} iterations in {result.seconds:.0f} s")


def parse() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path, help="folder for the results")
    parser.add_argument("--arms", type=int, default=4)
    parser.add_argument("--horizon", type=int, default=64)
    parser.add_argument("--error-prob", type=float, default=0.1)
    parser.add_argument("--episodes", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=270.0, help="time limit")
    parser.add_argument("--preset", choices=("cpu", "gpu"), default="gpu")
    parser.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--tiny", action="store_true", help="a trial of seconds")
    return parser.parse_args()


if __name__ == "__main__":
    main(parse())
