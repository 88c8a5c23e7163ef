"""The pages on sessions and the service: what they show is run."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import jax
import pytest
from fastapi.testclient import TestClient

import icpe
from icpe.deploy.events import Kind
from icpe.deploy.memory import MemoryStorage
from icpe.deploy.storage import open_storage
from icpe.service.app import create_app
from icpe.service.settings import Settings
from icpe.service.tokens import create_token
from support.ports import free_port
from support.running_service import wait_for

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str, kind: str = "python") -> list[str]:
    text = (DOCS / page).read_text()
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


@pytest.fixture(autouse=True)
def usual_promotion():
    with jax.numpy_dtype_promotion("standard"):
        yield


def test_the_client_of_the_page_on_serving_runs(monkeypatch, capsys):
    storage = MemoryStorage()
    token, _ = create_token(storage, "ann", ["run"])
    settings = Settings("memory://", log=False, rate=0)
    with TestClient(create_app(settings, storage)) as http:

        def in_process(self, url, token, **_):
            self._patience = 0.0
            http.headers["Authorization"] = f"Bearer {token}"
            self._http = http

        monkeypatch.setattr(icpe.Client, "__init__", in_process)
        monkeypatch.setattr(icpe.Client, "close", lambda self: None)
        [block] = blocks("serving.md")
        names = {"TOKEN": token, "measure": lambda query: 1.0 * (query == 2)}
        exec(compile(block, "serving.md", "exec"), names)
    assert re.match(r"2 (True|False) [0-9a-f]{32}", capsys.readouterr().out)


@pytest.mark.slow
def test_the_session_by_curl_runs(tmp_path):
    [block] = [it for it in blocks("serving.md", "sh") if "curl" in it]
    port = free_port()
    icpe_command = tmp_path / "icpe"
    icpe_command.write_text(f'#!/bin/sh\nexec {sys.executable} -m icpe "$@"\n')
    icpe_command.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    words = ("serve", "--storage", "sqlite:///sessions.db", "--port", str(port))
    server = subprocess.Popen(
        [sys.executable, "-m", "icpe", *words, "--quiet", "--no-warm"], cwd=tmp_path
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/readyz", server)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.replace("8000", str(port))],
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        server.terminate()
        server.wait(60)
    created, asked, told, again, now = map(json.loads, done.stdout.splitlines())
    assert created["certified"] and [it["query"] for it in asked["open"]] == [0]
    assert told["history"][0]["told"] == 212.5 and again == told == now
    assert len(told["posterior"]) == 3
    [example] = blocks("serving.md", "json")
    shown = json.loads(example)
    shown["open"][0]["question"] = told["open"][0]["question"]
    assert shown == {name: told[name] for name in shown}
    assert "<!doctype html>" in (tmp_path / "report.html").read_text()


@pytest.mark.services
@pytest.mark.parametrize("at_once", ["1", "2"])
def test_the_laboratory_survives_a_pulled_plug(tmp_path, at_once):
    [code] = blocks("tutorials/laboratory.md")
    told: list[str] = []
    lines: list[str] = []
    status, life = -1, -1
    for life in range(20):
        seeded = f"import random\nrandom.seed({life + 2})\n{code}"
        (tmp_path / "lab.py").write_text(seeded)
        process = subprocess.Popen(
            [sys.executable, "lab.py", at_once],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        patience = threading.Timer(300, process.kill)
        patience.start()
        lines = []
        for line in process.stdout:
            lines.append(line)
            if life < 2 and len(lines) == 2:  # twice in the middle
                process.kill()
                break
        process.stdout.close()
        status = process.wait(60)
        patience.cancel()
        told += [line for line in lines if line.startswith("setting")]
        if status == 0:
            break
    assert status == 0 and life >= 1
    assert f"best: setting C, certified: {at_once == '1'}" in lines[-2]
    lost = "because: None" if at_once == "1" else "was asked for while"
    assert lost in lines[-1]
    storage = open_storage(f"sqlite:///{tmp_path}/lab.db")
    kept = [
        round(event.body["told"], 1)
        for event in storage.read(f"yield-{at_once}")
        if event.kind is Kind.TOLD
    ]
    storage.close()
    printed = [float(line.split()[2]) for line in told]
    # One more may have been kept and not printed before the plug was pulled.
    assert len(set(kept) - set(printed)) <= 2
    for value in printed:
        assert any(abs(value - it) < 0.06 for it in kept)


def test_every_route_is_on_the_page():
    text = (DOCS / "serving.md").read_text()
    routes = create_app(Settings("memory://")).openapi()["paths"]
    for path in routes:
        last = path.rpartition("/")[2].strip("{}") or path
        assert last in text, path
