"""What is exported, from the command line and in Python, and what is refused."""

import contextlib
import dataclasses
import json
import os
import re
from pathlib import Path

import pytest

from icpe import portable
from icpe.cli.main import main
from icpe.core.errors import UnsupportedError
from icpe.explorers.neural.paper import Objective, PaperNets
from icpe.export import export_html, export_onnx, onnx_file
from icpe.families import BinarySearch, FeedbackGraph, GaussianBandit
from support.exports import TINY, Twins, untrained
from support.random_weights import random_weights
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


def test_rules_are_refused_with_the_reason(tmp_path):
    rule = dataclasses.replace(GUESSER, nets=make_rule_nets())
    with pytest.raises(UnsupportedError, match="is the rule"):
        export_onnx(rule, tmp_path / "out.onnx")
    assert os.listdir(tmp_path) == []


def make_rule_nets():
    from icpe.artifact.saved_rule import SavedRule, rules_for

    return SavedRule.of(SEARCH, rules_for(SEARCH)[0])


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
ROUNDED = {"deterministic-bandit-10"}
"""Where jax itself differs by almost 1e-5 between one episode and a batch of them, so
that one of a thousand posteriors is 1.3e-5 apart; the page says so."""


def test_the_page_has_the_table_of_the_measured_data():
    import exported as benchmark

    data = json.loads(benchmark.DATA.read_text())
    assert benchmark.with_table(PAGE.read_text(), data) == PAGE.read_text()
    for row in data["explorers"]:
        assert row["same"] >= 0.999 * row["episodes"], row["name"]
        assert row["posterior_apart"] <= 1e-5 or row["name"] in ROUNDED, row["name"]
