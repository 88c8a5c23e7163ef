"""The help of every command ends with two examples, which are commands indeed."""

import importlib
import shlex

import pytest

from icpe.cli.main import APART, COMMANDS, module_of
from icpe.cli.parsing import parse


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_ends_with_two_examples(icpe, command):
    called = icpe(f"{command} --help")
    assert called.status == 0
    *_, heading, first, second = called.out.splitlines()
    assert heading == "examples:"
    examples = importlib.import_module(module_of(command)).EXAMPLES
    assert [first.strip(), second.strip()] == list(examples)
    assert len(set(examples)) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_fit(command):
    module = importlib.import_module(module_of(command))
    for example in module.EXAMPLES:
        name, given, *words = shlex.split(example)
        assert (name, given) == ("icpe", command)
        assert parse(module.Args, words, prog=f"icpe {command}") is not None


def test_a_trained_explorer_is_served_from_its_folder(icpe):
    called = icpe("serve mine/search.safetensors")
    assert called.status == 2
    assert "give the folder of trained explorers by --models mine" in called.err


def test_tools_are_listed_apart(icpe):
    main, _, apart = icpe("--help").out.partition("the paper, developers and shells:")
    for command in COMMANDS:
        assert f"\n  {command} " in (apart if command in APART else main)
