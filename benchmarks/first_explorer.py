"""Where the time goes from `icpe train` to the file, step by step, in CPU seconds.

    python benchmarks/first_explorer.py docs/data/first-explorer.json

trains each family of a list twice, in processes of their own: with an empty cache of
compiled programs, and again with what that left. CPU time does not depend on what else
the machine does; on two free cores the wall clock shows a little less. `--only NAME`
measures one family anew and keeps the others. With the words of a training after `--`,
that one alone is measured and written.
"""

import argparse
import collections
import contextlib
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FAMILIES = {
    "binary search of 8": ["binary-search", "--family.size", "8"],
    "tests with costs": ["random-tests"],
    "Gaussian bandit of 4": ["gaussian-bandit", "--family.num-arms", "4"],
}
"""One that is exact, one with noise and costs, one with many outcomes."""

STEPS = {
    "icpe.cli.train.build_config": "survey and recipe",
    "icpe.learn.learners.survey": "survey and recipe",
    "icpe.workflow.check_family": "check of the family",
    "icpe.learn.fit._first_state": "first state",
    "icpe.learn.fit.run_chunk": "iterations",
    "icpe.workflow.judge": "judging",
    "icpe.workflow.settle": "settling",
    "icpe.workflow.calibrate": "calibration",
    "icpe.workflow.measure_guard": "guard",
    "icpe.workflow.gain_over_rule": "comparison with a rule",
    "icpe.learn.fit.save_checkpoint": "checkpoints",
}
"""Functions where a step of the way is done, by where they are called."""


class Stopwatch:
    """CPU seconds by step; a step within another one counts as itself alone."""

    def __init__(self):
        self.seconds: dict[str, float] = collections.defaultdict(float)
        self.compiling: dict[str, float] = collections.defaultdict(float)
        self._open = ["everything else"]
        self._since = 0.0  # imports of the interpreter itself included

    def turn(self) -> None:
        """Books the time since the last turn."""
        now = time.process_time()
        self.seconds[self._open[-1]] += now - self._since
        self._since = now

    @contextlib.contextmanager
    def step(self, name: str):
        """Books what happens meanwhile."""
        self.turn()
        self._open.append(name)
        try:
            yield
        finally:
            self.turn()
            self._open.pop()

    def timed(self, name: str, function: Callable) -> Callable:
        """The function, booked."""

        @functools.wraps(function)
        def call(*args, **options):
            with self.step(name):
                return function(*args, **options)

        return call

    def heard(self, event: str, duration_secs: float, **_: Any) -> None:
        """Notes what jax says of a compilation, by the clock."""
        if event.startswith("/jax/core/compile"):
            self.compiling[self._open[-1]] += duration_secs


def measure_here(words: list[str]) -> dict:
    """One training in this process."""
    watch = Stopwatch()
    with watch.step("imports"):
        import jax.monitoring

        import icpe.cli.card
        import icpe.cli.main
        import icpe.cli.train
        import icpe.workflow

        for place in STEPS:
            importlib.import_module(place.rpartition(".")[0])
    jax.monitoring.register_event_duration_secs_listener(watch.heard)
    for place, name in STEPS.items():
        module, _, function = place.rpartition(".")
        found = importlib.import_module(module)
        setattr(found, function, watch.timed(name, getattr(found, function)))
    began = time.perf_counter()
    status = icpe.cli.main.main(["train", *words])
    watch.turn()
    rounded = {name: round(value, 2) for name, value in watch.seconds.items()}
    return {
        "status": status,
        "cpu_seconds": round(time.process_time(), 1),
        "wall_seconds": round(time.perf_counter() - began, 1),
        "steps": rounded,
        "compiling": {name: round(value, 2) for name, value in watch.compiling.items()},
    }


def measure(words: list[str], cache: str) -> dict:
    """One training in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        out = ["--out", str(Path(folder) / "made.safetensors")]
        command = [sys.executable, __file__, str(record), "--", *words, *out]
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        return json.loads(record.read_text())


def main() -> None:
    """Measures all families, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args = parser.parse_args(sys.argv[1:split])
    if words := sys.argv[split + 1 :]:
        args.out.write_text(json.dumps(measure_here(words)))
        return
    import jax

    found = {
        "cores": len(os.sched_getaffinity(0)),
        "jax": jax.__version__,
        "families": {},
    }
    if args.only and args.out.exists():
        found["families"] = json.loads(args.out.read_text())["families"]
    for name, words in FAMILIES.items():
        if args.only in name:
            with tempfile.TemporaryDirectory() as cache:
                empty, warm = measure(words, cache), measure(words, cache)
            command = " ".join(["icpe train", *words])
            record = {"command": command, "empty": empty, "warm": warm}
            found["families"][name] = record
    args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
