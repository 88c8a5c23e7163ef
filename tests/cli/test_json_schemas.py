"""What --json prints fits the schemas in the docs."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from icpe.cli.json_schemas import schemas
from support.toy_artifacts import guesser

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
BANDIT = "--family gaussian-bandit --family.num-arms 2 --family.horizon 4"
QUICK = (
    "tasks",
    "tasks binary-search",
    "baselines",
    "zoo",
    "show gaussian-bandit-4",
    "show {file}",
    "bounds binary-search --family.size 4",
    "bounds gaussian-bandit --means 0.7 0.5",
    "play exact-binary-search --family binary-search",
    "evaluate exact-binary-search --family binary-search --episodes 8 --budget 2",
    "evaluate uniform exact-binary-search --family binary-search --episodes 8 "
    "--budget 2",
    "certify {file} --error-prob 0.6 --episodes 512",
)
LONG = (
    "calibrate {file} --episodes 8",
    f"compare uniform top-two {BANDIT} --accuracy 0.7 --episodes 64",
    f"regret ucb {BANDIT} --horizon 8 --episodes 8",
    f"regret ucb thompson {BANDIT} --horizon 8 --episodes 8",
)


def test_the_files_are_up_to_date():
    """Otherwise: make schemas"""
    written = {
        path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")
    }
    assert written == schemas()


@pytest.mark.parametrize("name", schemas())
def test_a_schema_is_one(name):
    Draft202012Validator.check_schema(schemas()[name])


def check(icpe, tmp_path, words):
    file = tmp_path / "explorer.safetensors"
    guesser().save(file)
    called = icpe(f"{words.format(file=file)} --json")
    assert called.status in (0, 1), called.err
    validator = Draft202012Validator(schemas()[words.split()[0]])
    assert not list(validator.iter_errors(called.json))
    return validator, called.json


@pytest.mark.parametrize("words", QUICK)
def test_what_is_printed_fits(icpe, tmp_path, words):
    check(icpe, tmp_path, words)


@pytest.mark.slow
@pytest.mark.parametrize("words", LONG)
def test_what_long_commands_print_fits(icpe, tmp_path, words):
    check(icpe, tmp_path, words)


def test_something_else_does_not_fit(icpe, tmp_path):
    validator, (family,) = check(icpe, tmp_path, "tasks binary-search")
    assert list(validator.iter_errors([{**family, "name": 3}]))
    del family["summary"]
    assert list(validator.iter_errors([family]))
