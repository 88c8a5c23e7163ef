"""Tokens, scopes, rates, and what the log says."""

import json
import time

import pytest
from fastapi.testclient import TestClient

from icpe.cli.main import main
from icpe.core.errors import InvalidParameterError
from icpe.deploy.memory import MemoryStorage
from icpe.service import access
from icpe.service.app import create_app
from icpe.service.server import check_address
from icpe.service.settings import Settings
from icpe.service.tokens import create_token
from support.service_models import BANDIT_MODEL, models_folder


@pytest.fixture(scope="module")
def storage():
    return MemoryStorage()


@pytest.fixture(scope="module")
def client(storage, tmp_path_factory):
    folder = models_folder(tmp_path_factory.mktemp("models"))
    settings = Settings("memory://", models=str(folder), rate=0)
    with TestClient(create_app(settings, storage)) as client:
        yield client


def bearing(storage, *scopes, **options):
    token, _ = create_token(storage, "test", scopes, **options)
    return {"Authorization": f"Bearer {token}"}


NEEDS = {
    "read": [("GET", "/v1/models"), ("GET", "/v1/sessions"), ("GET", "/metrics")],
    "run": [("POST", "/v1/sessions"), ("POST", "/v1/next")],
    "admin": [("GET", "/v1/tokens"), ("DELETE", "/v1/tokens/00")],
}


@pytest.mark.parametrize("scope", NEEDS)
def test_each_scope_allows_what_it_should_and_no_more(client, storage, scope):
    order = list(NEEDS)
    headers = bearing(storage, scope)
    for needed, routes in NEEDS.items():
        for method, path in routes:
            status = client.request(method, path, headers=headers).status_code
            allowed = order.index(scope) >= order.index(needed)
            assert (status == 403) is not allowed, (method, path, status)
            assert status != 401


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer x",
        "Basic eDp5",
        "Bearer icpe_000000000000_" + "a" * 43,
        "Bearer " + "x" * 5000,
    ],
    ids=repr,
)
def test_without_a_valid_token_nothing_is_said(client, header):
    headers = {} if header is None else {"Authorization": header}
    for method, path in (("GET", "/v1/models"), ("POST", "/v1/sessions")):
        answer = client.request(method, path, headers=headers)
        assert answer.status_code == 401, answer.text
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert list(answer.json()) == ["detail"]
    assert client.get("/healthz").status_code == 200


def test_a_wrong_secret_with_a_right_id_is_refused(client, storage):
    token, kept = create_token(storage, "test", ["read"])
    wrong = f"icpe_{kept.id}_" + "A" * 43
    headers = {"Authorization": f"Bearer {wrong}"}
    answer = client.get("/v1/models", headers=headers)
    assert answer.status_code == 401
    assert answer.json()["detail"].startswith("This is no token of this service;")
    assert token not in repr(storage.tokens()) and kept.digest not in token


def test_a_revoked_token_works_for_a_second_at_most(client, storage, monkeypatch):
    headers = bearing(storage, "read")
    assert client.get("/v1/models", headers=headers).status_code == 200
    storage.revoke_token(storage.tokens()[-1].id, time.time())
    monkeypatch.setattr(access, "REMEMBERED_SECONDS", 0.0)
    answer = client.get("/v1/models", headers=headers)
    assert answer.status_code == 401
    assert answer.json()["detail"].startswith("This token was revoked on 20")


def test_an_expired_token_is_refused(client, storage, monkeypatch):
    headers = bearing(storage, "read", days=1)
    assert client.get("/v1/models", headers=headers).status_code == 200
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * 86_400)
    answer = client.get("/v1/models", headers=headers)
    assert answer.status_code == 401
    assert answer.json()["detail"].startswith("This token expired on 20")


def test_tokens_can_be_made_and_revoked_over_http(client, storage):
    admin = bearing(storage, "admin")
    made = client.post(
        "/v1/tokens", headers=admin, json={"name": "robot", "scopes": ["run"]}
    )
    assert made.status_code == 201
    robot = {"Authorization": f"Bearer {made.json()['token']}"}
    asked = {"model": BANDIT_MODEL, "budget": 3}
    created = client.post("/v1/sessions", json=asked, headers=robot)
    assert created.status_code == 201
    listed = client.get("/v1/tokens", headers=admin).json()["tokens"]
    assert listed[-1]["name"] == "robot" and "digest" not in listed[-1]
    id = made.json()["id"]
    assert client.delete(f"/v1/tokens/{id}", headers=admin).status_code == 204
    assert client.delete("/v1/tokens/ffff", headers=admin).status_code == 404


def test_the_log_has_no_secrets(client, storage, capfd):
    headers = bearing(storage, "run")
    secret = headers["Authorization"].rpartition("_")[2]
    asked = {"model": BANDIT_MODEL, "budget": 3, "token": "client-secret"}
    client.post("/v1/sessions?x=query-secret", json=asked, headers=headers)
    lines = capfd.readouterr().err.strip().splitlines()
    record = json.loads(lines[-1])
    assert record["path"] == "/v1/sessions" and record["status"] == 201
    assert record["token"] == storage.tokens()[-1].id
    assert not {secret, "client-secret", "query-secret"} & set(
        " ".join(lines).replace('"', " ").split()
    )
    assert secret not in " ".join(lines)


def test_too_many_requests_are_told_when_to_come_back(tmp_path):
    settings = Settings(
        "memory://", models=str(models_folder(tmp_path)), open=True, rate=2, log=False
    )
    with TestClient(create_app(settings, MemoryStorage())) as client:
        statuses = [client.get("/v1/sessions").status_code for _ in range(6)]
        assert statuses[:4] == [200] * 4 and 429 in statuses
        last = client.get("/v1/sessions")
        assert last.status_code == 429 and int(last.headers["Retry-After"]) >= 1


def test_open_access_is_for_this_machine_alone():
    for host in ("127.0.0.1", "localhost", "::1"):
        check_address(host, True)
    check_address("0.0.0.0", False)
    with pytest.raises(InvalidParameterError, match="--host must be one of"):
        check_address("0.0.0.0", True)


def test_the_command_makes_lists_and_revokes(tmp_path, capsys):
    url = ["--storage", f"sqlite:///{tmp_path}/t.db"]
    assert main(["token", "create", *url, "--scopes", "read,run", "--name", "ann"]) == 0
    token = capsys.readouterr().out.strip()
    assert token.startswith("icpe_") and len(token) == 61
    assert main(["token", "list", *url, "--json"]) == 0
    [listed] = json.loads(capsys.readouterr().out)
    assert listed["name"] == "ann" and listed["scopes"] == ["read", "run"]
    assert token.rpartition("_")[2].encode() not in (tmp_path / "t.db").read_bytes()
    assert main(["token", "revoke", listed["id"], *url]) == 0
    assert "is revoked" in capsys.readouterr().out
    assert main(["token", "list", *url]) == 0
    assert "revoked" in capsys.readouterr().out
    for bad in (["revoke"], ["revoke", "zz"], ["create", "--scopes", "root"]):
        assert main(["token", *bad, *url]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--open", "--host", "0.0.0.0"],
        ["--models", "nowhere"],
        ["--storage", "nowhere"],
        ["--storage", "memory://"],
        ["--workers", "0"],
        ["--port", "70000"],
        ["--rate", "-1"],
    ],
    ids=" ".join,
)
def test_a_service_that_cannot_be_is_refused_at_once(
    words, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
