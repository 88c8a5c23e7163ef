"""The pages on data of one's own: what they tell to type is typed, at tiny size."""

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from icpe.cli.main import main
from icpe.families import registry

PAGES = Path(__file__).parents[1] / "docs" / "bring-your-own"
NAMES = ("likelihoods", "networks", "item-banks")


@pytest.fixture
def page(request, tmp_path, monkeypatch):
    """A page's text, in a folder with the files that it shows."""
    text = (PAGES / f"{request.param}.md").read_text(encoding="utf-8")
    for name, content in re.findall(
        r"`([\w.-]+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
    yield text
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


_SLOW = pytest.mark.slow
"""For the page that trains."""


def python_blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize(
    "page",
    [pytest.param(it, marks=_SLOW if it == "likelihoods" else ()) for it in NAMES],
    indirect=True,
)
def test_the_python_of_a_page_runs(page, hardly_trained):
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, block in enumerate(python_blocks(page)):
        exec(compile(block, f"block {number}", "exec"), names)


@pytest.mark.slow
@pytest.mark.parametrize("page", NAMES, indirect=True)
def test_the_commands_of_a_page_run(page, hardly_trained, monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", lambda prompt="": "quit")
    commands = re.findall(r"^icpe (.*)$", page, re.MULTILINE)
    assert commands
    for command in commands:
        name = command.split()[0]
        few = {
            "train": "--calibration-episodes 8 --preset cpu",
            "evaluate": "--episodes 64",
            "compare": "--episodes 64",
        }.get(name, "")
        status = main(shlex.split(f"{command} {few}"))
        _, err = capsys.readouterr()
        # What was hardly trained need not be certified.
        assert status == 0 or (name == "certify" and status == 1), (command, err)
