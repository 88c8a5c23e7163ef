"""What the README says is what the project does."""

from pathlib import Path

from readme_table import rule_ahead, with_table

ROOT = Path(__file__).parents[1]


def test_the_table_is_made_of_the_results():
    """Otherwise: python benchmarks/readme_table.py"""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert with_table(readme) == readme
    assert readme.count("| best of ") == 2 and readme.count("| a number among ") == 2


def test_where_the_rule_is_ahead_is_said():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"With four arms {rule_ahead(4, 0.99)}" in readme


def test_every_page_that_is_linked_is_there():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = [part.split(")")[0] for part in readme.split("](")[1:]]
    local = [link.split("#")[0] for link in links if "://" not in link]
    assert len(local) > 20
    assert [link for link in local if not (ROOT / link).exists()] == []
