"""The pages on sessions and the service: what they show is run."""

import re
import shlex
from pathlib import Path
from typing import Any

import jax
import pytest
from fastapi.testclient import TestClient

import icpe
from icpe.cli.main import main
from icpe.deploy.memory import MemoryStorage
from icpe.service.app import create_app
from icpe.service.settings import Settings
from icpe.service.tokens import create_token

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str, kind: str = "python") -> list[str]:
    text = (DOCS / page).read_text()
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


@pytest.fixture(autouse=True)
def usual_promotion():
    with jax.numpy_dtype_promotion("standard"):
        yield


def test_the_page_on_sessions_does_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks("sessions.md"):
        exec(compile(block, "sessions.md", "exec"), names)
        if "session" in names and hasattr(names["session"], "_storage"):
            stores = names.setdefault("stores", [])
            stores.append(names["session"]._storage)
    assert capsys.readouterr().out.startswith("1 [")
    assert len(names["session"].history) == 2
    for line in re.findall(r"^icpe (.*)$", (DOCS / "sessions.md").read_text(), re.M):
        assert main(shlex.split(line)) == 0
    assert "The same, bit for bit" in capsys.readouterr().out
    for storage in names["stores"]:
        storage.close()


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


def test_every_route_is_on_the_page():
    text = (DOCS / "serving.md").read_text()
    routes = create_app(Settings("memory://")).openapi()["paths"]
    for path in routes:
        last = path.rpartition("/")[2].strip("{}") or path
        assert last in text, path
