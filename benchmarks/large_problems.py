"""Large problems, each tried once: memory, time, and how far training got.

    python benchmarks/large_problems.py OUT.json NAME [--seconds 120]

trains with the recipe of this machine, in shorter chunks, until the time is over, and
keeps what every judgment said. The seconds of judgments count from the survey of the
family on, whose own are told apart.
"""

import argparse
import dataclasses
import json
import time
from pathlib import Path

import jax

from icpe.artifact import provenance
from icpe.cli.runtime import keep_compiled_programs
from icpe.families import GaussianBandit
from icpe.families.registry import describe
from icpe.learn.fit import FitOptions, fit
from icpe.learn.recipe import preset
from icpe.learn.survey import machine_here
from icpe.studies.gauntlet import HiddenNumber
from icpe.workflow import Judging

FAMILIES = {
    "number-4096": lambda: HiddenNumber(size=4096),
    "bandit-200": lambda: GaussianBandit(num_arms=10, horizon=200),
    "tiny": lambda: HiddenNumber(size=4, horizon=6),
}


def main(arguments: argparse.Namespace) -> None:
    """Trains, and writes what came of it."""
    keep_compiled_programs()
    family = FAMILIES[arguments.name]()
    began = time.perf_counter()
    config = dataclasses.replace(preset(machine_here(), family), log_every=10)
    surveyed = time.perf_counter() - began
    judging, notes = Judging(family, config, ends_early=False), []

    def judge(at, nets):
        verdict = judging(at, nets)
        if verdict is not None:
            seconds = round(time.perf_counter() - began, 1)
            notes.append((at.done, seconds, verdict.note))
            print(*notes[-1], flush=True)
        return verdict

    result = fit(family, config, FitOptions(time_limit=arguments.seconds), judge=judge)
    memory = jax.devices()[0].memory_stats() or {}
    record = {
        "family": describe(family),
        "survey_seconds": round(surveyed, 1),
        "seconds": round(result.seconds, 1),
        "iterations": result.iterations,
        "of": config.num_iterations,
        "batch_size": config.batch_size,
        "judgments": notes,
        "peak_bytes": memory.get("peak_bytes_in_use"),
        "device": jax.devices()[0].device_kind,
        **provenance(),
    }
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record), flush=True)


def parse() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("name", choices=tuple(FAMILIES))
    parser.add_argument("--seconds", type=float, default=120.0)
    return parser.parse_args()


if __name__ == "__main__":
    main(parse())
