"""What `icpe serve` says when it starts, and when it cannot."""

import socket
import subprocess
import sys

import pytest

from icpe.cli.serve import Args, _greeting, run
from icpe.core.errors import InvalidParameterError
from icpe.service import workers
from icpe.service.settings import Settings
from support.service_models import BANDIT_MODEL, models_folder


def greeting(folder, *, storage="memory://", is_new=False, **given) -> list[str]:
    settings = Settings(storage, models=str(folder))
    return list(_greeting(Args(**given), settings, 8000, is_new, False))


def test_models_that_cannot_be_used_are_named_and_the_others_are_served(tmp_path):
    folder = models_folder(tmp_path)
    whole = (folder / f"{BANDIT_MODEL}.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(whole[:3000])
    (folder / "other.safetensors").write_text("not a model")
    url = f"sqlite:///{tmp_path}/s.db"
    said = greeting(folder, storage=url, is_new=True, open=True)
    assert said == [
        "icpe serves 1 model on http://127.0.0.1:8000 (API: /v1/openapi.json); Ctrl-C "
        "stops it.",
        f"Sessions are kept in {tmp_path}/s.db, a new file.",
        *(
            f"{name} is not offered: {name}.safetensors is not an artifact that can be "
            "used: it is damaged or was not written by icpe."
            for name in ("cut", "other")
        ),
    ]


def test_a_service_that_nobody_can_use_yet_says_what_is_missing(tmp_path):
    said = greeting(tmp_path)
    assert said[0].startswith("icpe serves 0 models on http://127.0.0.1:8000")
    assert said[1] == (
        f"There is no trained explorer in {tmp_path} yet; files put there are offered "
        "at once."
    )
    assert said[2].startswith("Nobody can use it yet: make a token with icpe token")


def test_a_password_is_not_shown(tmp_path):
    said = greeting(tmp_path, storage="postgresql://ann:secret@db/icpe")
    assert said[1] == "Sessions are kept in postgresql://ann:***@db/icpe."
    assert said[-1].startswith("Nobody can use it yet") and "secret" not in said[-1]


def test_a_port_in_use_is_refused_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_PORT_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        url = f"sqlite:///{tmp_path}/sessions.db"
        with pytest.raises(InvalidParameterError) as caught:
            run(Args(storage=url, port=port, open=True))
    assert str(caught.value) == (
        f"The service cannot listen on 127.0.0.1:{port}: another program does, perhaps "
        "another icpe serve; stop that one, or choose another --port."
    )
    assert not list(tmp_path.iterdir())


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(InvalidParameterError, match="this machine has no such address"):
        workers.listening("192.0.2.1", 8000)


def test_workers_that_crash_when_they_start_end_the_service_with_a_sentence():
    program = """
import os, signal
from icpe.core.errors import IcpeError
from icpe.service.workers import Workers
try:
    Workers(2, lambda: os.kill(os.getpid(), signal.SIGBUS), 5.0).run()
except IcpeError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert "workers of the service end as soon as they are started" in done.stdout
    assert done.stderr.count("icpe: a worker died of SIGBUS.") >= 5
