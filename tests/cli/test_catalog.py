"""The catalog in a file says what the registries say."""

import dataclasses
import shutil
import subprocess
import sys
import typing

import pytest

from icpe import zoo
from icpe.artifact import guard, records
from icpe.cli import catalog, held_out
from icpe.cli.values import describe_type, described_type
from icpe.explorers.neural.config import NetConfig
from icpe.explorers.neural.paper import Objective
from icpe.families.patches import images
from icpe.families.patches.mnist import NUM_IMAGES
from icpe.families.registry import describe_record, family_names
from icpe.nets.evidence import PredictionShape
from icpe.nets.transformer import TransformerConfig


def test_the_file_is_up_to_date():
    """Otherwise: make catalog"""
    assert catalog.FILE.read_text(encoding="utf-8") == catalog.text()


def test_the_file_serves_until_a_module_is_imported(monkeypatch):
    live = catalog.family_cards(), catalog.explorer_cards(), catalog.family_names()
    monkeypatch.setattr(catalog, "_registries", lambda: None)
    read = catalog.family_cards(), catalog.explorer_cards(), catalog.family_names()
    assert live == read
    assert catalog.family_names() == family_names()
    parameters = {"num_arms": 4, "max_mean": 0.0, "horizon": 7}
    described = catalog.describe_record("gaussian-bandit", parameters)
    assert described == describe_record("gaussian-bandit", parameters)
    assert catalog.describe_record("mine", {"x": 1}) == "mine(x=1)"


@pytest.mark.parametrize(
    "hint", [int, float, bool, str, float | None, typing.Literal["a", "b"], tuple]
)
def test_types_are_found_again_from_their_words(hint):
    assert described_type(describe_type(hint)) == hint


@pytest.mark.parametrize(
    "record, config",
    [
        (records.TransformerRecord, TransformerConfig),
        (records.PredictionRecord, PredictionShape),
        (records.NetworkRecord, NetConfig),
        (records.ObjectiveRecord, Objective),
        (records.LimitsRecord, guard.Limits),
    ],
)
def test_a_record_has_the_fields_of_what_it_stands_for(record, config):
    """The same names, defaults and types, records standing for their own."""

    def fields(kind):
        hints = typing.get_type_hints(kind)
        return {
            it.name: (it.default, plain(hints[it.name]))
            for it in dataclasses.fields(kind)
        }

    def plain(hint):
        text = str(hint)
        for one, other in NAMES.items():
            text = text.replace(one, other)
        return text

    assert fields(record) == fields(config)


NAMES = {
    "icpe.nets.transformer.TransformerConfig": "TransformerRecord",
    "icpe.nets.evidence.PredictionShape": "PredictionRecord",
    "icpe.artifact.records.": "",
}


def test_the_numbers_of_images_are_those_of_the_files():
    assert held_out._NUM_MNIST_IMAGES == NUM_IMAGES
    assert held_out._HELD_BACK == images._HELD_BACK


