"""What is exported, from the command line and in Python, and what is refused."""

import ast
import contextlib
import dataclasses
import json
import os
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax
from scipy.special import erfc

from icpe import Units, portable, zoo
from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.cli.main import main
from icpe.core.errors import UnsupportedError
from icpe.deploy import Session
from icpe.explorers.neural.paper import Objective, PaperNets
from icpe.export import export_html, export_onnx, onnx_file
from icpe.export.plain import plain
from icpe.families import (
    BernoulliBandit,
    BestOfK,
    BinarySearch,
    CaseTable,
    FeedbackGraph,
    GaussianBandit,
    RandomTests,
)
from support.exports import TINY, Twins, model_of, ruled, untrained
from support.random_weights import random_weights
from support.settings import guarded_settings
from support.toy_artifacts import guesser

SEARCH = BinarySearch(size=4)
GUESSER = guesser(size=4)


@pytest.fixture
def saved(tmp_path) -> Path:
    path = tmp_path / "guesser.safetensors"
    GUESSER.save(path)
    return path


def test_the_command_writes_a_model_and_says_so(saved, tmp_path, capsys):
    out = tmp_path / "out.onnx"
    assert main(["export", str(saved), "--to", "onnx", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["bytes"] == out.stat().st_size and told["to"] == "onnx"
    assert told["certified_error_probs"] == [] and told["guarded"] is False
    assert portable.Session(out, budget=2).ask() is not None
    assert main(["export", str(saved), "--to", "onnx", str(out)]) == 2
    assert "exists; choose a new name" in capsys.readouterr().err
    assert main(["export", str(saved), "--to", "onnx", str(out), "--overwrite"]) == 0


@pytest.mark.parametrize(
    "words, part",
    [
        ("nobody --to onnx x.onnx", "'nobody' is not a file"),
        ("binary-search-8 --to pdf x.pdf", "pdf"),
        ("binary-search-8 --to onnx no/such/folder/x.onnx", "OUT no/such"),
        ("binary-search-8 x.onnx", "--to"),
    ],
)
def test_bad_input_is_one_sentence(words, part, tmp_path, capsys):
    with contextlib.chdir(tmp_path):
        assert main(["export", *words.split()]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and part in said
    assert not list(tmp_path.iterdir())


def test_the_model_names_its_versions(tmp_path):
    onnx = pytest.importorskip("onnx")
    done = export_onnx(GUESSER, tmp_path / "out.onnx")
    proto = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(proto)
    assert [it.version for it in proto.opset_import if not it.domain] == [17]
    assert proto.ir_version <= 10  # of onnxruntime 1.18 and later
    assert onnx_file.OPSET == 17
    assert {"icpe", "jax", "jax2onnx", "onnx"} == set(done.document["versions"])
    first = (tmp_path / "out.onnx").read_bytes()
    assert portable.sealed(re.sub(rb"icpe-seal-\w{64}", zeros, first)) == first


def zeros(match) -> bytes:
    return b"icpe-seal-" + b"0" * 64


def test_a_rule_that_draws_at_random_is_refused_with_the_reason(tmp_path):
    with pytest.raises(UnsupportedError, match="draws its queries at random"):
        export_onnx(ruled(SEARCH, "uniform"), tmp_path / "out.onnx")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("score", ["information-gain", "top-two"])
def test_rules_are_exported(score):
    artifact = ruled(SEARCH, score)
    for number in (0, 3):
        twins = Twins(artifact, budget=4)
        while (query := twins.one.ask()) is not None:
            twins.tell(query, float(np.sign(number - query)))
        assert twins.two.recommendation == number


@pytest.mark.slow
def test_a_rule_knows_what_is_allowed_and_what_was_asked():
    tests = ruled(RandomTests(num_conditions=4, num_tests=6), "information-gain")
    twins = Twins(tests, budget=4)
    while (query := twins.one.ask()) is not None:
        twins.tell(query, float(query % 2))
    arms = ruled(BernoulliBandit(num_arms=3, horizon=6), "top-two")
    twins = Twins(arms, budget=6)
    for reward in (1.0, 0.0, 1.0):
        allowed = [True] * 3
        allowed[twins.asked] = False
        twins.tell(twins.asked, reward, query_mask=allowed)


def test_a_rule_serves_a_price_by_its_table():
    rows = tuple(
        OperatingRow(price, 4, 100, right, right - 0.05, 2.0, (2, 2, 3), 4, cost)
        for price, right, cost in ((0.01, 0.99, 3.0), (0.2, 0.8, 1.5))
    )
    table = OperatingTable(SEARCH.spec.horizon, 0, rows)
    table = dataclasses.replace(
        table,
        rows=tuple(dataclasses.replace(r, max_queries=table.horizon) for r in rows),
    )
    artifact = dataclasses.replace(ruled(SEARCH, "information-gain"), table=table)
    for asked in ({"price": 0.05}, {"price": 0.5}, {"error_prob": 0.1}):
        twins = Twins(artifact, **asked)
        point = twins.one.operating_point
        assert twins.two.operating_point.price == pytest.approx(float(point.price))
        while (query := twins.one.ask()) is not None:
            twins.tell(query, float(np.sign(2 - query)))


@pytest.mark.slow
def test_the_best_of_several_settings_in_the_units_of_the_user():
    artifact = ruled(BestOfK(most_settings=4, horizon=8), "top-two")
    units = Units("%", noise=1.5, matters=1.0)
    told = iter([12.1, 14.4, 11.0, 14.2, 13.9, 12.5, 14.1, 14.3])
    twins = Twins(artifact, budget=8, units=units, names=["red", "green", "blue"])
    assert "there are 3 of them" in twins.refused(lambda it: it.tell(3, 1.0))
    while twins.one.ask() is not None:
        name = twins.one.query_name
        assert "finite number in %" in twins.refused(
            lambda it, name=name: it.tell(name, "a lot")
        )
        twins.tell(name, next(told))
    assert twins.two.recommendation_name in ("red", "green", "blue")
    model = model_of(artifact)
    impossible: list[dict[str, Any]] = [
        {"units": units},
        {"units": 3, "names": ["a", "b"]},
        {},
        {"units": Units("%", 9.0, 1.0), "names": ["a", "b"]},
        {"units": units, "names": ["a", "a"]},
        {"units": units, "names": ["a", "b"], "first_outcome": [0.0, 2.0, 1.5]},
    ]
    for more in impossible:
        said = []
        for make in (
            lambda more=more: Session(artifact, budget=2, **more),
            lambda more=more: portable.Session(model, budget=2, **more),
        ):
            with pytest.raises(portable.IcpeError) as caught:
                make()
            said.append((type(caught.value), str(caught.value)))
        assert said[0] == said[1]
    other = model_of(untrained(SEARCH))
    with pytest.raises(UnsupportedError, match="BinarySearch takes outcomes in its"):
        portable.Session(other, budget=2, units=units)


@pytest.mark.parametrize("smaller", [False, True])
def test_alarms_and_names_are_the_users(smaller):
    units = Units("ms", noise=12, matters=8, smaller_is_better=smaller)
    names = ["as it is", "index", "cache"]
    twins = Twins(guarded_settings(), budget=8, units=units, names=names)
    assert twins.two.spec.question == "Try {query}: what is the outcome, in ms?"
    said = twins.refused(lambda it: it.tell("disk", 1.0))
    assert "from 0 to 2, or a name: as it is, index, cache; got 'disk'" in said
    twins.tell("as it is", 212.5)
    twins.tell("index", 2125)
    # 2.6 standard deviations of 2.5 on both sides of the first, in units of 8 ms.
    assert twins.two.alarm == (
        "2125 ms came for index, where 160 to 264 ms were expected; are the "
        "units and the order of answers right?"
    )


@pytest.mark.parametrize(
    "answers", [(37.2, "yes"), ("39,5 °C", "no"), (None, "Yes"), ("-", None)]
)
def test_explorers_of_tables_take_words_numbers_and_nothing(answers):
    artifact = ruled(CaseTable(units=("°C", "")), "information-gain")
    twins = Twins(artifact, budget=2)
    while (query := twins.one.ask()) is not None:
        twins.tell(query, answers[query])
    nothing = answers == ("-", None)
    assert twins.one.nothing_known == twins.two.nothing_known == nothing
    twins = Twins(artifact, budget=2)
    assert "must be a number in °C, or empty" in twins.refused(
        lambda it: it.tell(0, "hot")
    )
    said = twins.refused(lambda it: it.tell(1, "perhaps"))
    assert "t must be one of no, yes" in said


def test_the_runner_is_one_file_in_which_no_name_is_taken_twice(tmp_path, capsys):
    words = ["binary-search-8", "--to", "onnx", "out.onnx", "--runner", "portable.py"]
    with contextlib.chdir(tmp_path):
        assert main(["export", *words]) == 0
        assert main(["export", *words]) == 2
    assert "exists" in capsys.readouterr().err
    tree = ast.parse((tmp_path / "portable.py").read_text())
    names = [node.name for node in tree.body if isinstance(node, _NAMED)]
    assert len(names) == len(set(names)) and "Session" in names
    modules = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert not any(module and module.startswith("icpe") for module in modules)
    folder = Path(portable.__file__).parent
    for path in folder.glob("[!_]*.py"):  # of every module, all that it defines
        own = ast.parse(path.read_text()).body
        assert {it.name for it in own if isinstance(it, _NAMED)} <= set(names)


_NAMED = (ast.ClassDef, ast.FunctionDef)


def test_plain_operations_keep_the_digits_of_small_tails():
    shape = jax.ShapeDtypeStruct((201,), np.float32)
    x = np.linspace(-4, 9, 201, dtype=np.float32)
    (found,) = plain(lambda x: [lax.erfc(x)], [shape])(x)
    np.testing.assert_allclose(found, erfc(x.astype(float)), rtol=2e-5, atol=1e-38)


def test_networks_in_bfloat16_lose_their_certificates(tmp_path):
    transformer = dataclasses.replace(TINY.transformer, bfloat16=True)
    config = dataclasses.replace(TINY, transformer=transformer)
    done = export_onnx(untrained(SEARCH, config), tmp_path / "out.onnx")
    assert done.document["certificates"] == [] and "bfloat16" in done.notes[0]


@pytest.mark.parametrize("asked", [{"error_prob": 0.1}, {"budget": 3}], ids=str)
def test_explorers_of_the_paper_are_exported(asked):
    nets = random_weights(
        lambda key: PaperNets(SEARCH.spec, TINY, Objective(**asked), key=key)
    )
    artifact = dataclasses.replace(GUESSER, nets=nets, table=None)
    twins = Twins(artifact, **asked)
    while (query := twins.one.ask()) is not None:
        twins.tell(query, 1.0)
    with pytest.raises(portable.OperatingPointError, match="was trained for"):
        portable.Session(twins.two.model, price=0.1)


@pytest.mark.slow
def test_tied_heads_and_flags_are_exported():
    family = FeedbackGraph(num_arms=3)
    config = dataclasses.replace(TINY, tied_head=True, entry_summary=True)
    twins = Twins(untrained(family, config), budget=3)
    while (query := twins.one.ask()) is not None:
        twins.tell(query, [0.3, 0.0, 0.9, 1.0, 0.0, 1.0])


def test_a_page_needs_a_mask_that_the_family_knows(tmp_path, monkeypatch):
    family = GaussianBandit(num_arms=3, horizon=4, vary_arms=True)
    monkeypatch.setattr(type(family), "query_mask", lambda *_: None)
    with pytest.raises(UnsupportedError, match="only the user knows which"):
        export_html(untrained(family), tmp_path / "out.html")


PAGE = Path(__file__).parents[2] / "docs" / "export.md"


def test_the_page_has_the_table_of_the_measured_data():
    import exported as benchmark

    data = json.loads(benchmark.DATA.read_text())
    assert benchmark.with_table(PAGE.read_text(), data) == PAGE.read_text()
    for row in data["explorers"]:
        assert row["same"] >= 0.999 * row["episodes"], row["name"]
        assert row["posterior_apart"] <= 1e-5, row["name"]
    assert {row["name"] for row in data["explorers"]} == set(zoo.names())
