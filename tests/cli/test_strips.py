"""What `icpe play` draws, and what it says about strips and data."""

import os

import pytest

from icpe.artifact import Artifact
from icpe.cli.main import main
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families import Patches
from icpe.nets.transformer import TransformerConfig
from support.random_weights import random_weights


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--strip", "x.png"], "tiles of a picture"),
        (["--strip", "x.png", "--human"], "--human and --strip"),
        (["--data", "no-such-folder"], "--data must be followed by a folder"),
        (["--data"], "got nothing"),
    ],
)
def test_what_cannot_be_drawn_or_found_is_said_in_one_sentence(
    words, complaint, capsys
):
    play = ["play", "uniform", "--family", "gaussian-bandit"]
    assert main([*play, *words]) == 2
    error = capsys.readouterr().err
    assert complaint in error and len(error.strip().splitlines()) == 1


def test_the_folder_of_data_is_handed_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ICPE_DATA", "elsewhere")
    assert main(["--version", "--data", str(tmp_path)]) == 0
    assert os.environ["ICPE_DATA"] == str(tmp_path)
    assert capsys.readouterr().out.startswith("icpe ")


@pytest.fixture(scope="module")
def looker(tmp_path_factory):
    """An untrained explorer of pictures, in a file."""
    family = Patches(images="drawn-digits", patch_size=14)
    config = NetConfig(TransformerConfig(width=4, num_layers=1, num_heads=1))
    nets = random_weights(
        lambda key: ExplorerNets(family.spec, config, PriceRange(0.1, 0.2), key=key)
    )
    path = tmp_path_factory.mktemp("pictures") / "looker.safetensors"
    Artifact(nets=nets, family=family, training={}, provenance={}).save(path)
    return path


@pytest.mark.parametrize(
    ("words", "drawn"), [([], "looker.png"), (["--strip", "x.svg"], "x.svg")]
)
def test_an_episode_of_pictures_is_drawn_step_by_step(
    words, drawn, looker, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["play", str(looker), "--budget", "1", *words]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [drawn]
    assert f"Drawn step by step: {drawn}" in capsys.readouterr().out
