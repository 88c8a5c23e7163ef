"""Does what a page says, from top to bottom, in the current folder.

    python -m support.run_page docs/start.md [slow]

The blocks of Python share one process and one set of names, as in a reader's session;
each shell block is a process of its own. Fails with the first block that does.
"""

import builtins
import itertools
import linecache
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from support.given import given
from support.pages import ROOT, Block, blocks_of
from support.ports import free_port
from support.running_service import wait_for

_COMMANDS = Path(".commands")


def main(page: str, *words: str) -> None:
    """Runs the blocks of a page that are fast, or all of them."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(ROOT / page):
        for name in filter(None, block.marks.get("given", "").split(",")):
            Path(name).write_text(given(name), encoding="utf-8")
        if "file" in block.marks:
            Path(block.marks["file"]).write_text(block.text, encoding="utf-8")
        if not block.is_run or (block.is_slow and "slow" not in words):
            continue
        start = time.monotonic()
        _RUN["server" if "server" in block.marks else block.kind](block, names)
        sys.stdout.flush()
        print(f"{block.name}: {time.monotonic() - start:.1f} s", file=sys.stderr)


def _python(block: Block, names: dict[str, Any]) -> None:
    sys.path[:0] = [os.getcwd()] * (os.getcwd() not in sys.path)
    if "tiny" in block.marks:
        from support.tiny_icpe import make_tiny

        make_tiny()
    if "answer" in block.marks:
        answers = itertools.cycle(block.marks["answer"].split(","))
        builtins.input = lambda prompt="": next(answers)
    linecache.cache[block.name] = (
        len(block.text),
        None,
        block.text.splitlines(True),
        block.name,
    )
    exec(compile(block.text, block.name, "exec"), names)


def _shell(block: Block, names: dict[str, Any]) -> None:
    done = _bash(block, block.text)
    print(done.stdout)
    if done.returncode:
        sys.exit(f"{block.name} ended with {done.returncode}: {done.stderr}")


def _console(block: Block, names: dict[str, Any]) -> None:
    """Each command prints what the page shows behind it."""
    for part in ("\n" + block.text).split("\n$ ")[1:]:
        command, _, shown = part.partition("\n")
        done = _bash(block, command)
        if done.returncode or _trimmed(done.stdout) != _trimmed(shown):
            sys.exit(
                f"{block.name}: {command} ended with {done.returncode} and printed\n"
                f"{done.stdout}{done.stderr}\nwhere the page shows\n{shown}"
            )


def _serve(block: Block, names: dict[str, Any]) -> None:
    """The service starts, answers, and ends when it is told to."""
    port = free_port()
    command = f"exec {block.text.strip()} --port {port} --no-warm"
    with Path("server.log").open("w") as log:
        process = subprocess.Popen(
            ["bash", "-c", command], env=_environment(block), stdout=log, stderr=log
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/readyz", process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        print(Path("server.log").read_text())


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def _bash(block: Block, text: str) -> subprocess.CompletedProcess[str]:
    answers = block.marks.get("answer", "").replace(",", "\n") + "\n"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        input=answers * 200 if "answer" in block.marks else "",
        capture_output=True,
        text=True,
        env=_environment(block),
    )


def _environment(block: Block) -> dict[str, str]:
    """With the commands `icpe` and `python`, of ordinary or tiny size."""
    _COMMANDS.mkdir(exist_ok=True)
    module = "support.tiny_icpe" if "tiny" in block.marks else "icpe"
    for name, words in {"icpe": f"-m {module}", "python": ""}.items():
        script = _COMMANDS / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        script.chmod(0o755)
    path = os.pathsep.join([str(_COMMANDS.absolute()), os.environ["PATH"]])
    return os.environ | {"PATH": path, "COLUMNS": "80"}


_RUN = {"python": _python, "sh": _shell, "console": _console, "server": _serve}

if __name__ == "__main__":
    main(*sys.argv[1:])
