"""The page on tables: what it tells to type is typed."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from icpe.cli.main import main

PAGE = Path(__file__).parents[1] / "docs" / "bring-your-own" / "tables.md"


@pytest.mark.slow
def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    first, second, third = capsys.readouterr().out.strip().splitlines()
    assert re.fullmatch(r"0\.9\d\d right with [1-5]\.\d of 30 features", first)
    assert second.split()[0] in ("benign", "malignant")
    assert third.endswith("held-out rows")


@pytest.mark.slow
def test_the_commands_of_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    assert isinstance(rows, pd.DataFrame)
    names = np.array(["malignant", "benign"])[np.asarray(labels)]
    rows.assign(diagnosis=names).to_csv("data.csv", index=False)
    Path("costs.csv").write_text("feature,cost\nworst area,2\n", encoding="utf-8")
    monkeypatch.setattr("builtins.input", lambda prompt="": "")
    (commands,) = re.findall(r"```\n(icpe .*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    for command in commands.strip().splitlines():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert main(command.split()[1:]) == 0, command
    printed = " ".join(capsys.readouterr().out.split())
    assert "held-out rows, which nothing saw before" in printed
    assert "Verified" in printed
