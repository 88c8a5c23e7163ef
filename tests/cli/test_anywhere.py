"""Options that every command takes: where they may stand, and families of one's own."""

import dataclasses
import os
import sys

import pytest

from icpe.cli.anywhere import split_anywhere
from icpe.cli.main import COMMANDS
from icpe.explorers import registry as explorers
from icpe.families import registry as families
from support.toy_artifacts import guesser

MODULE = """
from icpe import register
from icpe.families import BinarySearch


class Mine(BinarySearch):
    '''One of my own.'''


register("mine", Mine)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module `mine`; whatever is imported is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(families, "_FACTORIES", dict(families._FACTORIES))
    monkeypatch.setattr(explorers, "_ENTRIES", dict(explorers._ENTRIES))
    before = set(sys.modules)
    (tmp_path / "mine.py").write_text(MODULE)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", "") or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize(
    "words, rest, taken",
    [
        ("a --import m b", "a b", [("--import", "m")]),
        ("a --import=m --debug", "a", [("--import", "m"), ("--debug", "")]),
        ("--data f a --import m", "a", [("--data", "f"), ("--import", "m")]),
        ("a --import m --import=n", "a", [("--import", "m"), ("--import", "n")]),
        ("a --out x --import m", "a --out x", [("--import", "m")]),
        ("a --import --out x", "a --out x", [("--import", "")]),
        ("a --import", "a", [("--import", "")]),
        ("a --family.x 3 --import m b", "a --family.x 3 b", [("--import", "m")]),
        ("a --family.x --import m b", "a --family.x=true b", [("--import", "m")]),
        ("a --train.x --debug b", "a --train.x=true b", [("--debug", "")]),
        ("a --important b", "a --important b", []),
    ],
)
def test_options_are_taken_out_and_nothing_else(words, rest, taken):
    assert split_anywhere(words.split()) == (rest.split(), taken)


def test_a_module_brings_in_its_families_wherever_it_is_named(icpe, folder):
    assert "mine" not in {family["name"] for family in icpe("tasks --json").json}
    for words in ("tasks --import mine --json", "--import=mine tasks --json"):
        found = {family["name"]: family for family in icpe(words).json}
        assert found["mine"]["summary"] == "One of my own."
    called = icpe("train mine --family.size 1 --import mine --out x")
    assert "size must be at least 2; got 1" in called.err


def test_a_file_for_a_family_of_ones_own_is_used_with_its_module(icpe, folder):
    icpe("tasks --import mine")
    family = families.make("mine", size=2)
    artifact = dataclasses.replace(guesser(size=2), family=family)
    artifact.save(folder / "mine.safetensors")
    families._FACTORIES.pop("mine")
    del sys.modules["mine"]
    words = "play mine.safetensors --budget 2 --json"
    refused = icpe(words)
    assert refused.status == 2 and refused.err.count("\n") == 1
    assert "--import mine.py:Mine" in refused.err
    assert icpe(f"{words} --import mine").status == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_a_module(icpe, folder, command):
    assert icpe(f"{command} --import mine --help").status == 0
    assert "mine" in families._FACTORIES


def test_modules_in_packages_and_several_modules_are_imported(icpe, folder):
    (folder / "shelf").mkdir()
    (folder / "shelf" / "__init__.py").write_text("")
    (folder / "shelf" / "more.py").write_text(MODULE.replace("mine", "more"))
    icpe("--import mine --import shelf.more tasks")
    assert {"mine", "more"} <= set(families.family_names())


FAULTS = {
    "nothing": ("--import", "name of a module, such as mine for the file mine.py"),
    "an option": ("--import --json", "got nothing"),
    "no such file": ("--import yours.py", "there is no file yours.py; `icpe new yours"),
    "no such class": ("--import mine.py:Yours", "it has Mine."),
    "a broken file": ("--import broken.py", "broken.py raises ZeroDivisionError: "),
    "a path": ("--import src/mine", "got src/mine"),
    "no such module": ("--import yours", "--import yours finds no such module"),
    "no such package": ("--import yours.mine", "finds no such module"),
    "no module inside": ("--import mine.deeper", "finds no such module"),
    "a broken one": ("--import broken", "the module raises ZeroDivisionError: "),
    "one that needs more": ("--import needy", "No module named 'not_installed'; fix"),
    "one that exits": ("--import leaver", "the module raises SystemExit: 3"),
    "a taken name": ("--import taken", "'gaussian-bandit' is already registered"),
}


@pytest.mark.parametrize("words, part", FAULTS.values(), ids=FAULTS)
def test_what_cannot_be_imported_is_said_in_one_sentence(icpe, folder, words, part):
    (folder / "broken.py").write_text("1 / 0")
    (folder / "needy.py").write_text("import not_installed")
    (folder / "leaver.py").write_text("raise SystemExit(3)")
    (folder / "taken.py").write_text(MODULE.replace('"mine"', '"gaussian-bandit"'))
    called = icpe(f"tasks {words}")
    assert (called.status, called.out) == (2, "")
    assert called.err.startswith("icpe: --import") and called.err.count("\n") == 1
    assert part in called.err


def test_debug_shows_where_a_module_fails(icpe, folder):
    (folder / "broken.py").write_text("1 / 0")
    called = icpe("tasks --import broken --debug")
    assert called.status == 2
    assert "broken.py" in called.err and "Traceback" in called.err


def test_a_family_that_is_missing_is_answered_with_the_option(icpe):
    assert "by --import MODULE" in icpe("train mine --out x").err
    assert "--import MODULE" in icpe("--help").out


def test_data_takes_its_folder_behind_an_equals_sign(icpe, tmp_path, monkeypatch):
    monkeypatch.setenv("ICPE_DATA", "elsewhere")
    assert icpe(f"--version --data={tmp_path}").status == 0
    assert os.environ["ICPE_DATA"] == str(tmp_path)
