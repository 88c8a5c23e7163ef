"""Measures the service under load, and writes docs/data/service.json.

    python benchmarks/service_load.py [--seconds 30] [--out docs/data/service.json]

One command does everything on one machine: it starts `icpe serve` with two workers on
SQLite and lets 200 sessions at once ask and tell, two requests a pair, one connection
each: first 300 pairs per second in all, each at its appointed time, and then as fast as
they can. At last it opens 10,000 sessions with some answers each and measures the
memory of all processes of the service. The load generator runs on the same cores.
`python benchmarks/performance_tables.py` makes the table in docs/performance.md.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from icpe import zoo

MODEL = "gaussian-bandit-4"
TESTS = Path(__file__).parents[1] / "tests"


class Connection:
    """One connection that sends a request and waits for its answer."""

    def __init__(self, port: int):
        self._port = port

    async def open(self) -> None:
        """Connects."""
        self._reader, self._writer = await asyncio.open_connection(
            "127.0.0.1", self._port
        )

    def close(self) -> None:
        """Hangs up."""
        self._writer.close()

    async def call(self, path: str, values: dict) -> tuple[int, dict]:
        """Status and JSON of a POST."""
        body = json.dumps(values).encode()
        self._writer.write(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = await self._reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        text = await self._reader.readexactly(size)
        return int(head[9:12]), json.loads(text)


class Person:
    """One session after the other, each pair of ask and tell being timed.

    Args:
        connection: its own.
        number: seeds the answers, and tells the moments of all people apart.
        start: when the first pair is due.
        every: seconds from one pair to the next; 0 for as soon as possible.
    """

    def __init__(self, connection: Connection, number: int, start: float, every: float):
        self._connection, self._rng = connection, random.Random(number)
        self._start, self._every = start, every
        self.times: list[tuple[float, float, float]] = []
        """When each pair was due, and the seconds until each of its two answers."""

    async def work(self, end: float) -> None:
        """Until a moment."""
        due, view = self._start, await self._begin()
        while time.monotonic() < end:
            if view["stopped"]:
                view = await self._begin()
            if self._every:
                await asyncio.sleep(max(0.0, due - time.monotonic()))
            else:
                due = time.monotonic()
            view = await self._pair(view, due)
            due += self._every

    async def _begin(self) -> dict:
        self._means = [self._rng.uniform(0, 1) for _ in range(4)]
        asked = {"model": MODEL, "error_prob": 0.1}
        status, view = await self._connection.call("/v1/sessions", asked)
        assert status == 201, view
        return view

    async def _pair(self, view: dict, due: float) -> dict:
        """Late requests count from when they were due."""
        path, rng = f"/v1/sessions/{view['id']}", self._rng
        status, view = await self._connection.call(f"{path}/ask", {})
        assert status == 200, view
        between = time.monotonic()
        query = view["open"][0]["query"]
        told = {"query": query, "outcome": rng.gauss(self._means[query], 0.5)}
        told["token"] = str(rng.random())
        status, view = await self._connection.call(f"{path}/tell", told)
        assert status == 200, view
        self.times.append((due, between - due, time.monotonic() - between))
        return view


async def load(
    port: int, service: int, people: int, rate: float, warm_up: float, seconds: float
) -> dict:
    """Pairs per second, quantiles of the latency, and what they cost of a core.

    Args:
        port: of the service.
        service: its process.
        people: how many sessions there are at once.
        rate: pairs per second of all of them; 0 for as many as possible.
        warm_up: seconds that are not counted.
        seconds: that are.
    """
    connections = [Connection(port) for _ in range(people)]
    for connection in connections:
        await connection.open()
    begun = time.monotonic()
    start = begun + warm_up
    every = people / rate if rate else 0.0
    crowd = [
        Person(it, i, begun + every * i / people, every)
        for i, it in enumerate(connections)
    ]
    spent: list[float] = []

    async def watch() -> None:
        for moment in (start, start + seconds):
            await asyncio.sleep(moment - time.monotonic())
            spent.extend((cpu_seconds(service), time.process_time()))

    await asyncio.gather(watch(), *(it.work(start + seconds) for it in crowd))
    for connection in connections:
        connection.close()
    times = [it for person in crowd for it in person.times]
    counted = [it for it in times if start <= it[0] < start + seconds]
    requests = sorted([t for _, a, b in counted for t in (a, b)])
    return {
        "sessions_at_once": people,
        "rate": rate,
        "seconds": seconds,
        "pairs": len(counted),
        "pairs_per_second": len(counted) / seconds,
        "service_cpu_ms_a_pair": 1000 * (spent[2] - spent[0]) / len(counted),
        "generator_cpu_ms_a_pair": 1000 * (spent[3] - spent[1]) / len(counted),
        "request_ms": {
            name: 1000 * requests[int(q * (len(requests) - 1))]
            for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("most", 1.0))
        },
    }


async def open_many(port: int, number: int, answers: int) -> float:
    """Opens sessions with some answers each; the seconds it took."""
    begun = time.monotonic()
    left = iter(range(number))

    async def work(rng) -> None:
        connection = Connection(port)
        await connection.open()
        for _ in left:
            asked = {"model": MODEL, "budget": 20}
            _, view = await connection.call("/v1/sessions", asked)
            for _ in range(answers):
                told = {"query": view["next"]["query"], "outcome": rng.gauss(0.5, 0.5)}
                _, view = await connection.call(f"/v1/sessions/{view['id']}/tell", told)

    await asyncio.gather(*(work(random.Random(i)) for i in range(64)))
    return time.monotonic() - begun


def memory_bytes(pid: int) -> int:
    """Memory of a process and its children, shared pages counted once."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    own = next(line for line in text.splitlines() if line.startswith("Pss:"))
    return 1024 * int(own.split()[1]) + sum(memory_bytes(int(it)) for it in children)


def cpu_seconds(pid: int) -> float:
    """What a process and its children have had of the cores."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    own = ticks / os.sysconf("SC_CLK_TCK")
    return own + sum(cpu_seconds(int(it)) for it in children)


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--warm-up", type=float, default=15.0)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--pairs-per-second", type=float, default=300.0)
    parser.add_argument("--open-sessions", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=3)
    parser.add_argument("--storage", help="another URL than a new SQLite file")
    parser.add_argument("--out", type=Path, default=Path("docs/data/service.json"))
    args = parser.parse_args()
    sys.path.insert(0, str(TESTS))
    from support.running_service import running_service

    record: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        storage = args.storage or f"sqlite:///{folder}/sessions.db"
        with running_service(storage, zoo.folder(), folder / "log") as service:
            port, process = service.port, service.process.pid
            for name, rate in (("paced", args.pairs_per_second), ("unpaced", 0.0)):
                record[name] = asyncio.run(
                    load(port, process, args.people, rate, args.warm_up, args.seconds)
                )
                print(json.dumps(record), flush=True)
            if args.open_sessions:
                took = asyncio.run(open_many(port, args.open_sessions, args.answers))
                record["open_sessions"] = args.open_sessions
                record["open_sessions_answers"] = args.answers
                record["open_sessions_seconds"] = took
                record["memory_bytes"] = memory_bytes(process)
    record |= {
        "model": MODEL,
        "storage": storage.partition(":")[0],
        "workers": 2,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    args.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record))


if __name__ == "__main__":
    main()
