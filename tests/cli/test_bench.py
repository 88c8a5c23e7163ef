"""The command that times the learner; figures themselves are not judged here."""

import runpy
from pathlib import Path

import jax
import pytest

DOCS = Path(__file__).parents[2] / "docs"
DOCS = Path(__file__).parents[2] / "docs"
TINY = "--episodes 2 --steps 4 --width 8 --layers 1 --repeats 1"


@pytest.mark.slow
def test_bench_reports_every_figure_with_its_workload(icpe):
    with jax.numpy_dtype_promotion("standard"):  # optax mixes dtypes
        called = icpe(f"bench {TINY} --json")
    assert called.status == 0
    figures = called.json
    assert (figures["episodes"], figures["steps"]) == (2, 4)
    assert figures["device"]
    for name in (
        "update_ms",
        "rollout_ms",
        "gradient_ms",
        "episodes_per_second",
        "rollout_steps_per_second",
        "compile_seconds",
        "ask_ms",
        "tell_ms",
    ):
        assert figures[name] > 0, name
    for name in ("update_ms", "rollout_ms", "gradient_ms", "episodes_per_second"):
        assert figures["paper"][name] > 0, name
    assert figures["paper"]["gradient_steps"] == 4
    rates = figures["episodes_per_second"], figures["paper"]["episodes_per_second"]
    assert figures["episodes_ratio"] == pytest.approx(rates[0] / rates[1])


def test_the_race_refuses_to_take_no_time(icpe):
    called = icpe("bench --race --race-seconds 0")
    assert called.status == 2
    assert "--race-seconds must be a positive finite number; got 0" in called.err


def test_bench_refuses_an_empty_workload(icpe):
    called = icpe("bench --episodes 0")
    assert called.status == 2
    assert called.err == "icpe: --episodes must be at least 1; got 0.\n"


def test_the_ratio_of_speeds_stands_beside_the_times_to_equal_quality():
    page = (DOCS / "performance.md").read_text()
    tables = runpy.run_path(str(DOCS.parent / "benchmarks/performance_tables.py"))
    assert tables["filled"](page, DOCS / "data") == page
    sentences = [s for s in page.split(". ") if "70 times" in s]
    assert len(sentences) == 1
    assert "to equal quality it took 34 s against 35 s" in sentences[0]


def test_the_cost_of_processes_is_that_of_the_record():
    page = (DOCS / "scale.md").read_text()
    tables = runpy.run_path(str(DOCS.parent / "benchmarks/performance_tables.py"))
    assert tables["filled"](page, DOCS / "data", tables["SCALE_TABLES"]) == page


def test_the_cost_model_finds_the_parts_that_made_the_times():
    benchmark = runpy.run_path(str(DOCS.parent / "benchmarks/processes.py"))
    sizes = [(batch, number) for batch in (64, 256) for number in (1, 2, 4)]
    rows = [
        {
            "batch": batch,
            "processes": number,
            "cpu_ms": 0.5 * batch / number + 7.0 + (3.0 if number > 1 else 0.0),
        }
        for batch, number in sizes
    ]
    rows[2]["cpu_ms"] = 1e3  # of 4 processes, which nothing is fitted to
    parts = benchmark["parts_of"](rows)
    assert parts == pytest.approx({"an_episode": 0.5, "own": 7.0, "messages": 3.0})
