"""The runner in an environment that has numpy and onnxruntime alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from icpe import zoo
from icpe.deploy import Session
from icpe.export import export_onnx, write_runner

SCRIPT = """
import importlib.util, json, sys
import portable
for name in ("jax", "scipy", "equinox", "icpe"):
    assert importlib.util.find_spec(name) is None, name
session = portable.Session(sys.argv[1], error_prob=0.01)
while (query := session.ask()) is not None:
    session.tell(query, float((int(sys.argv[2]) > query) - (int(sys.argv[2]) < query)))
print(json.dumps({
    "queries": [answer.query for answer in session.history],
    "answer": session.recommendation,
    "certified": session.certified,
    "confidence": session.certificate.confidence,
}))
"""


@pytest.mark.services
def test_the_runner_alone_plays_as_the_session_does(tmp_path):
    environment = tmp_path / "alone"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    constraints = Path(__file__).parents[2] / "constraints.txt"
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", constraints]
    subprocess.run([*install, "numpy", "onnxruntime"], check=True)
    write_runner(tmp_path / "portable.py")
    artifact = zoo.load("binary-search-16")
    export_onnx(artifact, tmp_path / "search.onnx")
    (tmp_path / "script.py").write_text(SCRIPT)
    for number in (0, 5, 15):
        done = subprocess.run(
            [python, "script.py", "search.onnx", str(number)],
            cwd=tmp_path,
            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        session = Session(artifact, error_prob=0.01)
        while (query := session.ask()) is not None:
            session.tell(query, float((number > query) - (number < query)))
        assert found["queries"] == [answer.query for answer in session.history]
        assert (found["answer"], found["certified"]) == (number, True)
        assert session.certificate is not None
        assert found["confidence"] == session.certificate.confidence
