"""Commands that are to run as several processes: what is refused, and who speaks."""

import pytest

from icpe.cli.main import main
from icpe.cli.options import Together
from icpe.cli.processes import processes_of, together
from icpe.core.errors import InvalidParameterError


def test_a_command_works_alone_unless_it_is_told_otherwise():
    assert processes_of(Together()) is None
    with together(Together()):
        pass


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--num-processes 2", "--num-processes 2 also needs --coordinator and"),
        ("--process-id 0", "also needs --coordinator and --num-processes"),
        ("--coordinator h:1 --process-id 0", "also needs --num-processes"),
        (
            "--coordinator h:1 --num-processes 2 --process-id 2",
            "process_id must be between 0 and 1, since there are 2 processes; got 2.",
        ),
        ("--coordinator h --num-processes 2 --process-id 0", "must be HOST:PORT"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        "train binary-search --out made.safetensors",
        "calibrate made.safetensors",
        "certify made.safetensors --error-prob 0.1",
        "evaluate uniform --family binary-search --budget 4",
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    command, words, complaint, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), *words.split()]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


def test_nobody_at_the_coordinators_address(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    where = "--coordinator 127.0.0.1:9 --num-processes 2 --process-id 1"
    words = f"train binary-search --out made.safetensors {where} --join-seconds 0.3"
    assert main(words.split()) == 2
    said = capsys.readouterr().err
    assert "No coordinator answered at 127.0.0.1:9 within 0.3 seconds" in said


def test_two_ways_of_spreading_work_are_one_too_many():
    asked = Together("h:1", 2, 0)
    with (
        pytest.raises(InvalidParameterError, match="cannot be combined"),
        together(asked, "ray"),
    ):
        pass