QUICK = (
    (0, "--version"),
    (0, ""),
    (0, "tasks"),
    (0, "tasks gaussian-bandit"),
    (0, "baselines --json"),
    (0, "baselines track-and-stop"),
    (0, "zoo"),
    (0, "zoo binary-search-8 --json"),
    (0, "show binary-search-8"),
    (0, "show gaussian-bandit-4 --json"),
    (2, "tasks gausian-bandit"),
    (2, "show nothing"),
    (2, "tarin"),
    (2, "evaluate --eror-prob 0.1"),
    (0, "evaluate --help"),
    (0, "train gaussian-bandit --help"),
    (0, "completion bash"),
    (0, "__complete show bin"),
    (2, "evaluate nobody --error-prob 0.1"),
    (2, "evaluate uniform --error-prob 0.1"),
    (2, "evaluate uniform --family gausian-bandit --error-prob 0.1"),
    (2, "evaluate uniform --family gaussian-bandit --family.num-arm 4 --budget 4"),
    (2, "evaluate uniform --family gaussian-bandit --family.num-arms x --budget 4"),
    (2, "evaluate binary-search-8 --error-prob 2"),
    (2, "evaluate binary-search-8"),
    (2, "evaluate binary-search-8 --error-prob 0.1 --episodes 0"),
    (2, "evaluate binary-search-8 --error-prob 0.1 --plot figure.doc"),
    (2, "evaluate top-two:treshold=1 --family gaussian-bandit --budget 3"),
    (2, "evaluate no/such/file.safetensors --error-prob 0.1"),
    (2, "compare uniform uniform"),
    (2, "play binary-search-8 --human --json"),
    (2, "play binary-search-8 --budget 3 --price 0.1"),
    (2, "bounds chess"),
    (2, "bounds gaussian-bandit-4"),
    (2, "serve search.safetensors"),
    (2, "bounds binary-search --error-prob 0"),
    (2, "bounds gaussian-bandit --means 1"),
    (2, "certify binary-search-8 --error-prob 0.1"),
    (2, "certify missing.safetensors --error-prob 0.1"),
    (2, "certify binary-search-8 --verify --error-prob 7"),
    (2, "calibrate binary-search-8"),
    (2, "regret nobody"),
    (2, "train chess --out x.safetensors"),
    (2, "train binary-search --out x.safetensors --train.width x"),
    (2, "train binary-search --out x.safetensors --train.with 4"),
    (2, "train binary-search --out x.safetensors --resume"),
    (2, "train binary-search --out no/such/x.safetensors"),
    (2, "train binary-search --out x.safetensors --time-limit soon"),
    (2, "zoo nobody"),
    (2, "export nobody --to html x.html"),
    (2, "rule chess --out x.safetensors"),
    (2, "evaluate binary-search-8 --error-prob 0.1 --engine rya"),
    (2, "study walk"),
    (2, "study run"),
    (2, "study run binary-serch"),
    (2, "bounds --likelihoods none.csv"),
    (2, "bounds --network none.bif --target x"),
    (2, "train none.py:Family --out x.safetensors"),
    (2, "train binary-search --out x.safetensors --family.size"),
    (2, "train-table none.csv --target y"),
    (2, "train-table none.csv --target y --confidence 2"),
    (2, "rule binary-search --out x.safetensors --score top2"),
    (2, "ids --fewest-arms 9 --most-arms 7"),
    (2, "evaluate"),
    (2, "evaluate uniform --family binary-search --budget 0"),
    (2, "evaluate lucb --family binary-search --budget 3"),
    (2, "evaluate empty.safetensors --error-prob 0.1"),
    (2, "compare uniform top-two --family gaussian-bandit --accuracy 90"),
    (2, "regret ucb --family gaussian-bandit --horizon 0"),
    (2, "play binary-search-8 --save x.doc"),
    (2, "play binary-search-8 --save no/such/x.svg"),
    (2, "calibrate empty.safetensors"),
    (2, "certify empty.safetensors --error-prob 0.1"),
    (2, "certify empty.safetensors --error-prob 0.1 --groups [[0]"),
    (2, "replay none.json"),
    (2, "replay ."),
    (2, "replay empty.safetensors"),
    (2, "serve --port 99999999"),
    (2, "serve --models none"),
    (2, "serve --workers 0"),
    (2, "token revoke"),
    (2, "token list abc"),
    (0, "help train"),
    (0, "version"),
    (2, "tasks bandit"),
    (2, "show gaussian-bandit"),
    (2, "show track-and-stop"),
    (2, "play binary-search-8 --budget 1000"),
    (2, "play binary-search-8 --price 2"),
    (2, "play binary-search-8 --error-prob 10%"),
    (2, "evaluate binary-search-8 --error-prob 0.1 --max-queries 99"),
    (2, "train gaussian-bandit --out x.safetensors --num-arms 4"),
    (2, "train cases.csv --out x.safetensors"),
    (2, "train-table cases.csv --target Diagnosis"),
    (2, "train-table case.csv --target diagnosis"),
    (2, "train-table search.safetensors --target diagnosis"),
    (2, "play search.safetensor"),
    (2, "show serch.safetensors"),
    (2, "bounds gaussian-bandit --means 0 1 --error-prob 5"),
    (2, "bench --episodes 0"),
    (2, "export binary-search-8 --to onnx x.html"),
    (2, "sessions none.db"),
    (2, "serve --storage none.db"),
    (2, "token list --storage sqlite:///none.db"),
    (2, "sessions sqlite:///none.db"),
    (2, "report sqlite:///none.db trial"),
    (2, "train gaussian-bandit --out x.safetensors --family.num-arms 1"),
    (2, "train gaussian-bandit --out x.safetensors --family.noise -1"),
    (2, "train gaussian-bandit --out x.safetensors --family.horizon 0"),
    (2, "train group-testing --out x.safetensors --family.num-items 0"),
    (2, "train feedback-graph --out x.safetensors --family.kind star"),
    (2, "rule binary-search --out x.safetensors --family.size 1"),
    (2, "evaluate uniform --family bernoulli-bandit --family.num-arms 1 --budget 4"),
    (2, "bounds magic-room --family.luck 2"),
    (2, "regret ucb --family gaussian-bandit --family.noise 0 --horizon 8"),
    (2, "train binary-search --out x.safetensors --train.num-iterations 0"),
    (2, "train binary-search --out x.safetensors --train.width 0"),
    (2, "train binary-search --out x.safetensors --train.learning-rate -1"),
    (2, "train binary-search --out x.safetensors --learner paper --train.budget -1"),
    (2, "train binary-search --out x.safetensors --learner paper --from digits"),
    (
        2,
        "train binary-search --out x.safetensors --learner paper --error-prob 0.1 "
        "--train.budget 4",
    ),
    (2, "train --items cases.csv --cuts 2 1 --out x.safetensors"),
    (2, "evaluate uniform --items bank.csv --cuts 0 --family.max-item 2 --budget 2"),
    (2, "train --items bank.csv --cuts 0 --family.max-item 20 --out x.safetensors"),
    (2, "train --items bank.csv --cuts 0 --family.max-items x --out x.safetensors"),
    (2, "rule --items bank.csv --cuts 0 --content-limits algebr=6 --out x.safetensors"),
    (2, "bounds --items bank.csv --cuts 0 --content-limits algebra"),
    (2, "compare sprt uniform --items bank.csv --cuts 0 --content-limits sum=1"),
    (2, "play sprt --items bank.csv --cuts 0 --bands fail --budget 2"),
    (2, "play sprt --family binary-search --bands fail pass --budget 2"),
    (2, "train-table cases.csv --target diagnosis --held-out 2"),
    (2, "evaluate gaussian-bandit-4 --error-prob 0.0001"),
    (2, "play gaussian-bandit-4 --error-prob 0.0001"),
    (2, "evaluate gaussian-bandit-4 --error-prob 0.1 --address auto"),
    (2, "certify gaussian-bandit-4 --verify --address auto"),
    (2, "certify cases.csv --error-prob 0.1 --groups [[0]]"),
    (2, "certify binary-search-8 --verify --budget 99"),
    (2, "calibrate search.safetensors --max-queries 99"),
    (2, "serve --storage ftp://x"),
    (2, "study run binary-search --out cases.csv"),
    (2, "study run binary-search --time-limit soon"),
    (2, "study run binary-search --address auto"),
    (2, "compare gaussian-bandit-4 lucb --episodes 1"),
    (2, "compare gaussian-bandit-4 --accuracy 0.9"),
    (2, "compare sprt --items bank.csv --cuts 0"),
    (2, "play digits --human --strip x.png"),
)
SCRIPT = """
import contextlib, io, sys
from icpe.cli.main import main
for line in sys.argv[1:]:
    status, _, words = line.partition(" ")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        found = main(words.split())
    assert found == int(status), (words, found, out.getvalue())
    heavy = {"jax", "equinox", "scipy"} & set(sys.modules)
    assert not heavy, (words, heavy)
"""


def test_listings_and_refusals_need_no_jax(tmp_path):
    """What takes seconds is loaded by those commands alone that compute."""
    (tmp_path / "empty.safetensors").write_bytes(b"")
    (tmp_path / "cases.csv").write_text("fever,diagnosis\nyes,flu\n")
    (tmp_path / "bank.csv").write_text("item,b,content\none,0,algebra\ntwo,1,sums\n")
    shutil.copy(zoo.path("binary-search-8"), tmp_path / "search.safetensors")
    lines = [f"{status} {words}" for status, words in QUICK]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *lines],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
