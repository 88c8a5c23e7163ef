"""What `benchmarks/ship.py` lets into the zoo."""

import dataclasses

import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.artifact.document import read_card
from icpe.artifact.trees import named_arrays
from icpe.core.errors import UnsupportedError
from icpe.explorers.neural.config import NetConfig
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.shipping import in_float32, rounded
from icpe.families import make
from icpe.learn.recipe import recipe
from icpe.nets.transformer import TransformerConfig
from support.random_weights import random_weights
from support.toy_artifacts import guesser


@pytest.mark.slow
def test_the_training_command_says_what_differs_from_the_preset(script):
    family = make("gaussian-bandit", num_arms=4, horizon=64)
    config = dataclasses.replace(recipe("gpu", family), num_iterations=77, seed=3)
    artifact = dataclasses.replace(
        guesser(), family=family, training=dataclasses.asdict(config)
    )
    assert script.training_command(artifact) == (
        "icpe train gaussian-bandit --family.num-arms 4 --family.horizon 64 "
        "--preset gpu --train.num-iterations 77 --seed 3 --out FILE"
    )


def test_the_networks_keep_their_weights_in_float32():
    family, prices = guesser().family, guesser().universal_nets.prices
    transformer = TransformerConfig(width=4, num_layers=1, num_heads=1, bfloat16=True)
    nets = random_weights(
        lambda key: ExplorerNets(family.spec, NetConfig(transformer), prices, key=key)
    )
    found = in_float32(nets)
    assert not found.config.transformer.bfloat16
    before, after = named_arrays(nets), named_arrays(found)
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.slow
def test_an_explorer_enters_only_if_it_is_certified_and_small(
    script, tmp_path, monkeypatch
):
    guess = guesser(size=2)  # right with probability 1/2
    options = {"calibration_episodes": 64, "folder": tmp_path}
    with pytest.raises(UnsupportedError, match="guess is not certified at"):
        script.ship(guess, "guess", **options)
    assert not list(tmp_path.iterdir())
    shipped = script.ship(guess, "guess", error_prob=0.6, **options)
    path = tmp_path / "guess.safetensors"
    assert read_card(path)["certificates"][0]["error_prob"] == 0.6
    loaded = Artifact.load(path)
    assert loaded.weights_hash == shipped.weights_hash
    kept = named_arrays(rounded(loaded.nets))
    assert all(
        np.array_equal(kept[name], array)
        for name, array in named_arrays(loaded.nets).items()
    )
    monkeypatch.setattr(script, "LARGEST_SIZE", 1000)
    with pytest.raises(UnsupportedError, match="more than the 1000 allowed"):
        script.ship(guess, "large", error_prob=0.6, **options)
    assert list(tmp_path.iterdir()) == [path]
