"""How exactly and how fast exported explorers do what the originals do.

    nice python benchmarks/exported.py [--episodes N] [NAME ..]

plays episodes of every explorer of the zoo at its certified error probability, tells
the same outcomes to its exported twin, and writes docs/data/export.json, from which
`docs/export.md` takes its table (`--page` puts it there).
"""

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import jax.random as jr
import numpy as np

from icpe import portable, zoo
from icpe.core.episode import StopReason
from icpe.core.files import replacing
from icpe.export import export_onnx
from icpe.play.rollout import Transcript, rollout_chunks

PAGE = Path(__file__).parent.parent / "docs" / "export.md"
DATA = Path(__file__).parent.parent / "docs" / "data" / "export.json"
_SEED = 20


def measure(name: str, episodes: int) -> dict[str, Any]:
    """One explorer: agreement with the original, size and speed."""
    artifact = zoo.load(name)
    error_prob = min(it["error_prob"] for it in artifact.certificates)
    player = artifact.serve(error_prob=error_prob)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.onnx"
        export_onnx(artifact, path)
        size = path.stat().st_size
        model = portable.Model(path)
    chunks = rollout_chunks(
        player.explorer,
        artifact.family,
        player.operating_point,
        episodes,
        key=jr.key(_SEED),
        keep_posterior=True,
    )
    same = steps = 0
    worst, walls, processor = 0.0, [], 0.0
    for chunk in chunks:
        chunk = jax.device_get(chunk)
        for episode in range(len(chunk.ending.num_queries)):
            begun = time.thread_time()
            found = replay(model, chunk, episode, error_prob)
            processor += time.thread_time() - begun
            same += int(found["same"])
            steps += len(found["walls"])
            walls += found["walls"]
            worst = max(worst, found["apart"]) if found["same"] else worst
    return {
        "name": name,
        "error_prob": error_prob,
        "episodes": episodes,
        "same": same,
        "queries": steps,
        "posterior_apart": worst,
        "bytes": size,
        "milliseconds_median": 1e3 * float(np.median(walls)),
        "milliseconds_processor": 1e3 * processor / (steps + episodes),
    }


def replay(
    model: portable.Model, chunk: Transcript, episode: int, error_prob: float
) -> dict[str, Any]:
    """Tells one episode to the exported explorer, as long as it asks the same."""
    history, ending = chunk.history, chunk.ending
    queries = np.asarray(history.queries)[episode]
    outcomes = np.asarray(history.outcomes)[episode]
    length = int(ending.num_queries[episode])
    reason = StopReason(int(ending.stop_reason[episode]))
    session = portable.Session(model, error_prob=error_prob, first_outcome=outcomes[0])
    walls: list[float] = []
    for step in range(length):
        if session.ask() != queries[step]:
            return {"same": False, "walls": walls, "apart": 0.0}
        ended = reason is StopReason.TERMINATED and step == length - 1
        begun = time.perf_counter()
        session.tell(int(queries[step]), outcomes[step + 1], terminated=ended)
        walls.append(time.perf_counter() - begun)
    assert ending.log_posterior is not None
    apart = np.abs(session.posterior - np.exp(ending.log_posterior[episode])).max()
    return {
        "same": session.stop_reason is reason
        and session.recommendation == ending.recommendation[episode],
        "walls": walls,
        "apart": float(apart),
    }


def table(data: dict[str, Any]) -> str:
    """The rows of the page, in Markdown."""
    lines = [
        "| explorer | episodes | queries | same | size, MB | posterior apart | "
        "ms a step | processor ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in data["explorers"]:
        lines.append(
            f"| `{row['name']}` | {row['episodes']} | {row['queries']} | "
            f"{row['same'] / row['episodes']:.1%} | {row['bytes'] / 1e6:.1f} | "
            f"{row['posterior_apart']:.1e} | {row['milliseconds_median']:.2f} | "
            f"{row['milliseconds_processor']:.2f} |"
        )
    return "\n".join(lines)


def with_table(page: str, data: dict[str, Any]) -> str:
    """The page with the table of what was measured."""
    start, end = "<!-- export-table -->\n", "<!-- end of export-table -->"
    before, rest = page.split(start)
    return f"{before}{start}{table(data)}\n{end}{rest.split(end)[1]}"


def main() -> None:
    """Measures, and writes what was found after each explorer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--page", action="store_true")
    args = parser.parse_args()
    if args.page:
        text = with_table(PAGE.read_text(), json.loads(args.out.read_text()))
        PAGE.write_text(text)
        return
    rows = {}
    if args.out.is_file():
        rows = {it["name"]: it for it in json.loads(args.out.read_text())["explorers"]}
    import onnxruntime

    for name in args.names or zoo.names():
        rows[name] = measure(name, args.episodes)
        print(rows[name], flush=True)
        found = {
            "machine": platform.processor() or platform.machine(),
            "onnxruntime": onnxruntime.__version__,
            "explorers": [rows[it] for it in sorted(rows)],
        }
        with replacing(args.out) as temporary:
            temporary.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
