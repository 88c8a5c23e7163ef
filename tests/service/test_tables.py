"""Questionnaires made of tables, over HTTP and on the page: words, gaps, commas."""

import html
import re

import numpy as np
import pytest
from fastapi.testclient import TestClient

from icpe import Session
from icpe.artifact import Artifact
from icpe.artifact.saved_rule import SavedRule
from icpe.deploy.memory import MemoryStorage
from icpe.families.table import MISSING, CaseTable
from icpe.service.app import create_app
from icpe.service.settings import Settings

FEVER, COUGH = 0, 1


@pytest.fixture(scope="module")
def rule():
    family = CaseTable()
    nets = SavedRule.of(family, "information-gain")
    return Artifact(nets=nets, family=family, training={}, provenance={})


@pytest.fixture(scope="module")
def client(rule, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    rule.save(folder / "cases.safetensors")
    settings = Settings("memory://", models=str(folder), open=True, rate=0, log=False)
    with TestClient(create_app(settings, MemoryStorage())) as client:
        yield client


def start(client, **given):
    asked = {"model": "cases", "budget": 2} | given
    return client.post("/v1/sessions", json=asked).json()["id"]


def tell(client, id, query, outcome, **given):
    told = {"query": query, "outcome": outcome, "unasked": True} | given
    return client.post(f"/v1/sessions/{id}/tell", json=told)


def test_words_and_gaps_are_told_over_http_as_in_python(client, rule):
    spec = client.get("/v1/models/cases").json()["spec"]
    assert [[it["name"] for it in parts] for parts in spec["answer_parts"]] == [
        [name] for name in rule.family.features
    ]
    assert spec["answer_parts"][COUGH][0]["words"] == list(rule.family.levels[COUGH])
    word = rule.family.levels[COUGH][1]
    for fever, wanted in (("38,9", 38.9), (38.9, 38.9), (None, MISSING)):
        id, local = start(client), Session(rule, budget=2)
        for query, answer in ((FEVER, fever), (COUGH, word)):
            view = tell(client, id, query, answer).json()
            local.tell(query, answer)
        told = [it["outcome"][0] for it in view["history"]]
        assert told == [np.float32(wanted), 2.0]
        assert local.posterior is not None
        assert view["posterior"] == local.posterior.tolist()


def test_an_answer_in_words_may_be_repeated_with_its_token(client, rule):
    id, word = start(client), rule.family.levels[COUGH][1]
    first = tell(client, id, COUGH, word, token="a").json()
    assert first["num_queries"] == 1
    assert tell(client, id, COUGH, word, token="a").json() == first
    other = tell(client, id, COUGH, rule.family.levels[COUGH][0], token="a")
    assert other.status_code == 409 and "says something else" in other.text
    session = Session(rule, budget=2)
    for _ in range(2):
        session.tell(FEVER, "38,9", token="b")
    assert len(session.history) == 1


@pytest.mark.parametrize(
    "query, answer, complaint",
    [
        (FEVER, "much", "must be a number, or empty if it is not known"),
        (FEVER, "1,234", "1,234 may be 1.2340 or 1234"),
        (COUGH, "perhaps", "cannot be 'perhaps'"),
        (COUGH, {"cuogh": 1}, "There is no 'cuogh' to be told here"),
        (FEVER, [1, 2], "must be a number"),
        ("How warm is it? " * 20, 1, "or a name: fever, cough"),
    ],
)
def test_what_cannot_be_an_answer_is_refused_in_a_sentence(
    client, query, answer, complaint
):
    refused = tell(client, start(client), query, answer)
    assert refused.status_code == 422 and complaint in refused.json()["detail"]


def test_the_page_offers_words_and_takes_a_decimal_comma(client, rule):
    id = start(client)

    def answer(query, **given):
        text = client.get(f"/sessions/{id}", params={"query": query}).text
        form = text.split(f'action="/sessions/{id}/tell"', 1)[1].split("</form>")[0]
        hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)
        given |= {name: html.unescape(value) for name, value in hidden}
        return form, client.post(f"/sessions/{id}/tell", data=given).text

    form, refused = answer(FEVER, **{"value-0": "1,234"})
    assert "Leave empty what is not known." in form
    assert "1,234 may be 1.2340 or 1234" in refused
    _, text = answer(FEVER, **{"value-0": "38,9"})
    assert ">38.9</td>" in text
    form, text = answer(COUGH, label=str(len(rule.family.levels[COUGH])))
    for word in (*rule.family.levels[COUGH], "not known"):
        assert f"</span>{word}<kbd" in form
    assert ">not known</td>" in text
    told = client.get(f"/v1/sessions/{id}").json()["history"]
    assert [it["outcome"][0] for it in told] == [np.float32(38.9), np.float32(MISSING)]
