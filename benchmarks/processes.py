"""What an iteration costs on 1, 2 and 4 processes of this machine, in CPU seconds.

    python benchmarks/processes.py OUT.json

A training of a Gaussian bandit of four arms runs on each number of processes, with two
sizes of batches. CPU time of a process depends little on what else the machine does; it
is the median over chunks, the first of which compiles and is left out. Beside it stands
what the cost model of docs/scale.md says,

    episodes * batch / processes + own + messages (if there are several processes),

whose three numbers, none of them negative, are fitted to 1 and 2 processes, so that 4
processes check it.
`python benchmarks/performance_tables.py` writes the table.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NUMBERS = (1, 2, 4)
BATCHES = (64, 256)
CHUNK, CHUNKS = 5, 10
HORIZON, UPDATES = 16, 2


def config_of(batch: int) -> dict[str, Any]:
    """Of a small training that is all play and updates."""
    return {
        "num_iterations": CHUNK * CHUNKS,
        "batch_size": batch,
        "minibatch_size": batch,
        "updates_per_iteration": UPDATES,
        "replay_size": 8 * batch,
        "warmup_iterations": 1,
        "predictions": "none",
        "width": 32,
        "num_layers": 1,
        "num_heads": 2,
        "log_every": CHUNK,
    }


def train(out: Path, batch: int, number: int, process: int, port: int) -> None:
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

        def mark(*_):
            marks.append(time.process_time())

        result = fit(family, TrainConfig(**config_of(batch)), judge=mark)
        chunks = [1e3 * (b - a) for a, b in itertools.pairwise(marks)]
        nets = result.nets.trainable()  # pyright: ignore[reportAttributeAccessIssue]
        leaves = jax.tree.leaves(eqx.filter(nets, eqx.is_inexact_array))
        each = jax.tree.leaves(Experience.like(family.spec))
        record = {
            "cpu_ms": statistics.median(chunks) / CHUNK,
            "parameters": sum(leaf.size for leaf in leaves),
            "bytes_per_episode": sum(leaf.size * leaf.dtype.itemsize for leaf in each),
        }
        out.with_suffix(f".{process}").write_text(json.dumps(record))


def measure(batch: int, number: int) -> dict[str, Any]:
    """A training on so many processes; CPU time is the mean of theirs."""
    from support.ports import free_port

    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "record"
        words = [sys.executable, __file__, str(out), str(batch), str(number)]
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
    mean = statistics.fmean(each["cpu_ms"] for each in found)
    return {**found[0], "batch": batch, "processes": number, "cpu_ms": round(mean, 2)}


def parts_of(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The three numbers of the model, in milliseconds, from 1 and 2 processes."""
    import numpy as np
    from scipy.optimize import nnls

    some = [row for row in rows if row["processes"] <= 2]
    weights = np.array([1 / row["cpu_ms"] for row in some])  # errors are relative
    terms = np.array([_terms(row) for row in some])
    found, _ = nnls(terms * weights[:, None], np.ones(len(some)))
    names = ("an_episode", "own", "messages")
    return dict(zip(names, map(float, found), strict=True))


def _terms(row: dict[str, Any]) -> tuple[float, ...]:
    number = row["processes"]
    return row["batch"] / number, 1.0, float(number > 1)


def main(out: Path) -> None:
    """Measures all, and says what the model makes of it."""
    import jax

    rows = [measure(batch, number) for batch in BATCHES for number in NUMBERS]
    parts = parts_of(rows)
    for row in rows:
        terms = zip(_terms(row), parts.values(), strict=True)
        row["model_ms"] = round(sum(term * part for term, part in terms), 2)
    found = {
        "cores": os.cpu_count(),
        "jax": jax.__version__,
        "horizon": HORIZON,
        "updates": UPDATES,
        "parts_ms": parts,
        "rows": rows,
    }
    out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        train(Path(sys.argv[1]), *map(int, sys.argv[2:]))
    else:
        main(Path(sys.argv[1]))
