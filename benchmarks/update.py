"""One update of the learner by the clock, of several versions in one run.

    python benchmarks/update.py OUT.json now=src before=OTHER/src

The workload is that of `icpe bench`: 2048 episodes of 100 steps, ten arms. Every
version runs in a process of its own. All compile side by side; then each is timed
alone, in the compiled loop of a training. `--profile` prints the kernels that take
longest.
"""

import argparse
import collections
import fcntl
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHUNKS = 4
_IN_LOOPS = 30
"""Kernels that run as often in an update belong to the steps of its episodes."""


def main(arguments: argparse.Namespace) -> None:
    """Starts a process for every version, and writes what they found."""
    with tempfile.TemporaryDirectory() as folder:
        turns = Path(folder)
        started = []
        for version in arguments.versions:
            name, _, source = version.partition("=")
            words = [str(turns / name), source, "--here", str(len(arguments.versions))]
            words += ["--profile"] * arguments.profile + ["--tiny"] * arguments.tiny
            environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
            command = [sys.executable, __file__, *words]
            started.append((name, subprocess.Popen(command, env=environment)))
        for name, process in started:
            if process.wait():
                print(f"{name} could not be timed.", file=sys.stderr)
        made = [name for name, process in started if not process.returncode]
        found = {name: json.loads((turns / name).read_text()) for name in made}
    arguments.out.write_text(json.dumps({"runs": [found]}, indent=1) + "\n")
    print(json.dumps(found))


def measure(arguments: argparse.Namespace) -> None:
    """Times one version, in this process, when all others have compiled."""
    sys.path.insert(0, arguments.versions[0])
    import jax

    repeats = 2 if arguments.tiny else 10
    try:
        chunk, state = prepared(repeats, arguments.tiny)
        state, compiling = chunk(state)
    finally:  # the others wait for it
        arguments.out.with_name(f"{arguments.out.name}.ready").touch()
    while len(list(arguments.out.parent.glob("*.ready"))) < arguments.here:
        time.sleep(0.2)
    with (arguments.out.parent / "turn.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        times = []
        for _ in range(CHUNKS):
            state, seconds = chunk(state)
            times.append(seconds / repeats)
        if arguments.profile:
            with tempfile.TemporaryDirectory() as traces:
                with jax.profiler.trace(traces):
                    chunk(state)
                print(arguments.versions[0])
                _print_kernels(Path(traces), repeats)
    record = {
        "update_ms": round(1e3 * statistics.median(times), 2),
        "compile_seconds": round(compiling, 1),
        "device": jax.devices()[0].device_kind,
        "jax": jax.__version__,
    }
    arguments.out.write_text(json.dumps(record))


def prepared(repeats: int, tiny: bool):
    """What runs so many updates, and the state of the training before them."""
    import jax
    import jax.random as jr

    from icpe.studies import speed

    workload = speed.Workload(2048, steps=100, width=128, layers=3, repeats=repeats)
    if tiny:
        workload = speed.Workload(4, steps=6, width=8, layers=1, repeats=repeats)
    learner = speed._learner(workload)

    def chunk(state):
        began = time.perf_counter()
        state, _ = speed.run_chunk(learner, state, repeats)
        return jax.block_until_ready(state), time.perf_counter() - began

    return chunk, speed.placed(learner, learner.init(key=jr.key(0)))


def _print_kernels(folder: Path, updates: int) -> None:
    seconds, counts = collections.Counter(), collections.Counter()
    for path in folder.rglob("*.trace.json.gz"):
        with gzip.open(path) as file:
            events = json.load(file)["traceEvents"]
        for event in events:
            if event.get("ph") == "X" and "hlo_op" in event.get("args", {}):
                seconds[event["name"]] += event["dur"] / 1e3 / updates
                counts[event["name"]] += 1
    print(
        f"{sum(seconds.values()):8.3f} ms {sum(counts.values()) / updates:8.1f} x all"
    )
    loops = [name for name in counts if counts[name] >= _IN_LOOPS * updates]
    inside = sum(seconds[name] for name in loops)
    times = sum(counts[name] for name in loops) / updates
    print(f"{inside:8.3f} ms {times:8.1f} x in loops over steps")
    for name, total in seconds.most_common(100):
        print(f"{total:8.3f} ms {counts[name] / updates:8.1f} x {name[:100]}")


def parse() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("versions", nargs="+", help="NAME=FOLDER of the sources")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="a trial of seconds")
    parser.add_argument("--here", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    asked = parse()
    if asked.here:
        measure(asked)
    else:
        main(asked)
