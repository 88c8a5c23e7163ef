"""Terminals, pipes and files of every kind take what the commands write."""

import io
import re
import subprocess
import sys

import pytest

from icpe.cli.main import main
from icpe.cli.streams import prepare_streams, styled
from icpe.cli.terminal import bar, output, printable


def run(words, shell_tail=""):
    """The command in a process of its own, with redirections of a shell."""
    command = f'"{sys.executable}" -m icpe.cli.main {words} {shell_tail}'
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "utf-8"])
def test_every_encoding_will_do(encoding, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding))
    prepare_streams()
    words = "play exact-binary-search --family binary-search"
    assert main(words.split()) == 0
    text = raw.getvalue().decode(encoding)
    full = "█" if encoding == "utf-8" else "#"
    assert full * 8 in text
    assert ("→" if encoding == "utf-8" else ">") in text
    assert "?" not in text


def test_bars_keep_their_width_in_any_encoding(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii"))
    prepare_streams()
    print(f"{bar(0.53, 10)}!", flush=True)
    assert raw.getvalue().decode() == "#####|    !\n"


@pytest.mark.parametrize("columns", ["20", "1", "80"])
def test_numbers_stay_whole_on_narrow_terminals(icpe, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    out = icpe("show binary-search-8").out
    assert "…" not in out
    assert re.search(r" 0.01 +yes +0.95 +0.9990 +0.03333 +1 +\d{10} +hash", out)
    assert re.search(r"\n +2 +0\.\d{4} ", out)


def test_a_pipe_that_is_closed_early_is_no_error():
    done = run("show binary-search-8", '| true; exit "${PIPESTATUS[0]}"')
    assert (done.returncode, done.stderr) == (0, "")


def test_what_cannot_be_written_has_a_status_of_its_own():
    done = run("zoo binary-search-8", "> /dev/full")
    assert done.returncode == 3
    assert done.stderr == (
        "icpe: The output could not be written: No space left on device; make room "
        "and try again.\n"
    )


def test_closed_streams_do_no_harm(tmp_path):
    out = tmp_path / "copy.safetensors"
    done = run(f"zoo binary-search-8 --json --out {out}", "2>&- <&-")
    assert done.returncode == 0 and done.stdout.endswith("]\n")
    assert out.exists()
    done = run(f"zoo binary-search-8 --out {out}", ">&- 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_a_reader_that_has_gone_is_told_to_the_program(monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Gone())
    with pytest.raises(BrokenPipeError):
        output().print("x" * 10)


def test_texts_of_files_do_not_move_the_cursor(capsys):
    assert printable({"a": ["\x1b[2J", "x\u202ey"]}) == {"a": ["\\x1b[2J", "x\\u202ey"]}
    assert main(["show", "no\x1b[2Jsuch/file"]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("number", [10**20, 2**31])
@pytest.mark.parametrize(
    "words",
    [
        "evaluate binary-search-8 --error-prob 0.1",
        "compare binary-search-8 uniform",
        "ids",
        "regret uniform --family gaussian-bandit",
    ],
)
def test_too_many_episodes_are_refused(icpe, words, number):
    called = icpe(f"{words} --episodes {number}")
    assert called.status == 2, called.err
    assert f"pisodes must be at most 2147483647; got {number}." in called.err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colors_are_for_terminals_that_have_them(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert styled("icpe:", "error", Terminal()) == "\x1b[1;31micpe:\x1b[0m"
    assert styled("icpe:", "error", io.StringIO()) == "icpe:"
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("icpe:", "error", Terminal()) == "icpe:"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert styled("icpe:", "error", Terminal()) == "icpe:"
