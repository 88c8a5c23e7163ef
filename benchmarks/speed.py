"""Both learners on this machine: their speed, and a race to the paper's quality.

The same as `icpe bench --json` and `icpe bench --race --json`, without the command
line. Writes OUT/speed.json and OUT/race.json (speed-cpu.json and race-cpu.json without
an accelerator), or what is asked for; in docs/data,
`benchmarks/performance_tables.py` makes the tables of docs/performance.md from them.

    python benchmarks/speed.py OUT [--parts speed race] [--seconds 200] [--tiny]
"""

import argparse
import dataclasses
import json
from pathlib import Path

import jax

from icpe.artifact import provenance
from icpe.cli.terminal import progress_meter
from icpe.core.files import replacing
from icpe.families import BinarySearch
from icpe.studies.race import GOALS, Goal, race
from icpe.studies.speed import Workload, measure_speed

_TINY = {"num_iterations": 10, "width": 8, "num_layers": 1, "num_heads": 1}


def main(arguments: argparse.Namespace) -> None:
    """Measures and writes, one part after the other."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    if "speed" in arguments.parts:
        name = "speed-cpu.json" if _on_cpu() else "speed.json"
        _write(arguments.out / name, _speed(arguments.tiny))
    if "race" in arguments.parts:
        name = "race-cpu.json" if _on_cpu() else "race.json"
        path, finishes = arguments.out / name, []
        goals = (Goal(BinarySearch(4), 0.9, 3.0),) if arguments.tiny else GOALS
        for goal in goals:
            finishes += race(
                goal,
                machine="cpu" if _on_cpu() else "gpu",
                time_limit=arguments.seconds,
                changes=_TINY if arguments.tiny else None,
                progress=progress_meter(),
            )
            rows = [finish.to_dict() for finish in finishes]
            _write(path, {"finishes": rows, **provenance()})


def _speed(tiny: bool) -> dict:
    episodes = 64 if _on_cpu() else 2048
    workload = Workload(episodes, steps=100, width=128, layers=3, repeats=10)
    if tiny:
        workload = Workload(episodes=4, steps=6, width=8, layers=1, repeats=1)
    speed = measure_speed(workload)
    return {**dataclasses.asdict(workload), **speed.to_dict(), **provenance()}


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"


def _write(path: Path, record: dict) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record), flush=True)


def parse() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path, help="folder for the results")
    parser.add_argument("--parts", nargs="+", default=["speed", "race"])
    parser.add_argument("--seconds", type=float, default=200.0, help="of each racer")
    parser.add_argument("--tiny", action="store_true", help="a trial of seconds")
    return parser.parse_args()


if __name__ == "__main__":
    main(parse())
