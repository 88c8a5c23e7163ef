"""The tables of the pages about one's own data are those of the record."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "benchmarks" / "own_data_page.py"))
RECORD = json.loads((ROOT / "docs" / "data" / "own-data.json").read_text("utf-8"))


@pytest.mark.parametrize("name", RECORD)
def test_the_page_has_what_was_measured(name):
    """Otherwise: python benchmarks/own_data_page.py"""
    page = ROOT / "docs" / "bring-your-own" / SCRIPT["PAGES"][name]
    text = page.read_text(encoding="utf-8")
    assert f"<!-- {name} -->" in text
    assert SCRIPT["with_tables"](text, RECORD) == text


def test_the_bank_is_the_one_that_is_drawn(tmp_path):
    script = runpy.run_path(str(ROOT / "benchmarks" / "own_data.py"))
    script["write_bank"](tmp_path / "bank.csv")
    published = ROOT / "docs" / "data" / "item-bank.csv"
    assert (tmp_path / "bank.csv").read_text() == published.read_text()
