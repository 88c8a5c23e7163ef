"""Models are compiled before a service says that it is ready."""

import os

import pytest
from fastapi.testclient import TestClient

from icpe import Client
from icpe.deploy.memory import MemoryStorage
from icpe.service.app import create_app
from icpe.service.settings import Settings
from icpe.service.warming import Warming
from support.running_service import running_service
from support.service_models import BANDIT_MODEL, models_folder


def test_a_service_is_ready_when_nothing_is_compiled_any_more(tmp_path):
    folder = models_folder(tmp_path)
    settings = Settings("memory://", models=str(folder), open=True, rate=0, log=False)
    warming = Warming()
    with TestClient(create_app(settings, MemoryStorage(), warming)) as client:
        warming.advance(2, 5)
        refused = client.get("/readyz")
        assert refused.status_code == 503 and refused.headers["Retry-After"] == "1"
        assert refused.json()["detail"].startswith("2 of 5 models have been compiled")
        assert client.get("/healthz").status_code == 200
        begun = client.post("/v1/sessions", json={"model": BANDIT_MODEL, "budget": 3})
        assert begun.status_code == 201
        warming.end()
        assert client.get("/readyz").status_code == 200
        assert warming.progress == (2, 5)


@pytest.mark.services
def test_a_service_that_is_ready_has_compiled_what_sessions_need(tmp_path, monkeypatch):
    for name in ("models", "compiled"):
        (tmp_path / name).mkdir()
    folder, compiled = models_folder(tmp_path / "models"), tmp_path / "compiled"
    (folder / "damaged.safetensors").write_bytes(b"nothing")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(compiled))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

    def steps() -> set[str]:
        programs = {name for name in os.listdir(compiled) if name.endswith("-cache")}
        return {it for it in programs if it.startswith(("jit_run-", "jit__begin-"))}

    url = f"sqlite:///{tmp_path}/sessions.db"
    with running_service(url, folder, tmp_path / "log", workers=1) as service:
        before = steps()
        assert len(before) == 4  # the beginning, and steps of 1, 8 and 32 sessions
        with Client(service.url) as client:
            session = client.create_session(BANDIT_MODEL, error_prob=0.1)
            query = session.ask()
            assert query is not None
            session.tell(query, 0.25)
        assert steps() == before
