"""What an iteration costs on 1, 2 and 4 processes of this machine, in CPU seconds.

    python benchmarks/processes.py OUT.json

A training of a Gaussian bandit of four arms runs on each number of processes. CPU time
of a process, which does not depend on what else the machine does, is counted from the
end of the first chunk on, so that compiling is left out. Beside it stands what a model
with two numbers says, `shared / processes + own`, taken from 1 and 2 processes.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NUMBERS = (1, 2, 4)
CHUNK, CHUNKS = 5, 5
CONFIG: dict[str, Any] = {
    "num_iterations": CHUNK * CHUNKS,
    "batch_size": 512,
    "minibatch_size": 512,
    "updates_per_iteration": 2,
    "replay_size": 4096,
    "warmup_iterations": 1,
    "width": 32,
    "num_layers": 2,
    "num_heads": 2,
    "log_every": CHUNK,
}
HORIZON = 16


def train(out: Path, number: int, process: int, port: int) -> None:
    """One process of a training, which writes what it took."""
    from icpe.core.distributed import Processes, joined

    processes = Processes(f"127.0.0.1:{port}", number, process, timeout=600)
    with joined(processes if number > 1 else None):
        import equinox as eqx
        import jax

        import icpe
        from icpe.learn.config import TrainConfig
        from icpe.learn.fit import fit
        from icpe.learn.replay import Experience

        family = icpe.make("gaussian-bandit", num_arms=4, horizon=HORIZON)
        marks = []

        def judge(*_):
            marks.append((time.process_time(), time.perf_counter()))

        result = fit(family, TrainConfig(**CONFIG), judge=judge)
        first, last = marks[0], marks[-1]
        cpu, wall = last[0] - first[0], last[1] - first[1]
        nets = result.nets.trainable()  # pyright: ignore[reportAttributeAccessIssue]
        leaves = jax.tree.leaves(eqx.filter(nets, eqx.is_inexact_array))
        each = jax.tree.leaves(Experience.like(family.spec))
        record = {
            "cpu_ms": 1e3 * cpu / (CHUNK * (CHUNKS - 1)),
            "wall_ms": 1e3 * wall / (CHUNK * (CHUNKS - 1)),
            "parameters": sum(leaf.size for leaf in leaves),
            "bytes_per_episode": sum(leaf.size * leaf.dtype.itemsize for leaf in each),
        }
        out.with_suffix(f".{process}").write_text(json.dumps(record))


def measure(number: int) -> dict:
    """A training on so many processes."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        out = Path(folder) / "record"
        words = [sys.executable, __file__, str(out), str(number)]
        one_thread = "--xla_cpu_multi_thread_eigen=false"
        environment = {**os.environ, "XLA_FLAGS": one_thread}
        begun = [
            subprocess.Popen([*words, str(process), str(port)], env=environment)
            for process in range(number)
        ]
        if any([process.wait() for process in begun]):
            raise SystemExit(f"A training on {number} processes failed.")
        found = [
            json.loads(out.with_suffix(f".{process}").read_text())
            for process in range(number)
        ]
    mean = sum(each["cpu_ms"] for each in found) / number
    return {**found[0], "cpu_ms": round(mean, 1), "processes": number}


def main(out: Path) -> None:
    """Measures all numbers, and says what the model makes of them."""
    import jax

    rows = [measure(number) for number in NUMBERS]
    one, two = rows[0]["cpu_ms"], rows[1]["cpu_ms"]
    shared = 2 * (one - two)
    for row in rows:
        row["model_ms"] = round(one - shared + shared / row["processes"], 1)
        row["wall_ms"] = round(row["wall_ms"], 1)
    found = {"cores": os.cpu_count(), "jax": jax.__version__, **CONFIG}
    out.write_text(json.dumps({**found, "horizon": HORIZON, "rows": rows}, indent=1))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        train(Path(sys.argv[1]), *map(int, sys.argv[2:]))
    else:
        main(Path(sys.argv[1]))
