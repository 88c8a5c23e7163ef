"""Commands that are to run as several processes: what is refused, and who speaks."""

import dataclasses
from pathlib import Path

import pytest

from icpe.cli import certify, evaluate, train
from icpe.cli.main import main
from icpe.cli.options import Goal, Together
from icpe.cli.processes import check_same_content, given, processes_of, together
from icpe.core import distributed
from icpe.core.errors import InvalidParameterError
from icpe.families import BinarySearch


def test_a_command_works_alone_unless_it_is_told_otherwise():
    assert processes_of(Together()) is None
    with together(certify.Args("file")):
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
    args = certify.Args("file", together=Together("h:1", 2, 0))
    with (
        pytest.raises(InvalidParameterError, match="cannot be combined"),
        together(args, "ray"),
    ):
        pass


def test_what_must_be_given_alike_is_all_but_folders_and_who_it_is():
    args = evaluate.Args(("uniform",), goal=Goal(budget=4), plot=Path("a/b.svg"))
    found = given(args)
    assert found["budget"] == 4
    assert found["error-prob"] is None
    assert found["engine"] == "local"
    assert found["plot"] == "a file"
    elsewhere = dataclasses.replace(
        args, plot=Path("c/b.svg"), together=Together("h:1", 2, 1)
    )
    assert given(elsewhere) == found
    assert given(dataclasses.replace(args, plot=None)) != found
    training = train.Args(
        out=Path("it"), settings={"size": "4"}, train_settings={"width": "8"}
    )
    asked = given(training)
    assert (asked["family.size"], asked["train.width"]) == ("4", "8")


def test_other_files_and_families_are_refused(monkeypatch, tmp_path):
    file = tmp_path / "it.safetensors"
    file.write_bytes(b"ours")
    heard = []

    def exchange(found):
        heard.append(found)
        return [found, heard[0]]

    monkeypatch.setattr(distributed, "count", lambda: 2)
    monkeypatch.setattr(distributed, "exchange", exchange)
    check_same_content([file], BinarySearch(size=4))
    check_same_content([file], BinarySearch(size=4))
    with pytest.raises(InvalidParameterError, match="The law of the family differs"):
        check_same_content([file], BinarySearch(size=8))
    file.write_bytes(b"theirs")
    complaint = (
        r"The content of it.safetensors differs: \w+ in process 0, \w+ in process"
    )
    with pytest.raises(InvalidParameterError, match=complaint):
        check_same_content([file], BinarySearch(size=4))
