"""Arguments of a session that nobody can serve are refused in one sentence each."""

import subprocess
import sys

MISTAKES = """
from icpe import Session, make, make_explorer
from icpe.core.errors import IcpeError

family = make("binary-search", size=8)
explorer = make_explorer("exact-binary-search", family)
for given in (
    {"budget": 2.5},
    {"budget": True},
    {"error_prob": "x"},
    {"error_prob": 0.1, "max_queries": 2.5},
    {"error_prob": 0.1, "seed": -1},
    {"error_prob": 0.1, "seed": 0.5},
    {"explorer": "b8.safetensors", "error_prob": 0.1},
    {"explorer": None, "error_prob": 0.1},
):
    try:
        Session(**{"explorer": explorer, "family": family} | given)
    except IcpeError as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print(f"{given} was accepted")
"""


def test_mistakes_in_the_arguments_are_refused_in_one_sentence_each():
    """In a process of its own, where no types are checked, as users run it."""
    script = [sys.executable, "-c", MISTAKES]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    explorer = "InvalidParameterError: explorer must be an artifact or an explorer; got"
    load = "load a file by Artifact.load(FILE), one of the zoo by zoo.load(NAME)."
    assert done.stdout.splitlines() == [
        "OperatingPointError: budget must be a whole number from 1 to 6; got 2.5.",
        "OperatingPointError: budget must be a whole number from 1 to 6; got True.",
        "OperatingPointError: error_prob must be a number such as 0.1; got 'x'.",
        "OperatingPointError: max_queries must be a whole number from 1 to 6; got 2.5.",
        "InvalidParameterError: seed must be between 0 and 4294967295; got -1.",
        "InvalidParameterError: seed must be a whole number from 0 to 4294967295; "
        "got 0.5.",
        f"{explorer} 'b8.safetensors': {load}",
        f"{explorer} None: {load}",
    ]
