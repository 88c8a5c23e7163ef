"""The page says what the record of MNIST in 49 patches says."""

import json
import runpy
from pathlib import Path

import pytest

from icpe.artifact.certificate import Certificate
from icpe.theory.fixed_sequence import critical_successes

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def record():
    text = (ROOT / "docs" / "data" / "pictures.json").read_text(encoding="utf-8")
    return json.loads(text)


def test_the_page_is_up_to_date(record):
    """Otherwise: python benchmarks/pictures.py FILE"""
    script = runpy.run_path(str(ROOT / "benchmarks" / "pictures.py"))
    page = (ROOT / "docs" / script["PAGE"]).read_text(encoding="utf-8")
    tables = script["page_tables"](record)
    assert f"<!-- pictures -->\n{tables}\n<!-- /pictures -->" in page


def test_what_is_called_certified_follows_from_the_counts(record):
    it = Certificate.from_dict(record["certificate"])
    assert it.is_intact and it.test == "held-out" and it.attempt == 1
    assert it.level is not None and it.error_prob is not None
    needed = critical_successes(it.episodes, 1 - it.error_prob, 1 - it.level)
    assert it.certified == (it.bound_successes >= needed)
    again = record["certified"]
    assert (again["right"], again["images"]) == (it.bound_successes, it.episodes)
    assert again["queries"] == pytest.approx(it.mean_queries)
