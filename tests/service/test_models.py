"""Models of a service: replaced, removed and damaged under its feet."""

import dataclasses

import pytest
from fastapi.testclient import TestClient

from icpe.deploy.memory import MemoryStorage
from icpe.service.app import create_app
from icpe.service.models import Model
from icpe.service.settings import Settings
from support.certificates import unearned_certificate
from support.service_models import BANDIT_MODEL, models_folder, small_bandit
from support.toy_artifacts import nudged


@pytest.fixture
def folder(tmp_path):
    return models_folder(tmp_path)


@pytest.fixture
def storage():
    return MemoryStorage()


def serving(folder, storage):
    settings = Settings("memory://", models=str(folder), open=True, rate=0, log=False)
    return TestClient(create_app(settings, storage))


def start(client, **asked):
    given = {"model": BANDIT_MODEL, "budget": 6} | asked
    return client.post("/v1/sessions", json=given).json()


def tell(client, id, query):
    told = {"query": query, "outcome": 0.5}
    return client.post(f"/v1/sessions/{id}/tell", json=told)


def test_sessions_of_a_replaced_model_wait_until_its_file_is_back(folder, storage):
    file = folder / f"{BANDIT_MODEL}.safetensors"
    with serving(folder, storage) as client:
        old = start(client)
        nudged(small_bandit()).save(file)
        new = start(client)
        assert new["artifact"] != old["artifact"]
        tell(client, new["id"], new["next"]["query"])
    with serving(folder, storage) as client:  # which has never seen the old file
        refused = tell(client, old["id"], old["next"]["query"])
        assert refused.status_code == 409
        assert "no model here has that hash" in refused.json()["detail"]
        assert client.get(f"/v1/sessions/{old['id']}").status_code == 409
        small_bandit().save(folder / "kept-for-old-sessions.safetensors")
        assert tell(client, old["id"], old["next"]["query"]).status_code == 200


def test_a_new_certificate_does_not_change_a_session(folder, storage):
    file = folder / f"{BANDIT_MODEL}.safetensors"
    with serving(folder, storage) as client:
        old = start(client, budget=None, error_prob=0.1)
        assert old["certified"]
        dataclasses.replace(small_bandit(), certificates=()).save(file)
    with serving(folder, storage) as client:
        view = tell(client, old["id"], old["next"]["query"]).json()
        assert view["certified"]
        assert view["operating_point"] == old["operating_point"]


def test_damaged_and_missing_files_are_refused_in_a_sentence(folder, storage):
    file = folder / f"{BANDIT_MODEL}.safetensors"
    with serving(folder, storage) as client:
        file.write_bytes(file.read_bytes()[:-50])
        assert client.get("/v1/models").json() == {"models": []}
        damaged = client.get(f"/v1/models/{BANDIT_MODEL}")
        assert damaged.status_code == 422 and "detail" in damaged.json()
        file.unlink()
        gone = client.post("/v1/sessions", json={"model": BANDIT_MODEL, "budget": 3})
        assert gone.status_code == 404
        small_bandit().save(file)
        assert start(client)["status"] == "open"


def test_sessions_go_on_when_the_folder_of_models_is_back(tmp_path, storage):
    (tmp_path / "models").mkdir()
    folder = models_folder(tmp_path / "models")
    with serving(folder, storage) as client:
        begun = start(client)
    with serving(folder, storage) as client:
        folder.rename(tmp_path / "elsewhere")
        for answer in (
            tell(client, begun["id"], begun["next"]["query"]),
            client.get("/v1/models"),
            client.get("/readyz"),
        ):
            assert answer.status_code == 503
            said = "The folder of models cannot be read"
            assert answer.json()["detail"].startswith(said)
        assert client.get("/").status_code == 503
        (tmp_path / "elsewhere").rename(folder)
        assert tell(client, begun["id"], begun["next"]["query"]).status_code == 200


def test_a_model_offers_what_its_certificates_serve():
    """Not what another explorer, or less confidence, was certified for."""
    artifact = small_bandit()
    weights = artifact.weights_hash
    for certificate in (
        unearned_certificate(error_prob=0.03, weights="another"),
        unearned_certificate(error_prob=0.05, weights=weights, confidence=0.9),
    ):
        artifact = artifact.with_certificate(certificate)
    model = Model(BANDIT_MODEL, artifact, "hash")
    assert model.certified_error_probs == [0.1] == artifact.certified_error_probs
    assert model.usual_error_prob == 0.1
