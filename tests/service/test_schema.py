"""Requests that a machine makes up from the schema meet no undocumented answer."""

import contextlib
import threading
import time

import httpx
import hypothesis
import pytest
import schemathesis
import uvicorn
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from icpe.deploy.memory import MemoryStorage
from icpe.service.app import create_app
from icpe.service.settings import Settings
from support.running_service import free_port
from support.service_models import BANDIT_MODEL, models_folder

pytestmark = pytest.mark.services
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@contextlib.contextmanager
def serving(app):
    port = free_port()
    config = uvicorn.Config(app, port=port, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = models_folder(tmp_path_factory.mktemp("models"))
    settings = Settings("memory://", models=str(folder), open=True, rate=0, log=False)
    with serving(create_app(settings, MemoryStorage())) as url:
        yield url


@pytest.fixture(scope="module")
def api(url):
    return schemathesis.openapi.from_url(f"{url}/v1/openapi.json")


lazy = schemathesis.pytest.from_fixture("api")


@lazy.parametrize()
@hypothesis.settings(
    max_examples=40,
    suppress_health_check=list(hypothesis.HealthCheck),
    deadline=None,
    derandomize=True,
    database=None,
)
def test_every_answer_is_documented(case, url):
    # Half of the requests are about things that exist.
    if case.path_parameters and "id" in case.path_parameters and hash(str(case)) % 2:
        with contextlib.suppress(httpx.HTTPError):
            asked = {"model": BANDIT_MODEL, "budget": 8, "id": "known", "token": "t"}
            httpx.post(f"{url}/v1/sessions", json=asked, timeout=30)
        case.path_parameters["id"] = "known"
    if isinstance(case.body, dict) and "model" in case.body and hash(str(case)) % 2:
        case.body["model"] = BANDIT_MODEL
    case.call_and_validate(checks=CHECKS, timeout=60)
