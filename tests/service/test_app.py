"""The service over HTTP: what it answers, and what it refuses."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from icpe.deploy import Session
from icpe.deploy.memory import MemoryStorage
from icpe.service.app import create_app
from icpe.service.settings import Settings
from support.service_models import BANDIT_MODEL, models_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return models_folder(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def client(folder):
    settings = Settings("memory://", models=str(folder), open=True, rate=0, log=False)
    with TestClient(create_app(settings, MemoryStorage())) as client:
        yield client


def start(client, **given):
    asked = {"model": BANDIT_MODEL, "error_prob": 0.1} | given
    answer = client.post("/v1/sessions", json=asked)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def post(client, id, action, status=200, **given):
    answer = client.post(f"/v1/sessions/{id}/{action}", json=given)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_session_over_http_is_the_session_in_memory(client, folder):
    from icpe.artifact import Artifact

    local = Session(Artifact.load(folder / f"{BANDIT_MODEL}.safetensors"), budget=6)
    id = start(client, error_prob=None, budget=6)
    view: dict[str, Any] = {}
    for i in range(6):
        [question] = post(client, id, "ask")["open"]
        assert question["query"] == local.ask()
        outcome = 0.1 * i
        view = post(client, id, "tell", query=question["query"], outcome=outcome)
        local.tell(question["query"], outcome)
        assert local.posterior is not None
        assert view["posterior"] == local.posterior.tolist()
    assert view["stopped"] and view["stop_reason"] == "budget"
    assert view["recommendation"] == local.recommendation
    assert client.get(f"/v1/sessions/{id}").json() == view
    assert post(client, id, "tell", 409, query=0, outcome=0.0)["detail"]


def test_an_answer_that_is_repeated_with_its_token_counts_once(client):
    id = start(client)
    [question] = post(client, id, "ask")["open"]
    told = {"query": question["query"], "outcome": 0.2, "token": "one"}
    first = post(client, id, "tell", **told)
    assert post(client, id, "tell", **told) == first
    assert first["num_queries"] == 1 and first["certified"]
    other = post(client, id, "tell", 409, **told | {"outcome": 0.3})
    assert "use a new token" in other["detail"]


def test_an_answer_that_is_repeated_without_a_token_is_refused(client):
    id = start(client)
    [question] = post(client, id, "ask")["open"]
    told = {"query": question["query"], "outcome": 0.2}
    after = post(client, id, "tell", **told)
    if after["next"]["query"] != told["query"]:
        assert "is not open" in post(client, id, "tell", 409, **told)["detail"]
        view = post(client, id, "tell", **told, unasked=True)
        assert "been asked for" in view["certificate_lost"]


def test_who_has_not_seen_the_newest_state_is_refused(client):
    id = start(client)
    view = post(client, id, "ask")
    query = view["open"][0]["query"]
    post(client, id, "tell", query=query, outcome=0.1, at=view["number"])
    found = post(client, id, "tell", 409, query=query, outcome=0.1, at=view["number"])
    assert "somebody else was there" in found["detail"]
    post(client, id, "undo", 409, at=1)


def test_asking_ahead_skipping_undoing_and_closing(client):
    view = post(client, start(client), "ask", count=2)
    assert len(view["open"]) == 2 and "while" in view["certificate_lost"]
    id = start(client, error_prob=None, budget=8)
    view = post(client, id, "ask", count=2)
    first, second = (it["query"] for it in view["open"])
    view = post(client, id, "skip", query=first)
    assert [it["query"] for it in view["open"]] == [second]
    assert view["skipped"] == [first]
    view = post(client, id, "undo")
    assert [it["query"] for it in view["open"]] == [first, second]
    view = post(client, id, "tell", query=first, outcome=0.4, ask=2)
    assert view["open"][0]["query"] == second and len(view["open"]) == 2
    view = post(client, id, "close")
    assert view["status"] == "closed" and view["open"] == []
    for action in ("tell", "skip", "undo", "close"):
        given = {"query": 0, "outcome": 0.0} if action == "tell" else {}
        assert "closed" in post(client, id, action, 409, **given)["detail"]
    kinds = [
        it["kind"] for it in client.get(f"/v1/sessions/{id}/history").json()["events"]
    ]
    assert kinds == [
        "created",
        "asked",
        "skipped",
        "undone",
        "told",
        "asked",
        "closed",
    ]


def test_the_next_query_of_a_history_is_that_of_a_session(client):
    id = start(client, seed=3)
    view: dict[str, Any] = {}
    for outcome in (0.4, -0.2, 0.9):
        query = post(client, id, "ask")["open"][0]["query"]
        view = post(client, id, "tell", query=query, outcome=outcome)
    history = [
        {"query": it["query"], "outcome": it["outcome"]} for it in view["history"]
    ]
    asked = {"model": BANDIT_MODEL, "error_prob": 0.1, "seed": 3, "history": history}
    found = client.post("/v1/next", json=asked).json()
    for name in ("posterior", "next", "stopped", "stop_reason", "certified", "history"):
        assert found[name] == view[name], name


def test_models_come_with_words_and_certificates(client):
    [summary] = client.get("/v1/models").json()["models"]
    assert summary["name"] == BANDIT_MODEL
    assert summary["certified_error_prob"] == pytest.approx(0.1)
    model = client.get(f"/v1/models/{BANDIT_MODEL}").json()
    assert model["spec"]["query_names"] == ["arm 0", "arm 1", "arm 2"]
    assert len(model["certificates"]) == 1
    missing = client.get("/v1/models/gausian")
    assert missing.status_code == 404 and "There is no model" in missing.text


def test_sessions_are_listed_the_latest_first(client):
    ids = [start(client) for _ in range(3)]
    page = client.get("/v1/sessions", params={"limit": 2}).json()
    assert [it["id"] for it in page["sessions"]] == ids[:0:-1]
    rest = client.get("/v1/sessions", params={"limit": 1, "before": page["before"]})
    assert rest.json()["sessions"][0]["id"] == ids[0]


def test_a_session_may_have_an_id_of_the_clients_own_once(client):
    given = {"model": BANDIT_MODEL, "budget": 3, "id": "trial-7", "token": "t"}
    first = client.post("/v1/sessions", json=given)
    assert first.status_code == 201
    assert client.post("/v1/sessions", json=given).json() == first.json()
    other = client.post("/v1/sessions", json=given | {"token": "u"})
    assert other.status_code == 409 and "already" in other.text


BAD_BODIES = {
    "malformed": b'{"query": 0,',
    "no object": b"[1, 2]",
    "not a number": b'{"query": 0, "outcome": NaN}',
    "infinite": b'{"query": 0, "outcome": 1e999}',
    "more than a float32 holds": b'{"query": 0, "outcome": 1e300}',
    "a word": b'{"query": 0, "outcome": "0.5"}',
    "too many": b'{"query": 0, "outcome": [1, 2, 3]}',
    "no query": b'{"outcome": 1}',
    "a query that is not there": b'{"query": 99, "outcome": 1, "unasked": true}',
    "a negative query": b'{"query": -1, "outcome": 1}',
    "a query of another name": b'{"query": "arm 7", "outcome": 1}',
    "a query that is a truth value": b'{"query": true, "outcome": 1}',
    "an unknown field": b'{"query": 0, "outcome": 1, "quary": 1}',
    "a token with a null": b'{"query": 0, "outcome": 1, "token": "a\\u0000"}',
    "a token that is no text": b'{"query": 0, "outcome": 1, "token": "\\ud800"}',
    "no text": b'{"query": 0, "outcome": "\xff"}',
    "nothing": b"",
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_what_cannot_be_an_answer_is_refused_with_a_sentence(client, body):
    id = start(client)
    answer = client.post(
        f"/v1/sessions/{id}/tell",
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code in (400, 409, 422), answer.text
    assert list(answer.json()) == ["detail"]
    assert client.get(f"/v1/sessions/{id}").json()["number"] == 1


@pytest.mark.parametrize(
    "given",
    [
        {"error_prob": None},
        {"budget": 3},
        {"error_prob": 2},
        {"error_prob": 1e-9},
        {"error_prob": None, "budget": 10_000},
        {"error_prob": None, "price": 1e9},
        {"seed": -1},
        {"query_mask": [True]},
        {"first_outcome": [1, 2]},
        {"on_alarm": "panic"},
        {"id": "../x"},
        {"confidence": 2},
    ],
    ids=str,
)
def test_what_cannot_be_a_session_is_refused_with_a_sentence(client, given):
    asked = {"model": BANDIT_MODEL, "error_prob": 0.1} | given
    answer = client.post("/v1/sessions", json=asked)
    assert answer.status_code == 422, answer.text
    assert list(answer.json()) == ["detail"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"units": {"name": "ms"}},
            "units.name: there is no such field, only unit, noise, matters, "
            "smaller_is_better.",
        ),
        ({"modle": "x"}, "modle: there is no such field, only error_prob, budget,"),
        ({"history": [{"answer": 1}]}, "only query, outcome, terminated, query_mask"),
    ],
)
def test_a_field_that_is_not_known_is_answered_with_those_that_are(
    client, given, sentence
):
    asked = {"model": BANDIT_MODEL, "error_prob": 0.1} | given
    route = "/v1/next" if "history" in given else "/v1/sessions"
    answer = client.post(route, json=asked)
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]


def test_unknown_ids_and_models_are_not_found(client):
    assert client.get("/v1/sessions/nobody").status_code == 404
    assert client.post("/v1/sessions/nobody/ask").status_code == 404
    asked = {"model": "../../etc/passwd", "budget": 3}
    assert client.post("/v1/sessions", json=asked).status_code == 404
    assert client.get("/nowhere").status_code == 404


def test_large_bodies_and_long_histories_are_refused(folder):
    settings = Settings(
        "memory://",
        models=str(folder),
        open=True,
        rate=0,
        log=False,
        max_body=10_000,
        max_history=5,
    )
    with TestClient(create_app(settings, MemoryStorage())) as client:
        large = client.post("/v1/next", content=b"x" * 20_000)
        assert large.status_code == 413

        def chunks():
            for _ in range(20):
                yield b"x" * 1000

        assert client.post("/v1/next", content=chunks()).status_code == 413
        history = [{"query": 0, "outcome": 0.0}] * 6
        asked = {"model": BANDIT_MODEL, "budget": 3, "history": history}
        long = client.post("/v1/next", json=asked)
        assert long.status_code == 422 and "at most 5 answers" in long.text
        too_many = client.post("/v1/next", json=asked | {"history": history[:5]})
        assert too_many.status_code == 409


def test_health_readiness_and_metrics(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok"}
    text = client.get("/metrics").text
    assert 'icpe_requests_total{method="GET",route="/healthz",status="200"}' in text
    assert "icpe_model_calls_together_bucket" in text


def test_pages_of_other_sites_and_other_names_of_the_machine_are_kept_out(client):
    evil = client.get("/v1/models", headers={"Origin": "http://evil.example"})
    assert evil.status_code == 403
    rebound = client.get("/v1/models", headers={"Host": "evil.example"})
    assert rebound.status_code == 403
    own = client.get("/v1/models", headers={"Origin": "http://testserver"})
    assert own.status_code == 200
