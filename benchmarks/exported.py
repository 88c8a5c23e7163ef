"""How exactly and how fast exported explorers do what the originals do.

    nice python benchmarks/exported.py [--episodes N] [NAME ..]

plays episodes of every explorer of the zoo at its certified error probability, tells
the same outcomes to the original, one at a time as a session does, and to its exported
twin, and writes docs/data/export.json, from which `docs/export.md` takes its table
(`--page` puts it there). `--time` measures the speed alone, of what has been measured
before, and leaves the rest of the record as it is: for a quiet machine.
"""

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.random as jr
import numpy as np

from icpe import portable, zoo
from icpe.core.episode import StopReason
from icpe.core.files import replacing
from icpe.export import export_onnx
from icpe.play.live import LiveEpisode, Turn
from icpe.play.rollout import Transcript, rollout_chunks

PAGE = Path(__file__).parent.parent / "docs" / "export.md"
DATA = Path(__file__).parent.parent / "docs" / "data" / "export.json"
_SEED = 20


def measure(name: str, episodes: int, only_time: bool = False) -> dict[str, Any]:
    """One explorer: agreement with the original, size and speed; or speed alone."""
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
    )
    point, spec = player.operating_point, artifact.family.spec
    live = LiveEpisode(player.explorer, point, jr.key(_SEED), spec)
    same = steps = 0
    worst, spent = 0.0, Spent([], [])
    for chunk in chunks:
        chunk = jax.device_get(chunk)
        for number in range(len(chunk.ending.num_queries)):
            episode = Episode.of(chunk, number)
            twin = portable.Session(
                model, error_prob=error_prob, first_outcome=episode.outcomes[0]
            )
            apart = replay(episode, twin, None if only_time else live, spent)
            same += int(apart is not None)
            steps += len(episode.queries)
            worst = max(worst, apart or 0.0)
    found = {
        "milliseconds_median": 1e3 * float(np.median(spent.walls)),
        "milliseconds_processor": 1e3 * float(np.mean(spent.processor)),
    }
    if only_time:
        return found
    return {
        "name": name,
        "error_prob": error_prob,
        "episodes": episodes,
        "same": same,
        "queries": steps,
        "posterior_apart": worst,
        "compared": "at every step",
        "bytes": size,
        **found,
    }


class Episode(NamedTuple):
    """One episode as the original played it."""

    queries: list[int]
    outcomes: np.ndarray
    reason: StopReason
    answer: int

    @staticmethod
    def of(chunk: Transcript, number: int) -> "Episode":
        """One of a batch."""
        history, ending = chunk.history, chunk.ending
        length = int(ending.num_queries[number])
        return Episode(
            np.asarray(history.queries)[number, :length].tolist(),
            np.asarray(history.outcomes)[number, : length + 1],
            StopReason(int(ending.stop_reason[number])),
            int(ending.recommendation[number]),
        )


class Spent(NamedTuple):
    """Seconds of each `tell`: by the clock, and of the processor."""

    walls: list[float]
    processor: list[float]


def replay(
    episode: Episode,
    twin: portable.Session,
    live: LiveEpisode | None,
    spent: Spent,
) -> float | None:
    """How far posteriors are ever apart; None if any query, stop or answer is.

    `live` is the original as sessions run it, one outcome at a time.
    """
    every = np.ones(twin.spec.num_queries, bool)
    turn = None if live is None else live.begin(episode.outcomes[0], every)
    apart = _apart(twin, turn)
    for step, query in enumerate(episode.queries):
        if twin.ask() != query:
            return None
        last = step == len(episode.queries) - 1
        ended = last and episode.reason is StopReason.TERMINATED
        outcome = episode.outcomes[step + 1]
        walls, processor = time.perf_counter(), time.thread_time()
        twin.tell(query, outcome, terminated=ended)
        spent.processor.append(time.thread_time() - processor)
        spent.walls.append(time.perf_counter() - walls)
        if live is not None and turn is not None:
            turn = live.advance(turn, query, outcome, every)
        apart = max(apart, _apart(twin, turn))
    found = (twin.stop_reason, twin.recommendation)
    return apart if found == (episode.reason, episode.answer) else None


def _apart(twin: portable.Session, turn: Turn | None) -> float:
    if turn is None or turn.posterior is None:
        return 0.0
    return float(np.abs(twin.posterior - np.asarray(turn.posterior)).max())


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
            f"{row['posterior_apart']:.1e} {row.get('compared', 'at the end')} | "
            f"{row['milliseconds_median']:.2f} | "
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
    parser.add_argument("--time", action="store_true")
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
        before = rows[name] if args.time else {}
        rows[name] = before | measure(name, args.episodes, args.time)
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
