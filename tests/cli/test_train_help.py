"""`icpe train FAMILY --help` lists what can be set; a training says what to expect."""

import dataclasses
import re

import pytest

from icpe import workflow
from icpe.cli.registry_cards import field_docs
from icpe.core.errors import UnsupportedError
from icpe.families.registry import family_names, parameter_fields
from icpe.learn.config import CommonConfig, TrainConfig
from icpe.learn.paper.config import PaperConfig


def options(text, prefix):
    """The names that are listed under a prefix, as fields are spelled."""
    found = re.findall(rf"--{prefix}\.([\w-]+)", text)
    return [name.replace("-", "_") for name in found]


@pytest.mark.parametrize("name", ["binary-search", "gaussian-bandit", "random-tests"])
def test_every_parameter_of_the_family_is_listed_with_its_default_and_help(icpe, name):
    called = icpe(f"train {name} --help")
    assert called.status == 0, called.err
    text = " ".join(called.out.split())
    for field in parameter_fields(name).values():
        assert field.name in options(called.out, "family")
        assert str(field.metadata["help"]).split(",")[0].split(";")[0] in text
    horizon = str(parameter_fields(name)["horizon"].default)
    assert re.search(rf"--family\.horizon\s+{horizon}\s", called.out)


@pytest.mark.parametrize(
    ("words", "config"), [("", TrainConfig), ("--learner paper", PaperConfig)]
)
def test_every_setting_of_the_training_is_listed_once(icpe, words, config):
    called = icpe(f"train binary-search {words} --help")
    listed = options(called.out.split("settings of the training")[1], "train")
    fields = [field.name for field in dataclasses.fields(config)]
    fields.remove("seed")
    assert listed == fields


def test_without_a_family_there_are_no_parameters_to_list(icpe):
    called = icpe("train --help")
    assert called.status == 0
    assert "settings of the family" not in called.out
    assert "--train.learning-rate" in called.out


@pytest.mark.parametrize("config", [TrainConfig, PaperConfig])
def test_every_setting_has_a_sentence_its_own_over_that_of_its_base(config):
    docs = field_docs(config)
    for field in dataclasses.fields(config):
        assert docs[field.name].endswith("."), field.name
        assert "\n" not in docs[field.name]
    common = field_docs(CommonConfig)
    assert docs["learning_rate"] == common["learning_rate"]


def test_every_family_can_be_asked_for(icpe):
    for name in family_names():
        assert f"settings of the family {name}" in icpe(f"train {name} --help").out


@pytest.fixture
def untrained(monkeypatch):
    """Whatever comes before a training, and an error in its place."""

    def train(*given, **options):
        raise UnsupportedError("This is where training begins.")

    monkeypatch.setattr(workflow, "train", train)


SMALL = (
    "train noisy-binary-search --family.size 4 --family.noise 0.1 --family.horizon 3 "
    "--preset cpu"
)
LOOK = (
    r"icpe: With the 3 queries of the horizon, a simple rule gets about 0\.\d{3} of "
    r"the answers right; training may get more\."
)


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("", ""),
        (
            "--error-prob 0.001",
            r" An error probability of 0\.001 may be out of reach; if so, choose a "
            r"larger one, or a longer horizon\.",
        ),
    ],
    ids=["any", "out of reach"],
)
def test_a_training_begins_with_what_to_expect(icpe, untrained, tmp_path, words, more):
    called = icpe(f"{SMALL} --out {tmp_path / 'file'} {words}")
    look, end = called.err.splitlines()
    assert re.fullmatch(LOOK + more, look), look
    assert end == "icpe: This is where training begins."
