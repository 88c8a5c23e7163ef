"""EXPLORER as the file of a trained explorer, alone and beside baselines."""

import dataclasses

import pytest

from icpe.artifact import Artifact
from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.cli.explorers import check_words
from icpe.core.errors import OperatingPointError
from icpe.core.goals import Request
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families import BinarySearch
from icpe.nets.transformer import TransformerConfig
from support.random_weights import random_weights

FAMILY = BinarySearch(size=4)
ROW = OperatingRow(
    price=0.05,
    max_queries=FAMILY.spec.horizon,
    episodes=100,
    accuracy=0.95,
    lower_bound=0.9,
    mean_queries=2.0,
    quantiles=(2, 2, 2),
    longest=2,
    mean_cost=2.0,
)
TABLE = OperatingTable(horizon=FAMILY.spec.horizon, seed=0, rows=(ROW,))


@pytest.fixture(scope="module")
def untrained():
    """An explorer that knows nothing, with an operating table that says otherwise."""
    config = NetConfig(TransformerConfig(width=8, num_layers=1, num_heads=1))
    nets = random_weights(
        lambda key: ExplorerNets(FAMILY.spec, config, PriceRange(0.01, 0.2), key=key)
    )
    return Artifact(nets=nets, family=FAMILY, training={}, provenance={}, table=TABLE)


@pytest.fixture
def file(untrained, tmp_path):
    path = tmp_path / "explorer.safetensors"
    untrained.save(path)
    return path


def test_a_file_plays_its_own_family_beside_a_baseline(icpe, file):
    called = icpe(
        f"evaluate {file} exact-binary-search --budget 2 --episodes 64 --json"
    )
    assert called.status == 0, called.err
    trained, exact = called.json
    assert trained["explorer"] == str(file)
    assert trained["family"] == exact["family"]
    assert trained["family"]["parameters"]["size"] == 4
    assert (trained["mean_queries"], exact["accuracy"]) == (2.0, 1.0)
    assert (trained["certified"], trained["price"]) == (False, None)


@pytest.mark.slow
def test_an_error_probability_is_served_by_the_price_of_the_table(icpe, file):
    called = icpe(f"evaluate {file} --error-prob 0.1 --episodes 64 --json")
    assert called.status == 0, called.err
    assert called.json["error_prob"] == 0.1
    assert called.json["price"] == 0.05
    assert called.json["certified"] is False
    called = icpe(f"evaluate {file} exact-binary-search --error-prob 0.1 --episodes 64")
    served = "serves error probability 0.1 at price 0.05, not certified"
    assert called.out.splitlines()[-1] == f"{file} {served}"
    assert called.out.count("serves") == 1


@pytest.mark.slow
def test_a_file_can_be_watched(icpe, file):
    called = icpe(f"play {file} --budget 2")
    assert called.status == 0, called.err
    assert "Stopped after 2 queries" in called.out


def test_a_file_that_is_watched_says_its_price(icpe, file):
    called = icpe(f"play {file} --error-prob 0.1")
    assert called.status == 0, called.err
    assert "at price 0.05, not certified " in " ".join(called.out.split())


@pytest.mark.slow
def test_a_person_can_play_against_a_file(icpe, file, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda prompt="": "higher")
    called = icpe(f"play {file} --budget 2 --human")
    assert called.status == 0, called.err
    assert "Is your number" in called.out
    assert "Stopped after 2 queries: the budget of queries was used up." in called.out


def test_what_the_table_cannot_serve_is_refused(icpe, file):
    called = icpe(f"evaluate {file} --error-prob 0.01 --episodes 64")
    assert called.status == 2
    assert "--error-prob 0.01 is smaller than this explorer can serve" in called.err


def test_what_is_built_on_a_file_is_not_bound_by_its_table(file):
    request = Request(error_prob=0.01)
    check_words([f"i-dpt:{file}"], None, {}, None, request)
    with pytest.raises(OperatingPointError, match="smaller than this explorer"):
        check_words([str(file)], None, {}, None, request)


def test_without_a_table_the_way_to_make_one_is_named(icpe, untrained, tmp_path):
    path = tmp_path / "raw.safetensors"
    dataclasses.replace(untrained, table=None).save(path)
    called = icpe(f"evaluate {path} --error-prob 0.1")
    assert called.status == 2
    assert "icpe calibrate" in called.err


def test_a_family_of_another_shape_is_refused(icpe, file):
    words = "--family binary-search --family.size 8 --budget 2"
    called = icpe(f"evaluate {file} {words}")
    assert called.status == 2
    assert "made for a family with num_queries=4" in called.err
    assert "cannot play binary-search(size=8" in called.err
    assert "or leave --family binary-search out" in called.err


def test_a_family_of_the_same_shape_is_played(icpe, file):
    words = "--family binary-search --family.size 4 --budget 2 --episodes 64 --json"
    called = icpe(f"evaluate {file} {words}")
    assert called.status == 0, called.err


def test_a_parameter_without_a_family_is_one_of_the_file(icpe, file):
    called = icpe(f"evaluate {file} --family.size 8 --budget 2")
    assert called.status == 2
    assert "num_queries=4 and cannot play binary-search(size=8)" in called.err
    called = icpe(f"evaluate {file} --family.sise 8 --budget 2")
    assert "Family 'binary-search' has no parameter 'sise'" in called.err
    called = icpe("evaluate uniform --family.size 8 --budget 2")
    assert "--family.size needs --family NAME" in called.err


def test_a_file_for_any_number_of_arms_says_how_to_play_some(icpe):
    words = "evaluate gaussian-bandits --budget 2 --episodes 16 --json"
    called = icpe(f"{words} --family gaussian-bandit --family.num-arms 5")
    assert called.status == 2
    advice = "--family.fewest-arms 5 --family.most-arms 5"
    assert f"write {advice} in place of --family gaussian-bandit" in called.err
    assert icpe(f"{words} {advice}").json["family"]["parameters"]["horizon"] == 64
    varying = f"--family gaussian-bandit --family.vary-arms True {advice}"
    called = icpe(f"{words} {varying} --family.num-arms 14")
    assert "or leave --family gaussian-bandit out" in called.err


@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_a_file_that_is_none_is_refused(icpe, tmp_path, content):
    path = tmp_path / "broken.safetensors"
    if content is not None:
        path.write_bytes(content)
    called = icpe(f"evaluate {path} --budget 2")
    assert called.status == 2
    assert "broken.safetensors" in called.err
    assert called.err.count("\n") == 1
