"""`icpe calibrate`: the table is measured again and written back."""

import dataclasses

import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.artifact.operating_table import OperatingTable
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families import BinarySearch
from icpe.nets.transformer import TransformerConfig
from support.random_weights import random_weights

FAMILY = BinarySearch(size=3)


@pytest.fixture
def file(tmp_path):
    config = NetConfig(TransformerConfig(width=4, num_layers=1, num_heads=1))
    nets = random_weights(
        lambda key: ExplorerNets(FAMILY.spec, config, PriceRange(0.01, 0.2), key=key)
    )
    artifact = Artifact(
        nets=nets,
        family=FAMILY,
        training={"width": 4},
        provenance={"seconds": 1.0},
        certificates=({"error_prob": 0.1, "certified": False},),
    )
    path = tmp_path / "file.safetensors"
    artifact.save(path)
    return path


def table(file):
    found = Artifact.load(file).table
    assert found is not None
    return found


def test_a_table_is_added_and_all_else_stays(icpe, file):
    before = Artifact.load(file)
    called = icpe(f"calibrate {file} --episodes 8 --seed 3")
    assert called.status == 0, called.err
    assert "each row measured on 8 episodes, seed 3" in called.out
    assert "icpe certify again" in called.out
    after = Artifact.load(file)
    assert dataclasses.replace(after, nets=before.nets, table=None) == before
    assert after.weights_hash == before.weights_hash
    assert table(file).seed == 3


@pytest.mark.slow
def test_caps_are_added_and_the_rest_is_as_before(icpe, file):
    assert icpe(f"calibrate {file} --episodes 8 --seed 3").status == 0
    first = table(file)
    called = icpe(f"calibrate {file} --max-queries 2 3 --json")
    assert called.status == 0, called.err
    second = table(file)
    assert OperatingTable.from_dict(called.json) == second
    assert second.priced() == first.priced()
    assert second.budgets() == first.budgets()
    assert len(second.priced(2)) == len(second.priced(3)) == 64
    assert np.all([row.longest <= 2 for row in second.priced(2)])
    # And they stay, when the table is measured once more.
    assert icpe(f"calibrate {file} --episodes 4").status == 0
    assert len(table(file).priced(2)) == 64
    assert {row.episodes for row in table(file).rows} == {4}


@pytest.mark.parametrize(
    "words, part",
    [
        ("--episodes 0", "episodes must be at least 1; got 0"),
        ("--max-queries 9", "max_queries must be between 1 and the horizon 4; got 9"),
        ("--seed -1", "--seed must be between 0"),
    ],
)
def test_bad_input_changes_nothing(icpe, file, words, part):
    before = file.read_bytes()
    called = icpe(f"calibrate {file} {words}")
    assert called.status == 2
    assert part in called.err
    assert file.read_bytes() == before
