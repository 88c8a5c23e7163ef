"""The pages on one's own units and on Gymnasium: every block of Python is run."""

import re
import sys
from pathlib import Path
from typing import Any

import jax
import pytest

import icpe
from icpe import workflow
from icpe.learn import recipe, survey
from icpe.studies.tiny import TINY

PAGES = Path(__file__).parents[2] / "docs" / "bring-your-own"


def blocks(page: str) -> list[str]:
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run(code: str, names: dict[str, Any]) -> None:
    exec(compile(code, "page", "exec"), names)


def test_units(monkeypatch, capsys):
    answers = iter([71.2, 73.4, 72.9, 69.8] * 50)
    monkeypatch.setattr("builtins.input", lambda prompt="": str(next(answers)))
    ask, check = blocks("units.md")
    names: dict[str, Any] = {"__name__": "__main__"}
    run(ask, names)
    told = capsys.readouterr().out
    assert "Best: " in told and "certified: True" in told
    run(check, names)
    close = re.search(r"one of the two best: (\d+) of 20", capsys.readouterr().out)
    assert close and int(close[1]) >= 16


@pytest.fixture
def hardly_trained(monkeypatch):
    monkeypatch.setattr(recipe, "_CPU", TINY)
    monkeypatch.setattr(recipe, "_FEWER", {"cpu": TINY.num_iterations})
    monkeypatch.setattr(survey, "_ON_HOST", 2**9)
    monkeypatch.setattr(survey, "_NUM_EPISODES", 512)
    train = workflow.train
    monkeypatch.setattr(
        icpe, "train", lambda *given: train(*given, calibration_episodes=8), False
    )
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.mark.slow
def test_gymnasium(tmp_path, monkeypatch, hardly_trained, capsys):
    module, *others = blocks("gymnasium.md")
    (tmp_path / "boxes.py").write_text(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in others:
        run(block, names)
    sys.modules.pop("boxes", None)
    assert names["session"].ask() in range(4)
    assert names["vectorized"].num_queries == 4
    assert re.search(r"the number is (lower|there|higher)", capsys.readouterr().out)
