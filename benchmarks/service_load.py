"""Measures the service under load, and writes docs/data/service.json.

    python benchmarks/service_load.py [--seconds 30] [--out docs/data/service.json]

One command does everything on one machine: it starts `icpe serve` with two workers on
SQLite, lets 200 sessions at once ask and tell (two requests a pair, one connection
each), then opens 10,000 sessions with some answers each and measures the memory of all
processes of the service. The load generator runs on the same cores.
`python benchmarks/performance_tables.py` makes the table in docs/performance.md.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

MODEL = "gaussian-bandit-4"


class Connection:
    """One connection that sends a request and waits for its answer."""

    def __init__(self, port: int):
        self._port = port

    async def open(self) -> None:
        """Connects."""
        self._reader, self._writer = await asyncio.open_connection(
            "127.0.0.1", self._port
        )

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


async def one_person(connection: Connection, end: list[float], times: list, rng):
    """Sessions one after the other; each pair's ask and tell are timed."""
    while time.monotonic() < end[0]:
        means = [rng.uniform(0, 1) for _ in range(4)]
        asked = {"model": MODEL, "error_prob": 0.1}
        status, view = await connection.call("/v1/sessions", asked)
        assert status == 201, view
        path = f"/v1/sessions/{view['id']}"
        while not view["stopped"] and time.monotonic() < end[0]:
            begun = time.monotonic()
            status, view = await connection.call(f"{path}/ask", {})
            assert status == 200, view
            between = time.monotonic()
            query = view["open"][0]["query"]
            told = {"query": query, "outcome": rng.gauss(means[query], 0.5)}
            told["token"] = str(rng.random())
            status, view = await connection.call(f"{path}/tell", told)
            assert status == 200, view
            now = time.monotonic()
            times.append((begun, between - begun, now - between))


async def load(
    port: int, service: int, people: int, warm_up: float, seconds: float
) -> dict:
    """Pairs per second, quantiles of the latency, and what they cost of a core."""
    connections = [Connection(port) for _ in range(people)]
    for connection in connections:
        await connection.open()
    times: list[tuple[float, float, float]] = []
    start = time.monotonic() + warm_up
    end = [start + seconds]
    spent: list[float] = []

    async def watch() -> None:
        for moment in (start, start + seconds):
            await asyncio.sleep(moment - time.monotonic())
            spent.extend((cpu_seconds(service), time.process_time()))

    await asyncio.gather(
        watch(),
        *(
            one_person(it, end, times, random.Random(i))
            for i, it in enumerate(connections)
        ),
    )
    counted = [it for it in times if start <= it[0] < start + seconds]
    requests = sorted([t for _, a, b in counted for t in (a, b)])
    return {
        "sessions_at_once": people,
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


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def wait_until_ready(port: int) -> None:
    """Until the service answers."""
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("The service does not start.")


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--warm-up", type=float, default=15.0)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--open-sessions", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=3)
    parser.add_argument("--storage", help="another URL than a new SQLite file")
    parser.add_argument("--out", type=Path, default=Path("docs/data/service.json"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        storage = args.storage or f"sqlite:///{folder}/sessions.db"
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "icpe.cli.main", "serve", "--open", "--quiet"),
                *("--storage", storage, "--workers", "2", "--rate", "0"),
                *("--port", str(port)),
            ]
        )
        try:
            wait_until_ready(port)
            record = asyncio.run(
                load(port, server.pid, args.people, args.warm_up, args.seconds)
            )
            print(json.dumps(record))
            if args.open_sessions:
                took = asyncio.run(open_many(port, args.open_sessions, args.answers))
                record["open_sessions"] = args.open_sessions
                record["open_sessions_answers"] = args.answers
                record["open_sessions_seconds"] = took
                record["memory_bytes"] = memory_bytes(server.pid)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
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
