"""Requests that a machine makes up from the schema meet no undocumented answer."""

import contextlib
import os
import threading
import time
from typing import Any

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
from support.ports import free_port
from support.service_models import BANDIT_MODEL, models_folder

pytestmark = pytest.mark.services
EXAMPLES = int(os.environ.get("ICPE_EXAMPLES", "15"))
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


def about_what_exists(case, url: str) -> None:
    """Half of the requests are about a session and a model that are there."""
    if hash(str(case.body)) % 2:
        return
    if case.path_parameters and "id" in case.path_parameters:
        asked = {"model": BANDIT_MODEL, "budget": 8, "id": "known", "token": "t"}
        httpx.post(f"{url}/v1/sessions", json=asked, timeout=60)
        case.path_parameters["id"] = "known"
    if isinstance(case.body, dict) and "model" in case.body:
        case.body["model"] = BANDIT_MODEL


def test_every_answer_is_documented_and_none_is_a_failure(url):
    schema = schemathesis.openapi.from_url(f"{url}/v1/openapi.json")
    found: list[Any] = list(schema.get_all_operations())
    operations = [it.ok() for it in found]
    assert len(operations) > 15

    def check(operation):
        @hypothesis.given(case=operation.as_strategy())
        @hypothesis.settings(
            max_examples=EXAMPLES,
            suppress_health_check=list(hypothesis.HealthCheck),  # pyright: ignore
            deadline=None,
        )
        def answers_as_documented(case):
            about_what_exists(case, url)
            case.call_and_validate(checks=CHECKS, timeout=60)

        answers_as_documented()

    for operation in operations:
        check(operation)
