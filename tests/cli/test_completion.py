"""Shells complete commands, options and names."""

import shutil
import subprocess
import sys

import pytest

from icpe import zoo
from icpe.cli.candidates import candidates
from icpe.cli.completion import SCRIPTS
from icpe.cli.main import COMMANDS
from icpe.families.registry import family_names


@pytest.mark.parametrize(
    "words, expected",
    [
        ("ev", {"evaluate"}),
        ("tasks gaussian", {"gaussian-bandit"}),
        ("baselines track", {"track-and-stop"}),
        ("show binary-search-2", {"binary-search-256"}),
        ("evaluate --err", {"--error-prob"}),
        (
            "evaluate uniform --family mag",
            {"magic-action", "magic-chain", "magic-room"},
        ),
        ("train gaussian-bandit --family.num", {"--family.num-arms"}),
        ("train binary-search --train.num-l", {"--train.num-layers"}),
        ("train binary-search --learner p", {"paper"}),
        ("study ru", {"run"}),
        ("completion z", {"zsh"}),
        ("evaluate i-d", {"i-dpt:"}),
        ("nothing x", set()),
    ],
)
def test_what_may_come_next(words, expected):
    assert set(candidates(words.split(" "), COMMANDS)) == expected


def test_an_empty_word_may_be_anything():
    assert set(candidates([""], COMMANDS)) == set(COMMANDS)
    assert candidates([], COMMANDS) == candidates([""], COMMANDS)
    assert set(candidates(["tasks", ""], COMMANDS)) == set(family_names())
    assert set(zoo.names()) < set(candidates(["play", ""], COMMANDS))


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_is_printed_that_the_shell_can_read(icpe, tmp_path, shell):
    called = icpe(f"completion {shell}")
    assert called.status == 0 and "icpe __complete" in called.out
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(called.out)
    subprocess.run([shell, "-n", str(path)], check=True, timeout=30)


def test_bash_completes_what_was_begun(tmp_path):
    command = tmp_path / "icpe"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m icpe "$@"\n')
    command.chmod(0o755)
    script = (
        f"PATH={tmp_path}:$PATH\n{SCRIPTS['bash']}\n"
        "COMP_WORDS=(icpe show binary-search-2); COMP_CWORD=2; _icpe\n"
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "binary-search-256\n"
