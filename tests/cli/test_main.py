"""The commands: what they print, and what they say about bad input."""

import importlib
import os
import subprocess
import sys

import pytest

from icpe.cli import main as main_module
from icpe.cli.main import COMMANDS, main, module_of
from icpe.cli.parsing import parse
from icpe.core.errors import WriteError

BANDIT = "--family gaussian-bandit --family.num-arms 3 --family.horizon 20"
QUIET = "--family deterministic-bandit --family.num-arms 4"
REPORT_KEYS = {
    "explorer",
    "family",
    "episodes",
    "seed",
    "price",
    "budget",
    "error_prob",
    "certified",
    "confidence",
    "attempt",
    "accuracy",
    "accuracy_interval",
    "mean_queries",
    "mean_queries_interval",
    "max_queries",
    "mean_cost",
}


def test_help_names_every_command(icpe):
    for words in ("", "--help", "-h"):
        called = icpe(words)
        assert called.status == 0
        assert all(command in called.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(icpe, command):
    called = icpe(f"{command} --help")
    assert called.status == 0
    assert f"usage: icpe {command}" in called.out


ONE_OF_EACH = (
    "demo",
    "tasks",
    "baselines",
    "zoo",
    "bounds binary-search",
    "ids",
    "new x.py",
    "train binary-search --out x",
    "train-table x.csv --target y",
    "rule binary-search --out x",
    "show x",
    "calibrate x",
    "certify x",
    "evaluate uniform",
    "compare uniform",
    "regret ucb",
    "play uniform",
    "serve",
    "token list",
    "export x --to onnx y",
    "sessions sqlite:///x.db",
    "report sqlite:///x.db y",
    "replay x",
    "study list",
    "study run binary-search",
    "study report binary-search",
    "bench",
    "completion bash",
)


def test_there_is_one_of_each():
    assert {words.split()[0] for words in ONE_OF_EACH} == set(COMMANDS)


@pytest.mark.parametrize("words", ONE_OF_EACH)
def test_every_command_takes_a_seed(words):
    command, *rest = words.split()
    args = importlib.import_module(module_of(command)).Args
    for seed in (["--seed", "1"], ["--seed=1"]):
        filled = parse(args, [*rest, *seed], prog="icpe")
        assert filled is not None and filled.seed == 1


def test_tasks_lists_the_families_with_their_parameters(icpe):
    families = {family["name"]: family for family in icpe("tasks --json").json}
    assert {"binary-search", "deterministic-bandit", "gaussian-bandit"} <= set(families)
    parameters = families["binary-search"]["parameters"]
    assert parameters[0]["name"] == "size"
    assert (parameters[0]["type"], parameters[0]["default"]) == ("a whole number", 8)
    assert "--family.num-arms" in icpe("tasks").out


def test_baselines_lists_the_explorers_with_their_families(icpe):
    explorers = {
        explorer["name"]: explorer for explorer in icpe("baselines --json").json
    }
    assert {"uniform", "top-two", "exact-binary-search"} <= set(explorers)
    assert explorers["exact-binary-search"]["families"] == ["binary-search"]
    assert "gaussian-bandit" in explorers["top-two"]["families"]
    assert "top-two" in icpe("baselines").out


def test_bounds_gives_the_exact_optimum_of_binary_search(icpe):
    called = icpe("bounds binary-search --family.size 256 --json")
    assert called.status == 0
    assert called.json["mean_queries"] == 6.5390625
    assert called.json["max_queries"] == 8
    assert called.json["family"]["parameters"]["size"] == 256
    assert "6.53906" in icpe("bounds binary-search --family.size=256").out


@pytest.mark.slow
def test_evaluate_gives_one_object_for_one_explorer(icpe):
    called = icpe(
        "evaluate exact-binary-search --family binary-search --error-prob 0.01 "
        "--episodes 64 --seed 3 --json"
    )
    assert called.status == 0
    assert set(called.json) >= REPORT_KEYS
    assert called.json["explorer"] == "exact-binary-search"
    assert called.json["accuracy"] == 1.0
    assert called.json["max_queries"] == 3
    assert (called.json["seed"], called.json["error_prob"]) == (3, 0.01)
    assert (called.json["budget"], called.json["price"]) == (None, None)
    assert called.json["certified"] is False
    assert called.json["confidence"] is None


def test_evaluate_gives_a_list_for_several_explorers(icpe):
    called = icpe(f"evaluate uniform top-two {QUIET} --budget 3 --episodes 64 --json")
    assert called.status == 0
    assert [report["explorer"] for report in called.json] == ["uniform", "top-two"]
    assert {report["mean_queries"] for report in called.json} == {3.0}


def test_evaluate_prints_a_table_for_people(icpe):
    called = icpe(f"evaluate uniform {QUIET} --budget 3 --episodes 64")
    assert called.status == 0
    assert "uniform" in called.out
    assert "3.000" in called.out


def test_both_spellings_of_a_family_parameter_are_accepted(icpe):
    words = "evaluate uniform --budget 3 --episodes 64 --json"
    hyphens = icpe(f"{words} --family deterministic-bandit --family.num-arms 4")
    underscores = icpe(f"{words} --family=deterministic-bandit --family.num_arms=4")
    assert hyphens.json == underscores.json
    assert hyphens.json["family"]["parameters"]["num_arms"] == 4


def test_evaluate_draws_a_figure(icpe, tmp_path):
    path = tmp_path / "figure.svg"
    called = icpe(
        f"evaluate uniform {QUIET} --budget 3 --episodes 64 --json --plot {path}"
    )
    assert called.status == 0
    assert called.json["budget"] == 3
    assert path.read_text().startswith("<?xml")


@pytest.mark.slow
def test_a_parameter_of_an_explorer_is_set_behind_its_name(icpe):
    words = f"{QUIET} --error-prob 0.01 --episodes 64 --json"
    strict, loose = icpe(f"evaluate top-two top-two:threshold=0.2 {words}").json
    assert loose["explorer"] == "top-two:threshold=0.2"
    # The prior gives every arm 0.25, more than this threshold.
    assert (loose["mean_queries"], loose["max_queries"]) == (0.0, 0)
    assert strict["mean_queries"] > 1


@pytest.mark.slow
def test_the_right_questions_save_queries_at_the_same_error_probability(icpe):
    called = icpe(
        "evaluate uniform top-two --family gaussian-bandit --family.num-arms 4 "
        "--error-prob 0.1 --episodes 4000 --json"
    )
    uniform, top_two = called.json
    # Both err with probability at most 0.1; seen in 4000 episodes, below 0.881 has
    # probability less than 4e-5.
    assert min(uniform["accuracy"], top_two["accuracy"]) > 0.881
    assert top_two["mean_queries_interval"][1] < uniform["mean_queries_interval"][0]


BAD_INPUT = {
    "an unknown command": ("evalute uniform", "no command 'evalute'"),
    "an unknown family": (
        "evaluate uniform --family gausian-bandit --budget 3",
        "did you mean 'gaussian-bandit'",
    ),
    "an unknown family in bounds": ("bounds chess", "no family 'chess'"),
    "an unknown explorer": (f"evaluate unifrom {BANDIT} --budget 3", "unifrom"),
    "an unknown field": (
        "evaluate uniform --family gaussian-bandit --family.arms 3 --budget 3",
        "num_arms, min_gap, noise",
    ),
    "a gap larger than the range": (
        f"evaluate uniform {BANDIT} --family.min-gap 9 --budget 3",
        "min_gap must be smaller than the range of the means 1.2; got 9",
    ),
    "a size of 1": (
        "bounds binary-search --family.size 1",
        "size must be at least 2; got 1",
    ),
    "a budget above the horizon": (
        f"evaluate uniform {BANDIT} --budget 21",
        "horizon 20; got 21",
    ),
    "an error probability above 1": (
        f"evaluate uniform {BANDIT} --error-prob 1.5",
        "strictly between 0 and 1; got 1.5",
    ),
    "an error probability of 0": (
        "bounds binary-search --error-prob 0",
        "strictly between 0 and 1; got 0",
    ),
    "an explorer that cannot serve the family": (
        f"evaluate exact-binary-search {BANDIT} --budget 3",
        "binary-search",
    ),
    "an unknown parameter of an explorer": (
        f"evaluate top-two:speed=3 {BANDIT} --budget 3",
        "no parameter 'speed'",
    ),
    "a word for a number of an explorer": (
        f"evaluate top-two:threshold=high {BANDIT} --budget 3",
        "top-two:threshold must be a number or null; got 'high'",
    ),
    "two regimes": (
        f"evaluate uniform {BANDIT} --budget 3 --error-prob 0.1",
        "got --error-prob and --budget",
    ),
    "no regime": (f"evaluate uniform {BANDIT}", "got none of them"),
    "a regime that the explorer refuses": (
        f"evaluate uniform {BANDIT} --price 0.1",
        "price",
    ),
    "a word for a number": (
        f"evaluate uniform {BANDIT} --budget three",
        "--budget must be a whole number; got 'three'",
    ),
    "a word for a number of the family": (
        "bounds binary-search --family.size big",
        "--family.size must be a whole number; got 'big'",
    ),
    "no explorer": (f"evaluate {BANDIT} --budget 3", "EXPLORER is missing"),
    "one explorer twice": (
        f"evaluate uniform uniform {BANDIT} --budget 3",
        "only once",
    ),
    "no family": ("evaluate uniform --budget 3", "--family is missing"),
    "no episodes": (
        f"evaluate uniform {BANDIT} --budget 3 --episodes 0",
        "episodes must be at least 1",
    ),
    "a negative seed": (
        f"evaluate uniform {BANDIT} --budget 3 --seed -1",
        "--seed must be between 0",
    ),
    "a plot in a folder that does not exist": (
        f"evaluate uniform {BANDIT} --budget 3 --plot no/such/folder/f.svg",
        "cannot be written to 'no/such/folder/f.svg'",
    ),
    "a plot of an unknown kind": (
        f"evaluate uniform {BANDIT} --budget 3 --plot figure.doc",
        "must end in .svg, .png, .pdf",
    ),
    "a person and json": (
        "play exact-binary-search --family binary-search --human --json",
        "cannot be combined",
    ),
}


@pytest.mark.parametrize("words, part", BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_sentence_and_exit_status_2(icpe, words, part):
    called = icpe(words)
    assert called.status == 2
    assert called.out == ""
    assert called.err.startswith("icpe: ")
    assert called.err.count("\n") == 1
    assert part in called.err


def test_debug_shows_the_traceback_from_any_position(icpe):
    for words in ("--debug bounds chess", "bounds chess --debug"):
        called = icpe(words)
        assert called.status == 2
        assert "Traceback" in called.err
        assert "no family 'chess'" in called.err.splitlines()[-1]


@pytest.mark.parametrize(
    "error, status, part",
    [
        (KeyboardInterrupt(), 130, "Interrupted"),
        (OSError(28, "No space left on device"), 3, "No space left on device"),
        (OSError(2, "No such file"), 2, "No such file"),
        (WriteError("x could not be written."), 3, "x could not be written."),
        (ZeroDivisionError("oops"), 1, "This is a bug: ZeroDivisionError: oops"),
    ],
)
def test_other_ends_have_their_own_status(icpe, monkeypatch, error, status, part):
    def fail(words):
        raise error

    monkeypatch.setattr(main_module, "_dispatch", fail)
    called = icpe("tasks")
    assert called.status == status
    assert part in called.err
    assert "Traceback" not in called.err


def test_every_command_has_a_module():
    for command in COMMANDS:
        module = importlib.import_module(module_of(command))
        assert callable(module.run)


def test_the_installed_command_runs_and_prints_its_version_without_jax(tmp_path):
    script = (
        "import sys; from icpe.cli.main import main; status = main(['--version']); "
        "status += main(['--help']); assert 'jax' not in sys.modules; sys.exit(status)"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("icpe 0.")


def test_main_reads_the_words_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["icpe", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("icpe ")
