"""How exactly and how fast exported explorers do what the originals do.

    python benchmarks/exported.py [--episodes N] [NAME ..]
    python benchmarks/exported.py --time [NAME ..]
    python benchmarks/exported.py --page

The first plays episodes of every explorer of the zoo at its certified error
probability, tells the same outcomes to the original, one at a time as a session does,
and to its exported twin, and writes docs/data/export.json. It keeps the models and what
they were told in `build/exported`. The second tells it to them again and adds how long
that takes, in a minute and without JAX: for a quiet machine. The third writes the table
of `docs/export.md`.
"""

import argparse
import hashlib
import json
import platform
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from icpe import portable

if TYPE_CHECKING:
    from icpe.artifact.player import Player
    from icpe.play.live import LiveEpisode, Turn

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "export.md"
DATA = ROOT / "docs" / "data" / "export.json"
KEPT = ROOT / "build" / "exported"
_SEED = 20
_TIMED = 200
"""Episodes that are kept to be timed."""


def measure(name: str, episodes: int) -> dict[str, Any]:
    """One explorer: agreement with the original, and size."""
    import jax.random as jr

    from icpe import zoo
    from icpe.export import export_onnx
    from icpe.play.live import LiveEpisode

    artifact = zoo.load(name)
    error_prob = min(it["error_prob"] for it in artifact.certificates)
    player = artifact.serve(error_prob=error_prob)
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{name}.onnx"
    export_onnx(artifact, path)
    model = portable.Model(path)
    point, spec = player.operating_point, artifact.family.spec
    live = LiveEpisode(player.explorer, point, jr.key(_SEED), spec)
    played = list(_played(player, artifact.family, episodes))
    found = []
    for episode in played:
        twin = portable.Session(
            model, error_prob=error_prob, first_outcome=episode.outcomes[0]
        )
        found.append(replay(episode, twin, live))
    keep(played[:_TIMED], KEPT / f"{name}.npz")
    return {
        "name": name,
        "error_prob": error_prob,
        "episodes": len(played),
        "same": sum(apart is not None for apart in found),
        "queries": sum(len(episode.queries) for episode in played),
        "posterior_apart": max(apart or 0.0 for apart in found),
        "compared": "at every step",
        "bytes": path.stat().st_size,
        "model": _hash(path),
    }


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _played(player: "Player", family: Any, episodes: int) -> "Iterator[Episode]":
    """Episodes of the original, played in batches."""
    import jax
    import jax.random as jr

    from icpe.play.rollout import rollout_chunks

    point = player.operating_point
    key = jr.key(_SEED)
    for chunk in rollout_chunks(player.explorer, family, point, episodes, key=key):
        history, ending = jax.device_get((chunk.history, chunk.ending))
        for number in range(len(ending.num_queries)):
            length = int(ending.num_queries[number])
            yield Episode(
                np.asarray(history.queries)[number, :length].tolist(),
                np.asarray(history.outcomes)[number, : length + 1],
                portable.StopReason(int(ending.stop_reason[number])),
                int(ending.recommendation[number]),
            )


class Episode(NamedTuple):
    """One episode as the original played it."""

    queries: list[int]
    outcomes: np.ndarray
    reason: portable.StopReason
    answer: int


def keep(episodes: "Iterable[Episode]", path: Path) -> None:
    """Writes what was told in episodes."""
    arrays = {}
    for number, episode in enumerate(episodes):
        arrays[f"queries_{number}"] = np.array(episode.queries, np.int32)
        arrays[f"outcomes_{number}"] = episode.outcomes
    np.savez(path, **arrays)


def timed(name: str, error_prob: float) -> dict[str, Any]:
    """Milliseconds of each `tell`: by the clock, and of the processor."""
    model = portable.Model(KEPT / f"{name}.onnx")
    told = np.load(KEPT / f"{name}.npz")
    walls, processor = [], []
    for number in range(len(told.files) // 2):
        outcomes = told[f"outcomes_{number}"]
        session = portable.Session(
            model, error_prob=error_prob, first_outcome=outcomes[0]
        )
        for query, outcome in zip(
            told[f"queries_{number}"].tolist(), outcomes[1:], strict=True
        ):
            if session.stopped:
                break
            wall, own = time.perf_counter(), time.process_time()
            session.tell(query, outcome)
            processor.append(time.process_time() - own)
            walls.append(time.perf_counter() - wall)
    return {
        "model": _hash(KEPT / f"{name}.onnx"),
        "milliseconds_median": 1e3 * float(np.median(walls)),
        "milliseconds_processor": 1e3 * float(np.mean(processor)),
    }


def replay(
    episode: Episode, twin: portable.Session, live: "LiveEpisode"
) -> float | None:
    """How far posteriors are ever apart; None if any query, stop or answer is.

    `live` is the original as sessions run it, one outcome at a time.
    """
    every = np.ones(twin.spec.num_queries, bool)
    turn = live.begin(episode.outcomes[0], every)
    apart = _apart(twin, turn)
    for step, query in enumerate(episode.queries):
        if twin.ask() != query:
            return None
        last = step == len(episode.queries) - 1
        ended = last and episode.reason is portable.StopReason.TERMINATED
        outcome = episode.outcomes[step + 1]
        twin.tell(query, outcome, terminated=ended)
        turn = live.advance(turn, query, outcome, every)
        apart = max(apart, _apart(twin, turn))
    found = (twin.stop_reason, twin.recommendation)
    return apart if found == (episode.reason, episode.answer) else None


def _apart(twin: portable.Session, turn: "Turn") -> float:
    assert turn.posterior is not None
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
            f"{_shown(row, 'milliseconds_median')} | "
            f"{_shown(row, 'milliseconds_processor')} |"
        )
    return "\n".join(lines)


def _shown(row: dict[str, Any], name: str) -> str:
    return f"{row[name]:.2f}" if name in row else "not timed"


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
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--time", action="store_true")
    args = parser.parse_args()
    if args.page:
        PAGE.write_text(with_table(PAGE.read_text(), json.loads(DATA.read_text())))
    elif args.time:
        for row in json.loads(DATA.read_text())["explorers"]:
            if not args.names or row["name"] in args.names:
                known = {name: row[name] for name in ("name", "error_prob")}
                record(known | timed(row["name"], row["error_prob"]))
    else:
        from icpe import zoo

        for name in args.names or zoo.names():
            record(measure(name, args.episodes))


def record(row: dict[str, Any]) -> None:
    """Puts one explorer into the data, in place of what was known of other models."""
    import onnxruntime

    print(row, flush=True)
    rows = {it["name"]: it for it in json.loads(DATA.read_text())["explorers"]}
    before = rows.get(row["name"], {})
    is_same = before.get("model") == row["model"]
    rows[row["name"]] = before | row if is_same else row
    found = {
        "machine": platform.processor() or platform.machine(),
        "onnxruntime": onnxruntime.__version__,
        "explorers": [rows[it] for it in sorted(rows)],
    }
    DATA.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
