"""The page on a family of one's own: what it tells to type is typed, at tiny size."""

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from icpe.cli.main import main
from icpe.families import registry
from icpe.testing import check_family

PAGE = Path(__file__).parents[1] / "docs" / "own-family.md"


@pytest.fixture
def blocks(tmp_path, monkeypatch):
    """The page's code, its first block in the file that it names."""
    module, known, script = re.findall(
        r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL
    )
    (tmp_path / "coins.py").write_text(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
    monkeypatch.setattr("builtins.input", lambda prompt="": "1")
    yield module, known, script
    sys.modules.pop("coins", None)


def run(code, name):
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, name, "exec"), names)
    return names


def test_the_family_of_the_page_keeps_its_contract(blocks):
    module, *_ = blocks
    check_family(run(module, "coins.py")["BiasedCoin"]())


def test_a_likelihood_is_what_the_page_says(blocks):
    _, known, _ = blocks
    found = run(known, "known.py")
    check_family(found["family"])
    assert found["greedy"].name == "information-gain"


def test_the_python_of_the_page_runs(blocks, hardly_trained, capsys):
    *_, script = blocks
    run(script, "script")
    assert re.search(r"Coin \d is biased: \[", capsys.readouterr().out)


@pytest.mark.slow
def test_the_commands_of_the_page_run(blocks, hardly_trained, capsys):
    *_, script = blocks
    run(script, "script")
    commands = re.findall(r"^icpe (.*)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        few = "--calibration-episodes 8 --preset cpu" if "train" in command else ""
        few = "--episodes 64" if "evaluate" in command else few
        status = main(shlex.split(f"{command} {few}"))
        out, err = capsys.readouterr()
        assert status == 0, (command, err)
        assert "biased-coin" in out
