"""The service and its page speak in the user's units and names."""

import html
import re

import pytest
from fastapi.testclient import TestClient

from icpe.deploy.memory import MemoryStorage
from icpe.service.app import create_app
from icpe.service.settings import Settings

MODEL = "best-of-k"
NAMES = ["as it is", "index", "cache", "batching"]
UNITS = {"unit": "ms", "noise": 12, "matters": 8, "smaller_is_better": True}
QUESTION = "Try as it is: what is the outcome, in ms?"


@pytest.fixture(scope="module")
def client():
    settings = Settings("memory://", open=True, rate=0, log=False)
    with TestClient(create_app(settings, MemoryStorage())) as client:
        yield client


def create(client, **given):
    asked = {"model": MODEL, "error_prob": 0.1, "names": NAMES, "units": UNITS} | given
    answer = client.post(
        "/v1/sessions", json={name: it for name, it in asked.items() if it is not None}
    )
    return answer.status_code, answer.json()


def tell(client, id, **given):
    answer = client.post(f"/v1/sessions/{id}/tell", json=given)
    return answer.status_code, answer.json()


def test_questions_are_in_the_users_units_and_answered_by_name(client):
    status, view = create(client)
    assert status == 201
    assert view["next"]["question"] == QUESTION
    assert view["units"] == UNITS
    status, view = tell(client, view["id"], query="as it is", outcome=212.5)
    assert status == 200 and view["certified"]
    assert view["history"][0]["told"] == 212.5
    assert len(view["posterior"]) == len(NAMES)
    status, view = tell(client, view["id"], query="as it is", outcome=212.5)
    assert status == 409
    assert "query as it is is not open" in view["detail"]
    assert "open is index." in view["detail"]


def test_a_whole_history_may_have_names(client):
    history = [{"query": "as it is", "outcome": 212.5}, {"query": 1, "outcome": 198}]
    asked = {"model": MODEL, "budget": 5, "names": NAMES, "units": UNITS}
    answer = client.post("/v1/next", json=asked | {"history": history})
    assert answer.status_code == 200, answer.text
    assert [it["query"] for it in answer.json()["history"]] == [0, 1]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"names": None, "units": None}, "names and units are missing: this family"),
        ({"names": None}, "names is missing; give a name for each of your settings"),
        ({"units": {"unit": "ms"}}, "matters is missing from units; give the smallest"),
    ],
)
def test_what_is_missing_is_what_the_client_can_give(client, given, sentence):
    status, view = create(client, **given)
    assert status == 422 and sentence in view["detail"]
    assert "Units(" not in view["detail"] and "first_outcome" not in view["detail"]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            "disk",
            "from 0 to 3, or a name: as it is, index, cache, batching; got 'disk'",
        ),
        (1.5, "query: Input should be a valid integer, or Input should be a valid str"),
    ],
)
def test_a_query_that_is_not_there_is_answered_with_those_that_are(
    client, query, sentence
):
    id = create(client)[1]["id"]
    status, view = tell(client, id, query=query, outcome=1)
    assert status == 422 and sentence in view["detail"]


def test_a_body_that_is_no_json_is_said_to_be_none(client):
    answer = client.post(
        "/v1/sessions",
        content=b'{"model": "best-of-k", "error_prob": 0,1}',
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("The body is not JSON: ")


def start(client, **given):
    form = client.get(f"/models/{MODEL}").text
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    asked = {"goal": "error_prob", "error_prob": "0.1", "names": "\n".join(NAMES)}
    asked |= {"unit": "ms", "noise": "12", "smaller_is_better": "on"} | given
    answer = client.post(f"/models/{MODEL}", data=hidden | asked)
    return answer.status_code, html.unescape(answer.text)


def test_the_page_asks_and_knows_in_the_users_units(client):
    status, text = start(client, matters="8")
    assert status == 200
    assert QUESTION in text
    assert (
        "Known from the start: 4 settings, in ms, smaller is better, noise 12 ms, "
        "a difference of 8 ms matters" in text
    )
    assert "1.5" not in re.sub(r"<style.*?</style>|<[^>]*>", "", text, flags=re.DOTALL)


def test_the_page_asks_for_what_matters_without_python(client):
    status, text = start(client)
    assert status == 422
    assert "matters is missing from units" in text and "Units(" not in text
