"""The stateless route gives what a session gives."""

import numpy as np
import pytest
from fastapi.testclient import TestClient

from icpe.deploy import Session
from icpe.deploy.memory import MemoryStorage
from icpe.service.app import create_app
from icpe.service.settings import Settings
from support.service_models import BANDIT_MODEL, models_folder, small_bandit


def same_on(histories: int, folder) -> None:
    settings = Settings("memory://", models=str(folder), open=True, rate=0, log=False)
    rng = np.random.default_rng(0)
    with TestClient(create_app(settings, MemoryStorage())) as client:
        for _ in range(histories):
            asked = [{"error_prob": 0.1}, {"budget": 6}, {"price": 0.001}][
                rng.integers(3)
            ]
            seed = int(rng.integers(100))
            session = Session(small_bandit(), **asked, seed=seed)
            history = []
            for _ in range(rng.integers(0, 8)):
                query = session.ask()
                if query is None:
                    break
                if rng.random() < 0.1:
                    query = (query + 1) % 3
                outcome = float(np.float32(rng.normal()))
                session.tell(query, outcome)
                history.append({"query": query, "outcome": outcome})
            given = {"model": BANDIT_MODEL, "history": history, "seed": seed, **asked}
            found = client.post("/v1/next", json=given).json()
            query = None if found["next"] is None else found["next"]["query"]
            assert query == session.ask()
            assert session.posterior is not None
            assert found["posterior"] == session.posterior.tolist()
            assert found["stop_reason"] == session.stop_reason.name.lower()
            assert found["recommendation"] == session.recommendation
            assert found["certified"] == session.certified
            assert found["certificate_lost"] == session.certificate_lost


def test_the_stateless_route_is_the_session(tmp_path):
    same_on(25, models_folder(tmp_path))


@pytest.mark.slow
def test_the_stateless_route_is_the_session_on_a_thousand_histories(tmp_path):
    same_on(1000, models_folder(tmp_path))
