"""The file of a trained explorer: exact round trips, and plain refusals."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

from icpe.artifact import Artifact, provenance
from icpe.artifact.document import FORMAT_VERSION, read_card
from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.core.errors import (
    ArtifactError,
    InvalidParameterError,
    OperatingPointError,
)
from icpe.core.request import Regime
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families import BinarySearch, FeedbackGraph
from icpe.nets.transformer import TransformerConfig
from support.certificates import unearned_certificate
from support.random_weights import random_weights
from support.rewriting import rewrite
from support.toy_tasks import TwoDoors

TINY = NetConfig(TransformerConfig(width=4, num_layers=1, num_heads=1))
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


def make(family, **fields):
    nets = random_weights(
        lambda key: ExplorerNets(family.spec, TINY, PriceRange(0.01, 0.2), key=key)
    )
    return Artifact(nets=nets, family=family, training={}, provenance={}, **fields)


@pytest.fixture(scope="module")
def artifact():
    whole = make(
        FAMILY,
        table=OperatingTable(FAMILY.spec.horizon, seed=1, rows=(ROW,)),
        evaluation={"accuracy": 0.5},
    )
    return dataclasses.replace(
        whole, training={"seed": 4, "bfloat16": False}, provenance={"seconds": 1.5}
    )


@pytest.fixture
def path(artifact, tmp_path):
    path = tmp_path / "explorer.safetensors"
    artifact.save(path)
    return path


def refusal(path, family=None):
    with pytest.raises(ArtifactError) as caught:
        Artifact.load(path, family)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def test_an_artifact_comes_back_bit_by_bit(artifact, path):
    found = Artifact.load(path)
    for one, other in zip(
        jax.tree.leaves(found.nets), jax.tree.leaves(artifact.nets), strict=True
    ):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert jax.tree.structure(found.nets) == jax.tree.structure(artifact.nets)
    for field in dataclasses.fields(Artifact):
        if field.name != "nets":
            assert getattr(found, field.name) == getattr(artifact, field.name)
    again = path.with_name("again")
    found.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_the_card_is_read_without_the_family(artifact, path):
    card = read_card(path)
    assert card == json.loads(json.dumps(artifact.document()))
    assert card["format_version"] == FORMAT_VERSION
    assert card["family"] == {
        "name": "binary-search",
        "parameters": {"size": 4, "horizon": 0},
    }
    rewrite(path, lambda document: document["family"].update(name="of-my-own"))
    assert read_card(path)["family"]["name"] == "of-my-own"


@pytest.mark.slow
def test_parameters_that_are_tables_rebuild_the_family(tmp_path):
    matrix = ((1.0, 0.5, 0.0), (0.0, 1.0, 0.5), (0.5, 0.0, 1.0))
    family = FeedbackGraph(num_arms=3, kind="matrix", matrix=matrix, horizon=4)
    path = tmp_path / "graph.safetensors"
    make(family).save(path)
    assert Artifact.load(path).family == family


def test_a_family_of_the_users_own_is_passed_in(tmp_path):
    family = TwoDoors()
    path = tmp_path / "doors.safetensors"
    make(family).save(path)
    assert Artifact.load(path, family).family is family
    sentence = refusal(path)
    assert "trained for the family 'TwoDoors', which cannot be rebuilt here" in sentence
    assert "add --import toy_tasks.py:TwoDoors (that is where it was" in sentence
    assert sentence.endswith("in Python register it or pass it in.")
    rewrite(path, lambda document: document["family"].update(source="x; rm -r ."))
    assert "add --import FILE.py:CLASS or --import MODULE, in" in refusal(path)


def test_another_family_is_refused(path):
    sentence = refusal(path, BinarySearch(size=8))
    assert "was trained for binary-search with {'size': 4, 'horizon': 0}" in sentence
    assert "another one or has changed" in sentence


def test_a_family_that_has_changed_since_is_refused(path, monkeypatch):
    monkeypatch.setattr(BinarySearch, "hypothesis", lambda self, task: 3 - task)
    assert "another one or has changed" in refusal(path)


def test_a_newer_file_is_refused_with_the_version(path):
    rewrite(path, lambda document: document.update(format_version=3))
    sentence = refusal(path)
    assert "has format version 3, newer than 2" in sentence
    assert "install a newer icpe" in sentence


DAMAGES = {
    "a version that never was": (
        lambda d: d.update(format_version="new"),
        None,
        "format version is 'new'",
    ),
    "a missing field": (lambda d: d.pop("networks"), None, "'networks' is missing"),
    "a missing array": (
        None,
        lambda a: a.pop("pair.head.bias"),
        "array pair.head.bias is missing",
    ),
    "a superfluous array": (
        None,
        lambda a: a.update(zzz=np.zeros(1)),
        "array zzz does not belong here",
    ),
    "an array of another shape": (
        None,
        lambda a: a.update({"pair.head.bias": np.zeros((2, 9), np.float32)}),
        "array pair.head.bias has shape (2, 9), expected (2, 4)",
    ),
    "networks of another width": (
        lambda d: d["networks"]["transformer"].update(width=8),
        None,
        "has shape",
    ),
    "networks that cannot be": (
        lambda d: d["networks"]["transformer"].update(width=-1),
        None,
        "width must be at least 1",
    ),
    "an unknown setting of the networks": (
        lambda d: d["networks"].update(speed=3),
        None,
        "speed",
    ),
    "a changed weight": (
        None,
        lambda a: a["pair.head.bias"].__setitem__((0, 0), 1.0),
        "its networks have changed since they were written",
    ),
    "a row of the table that lacks something": (
        lambda d: d["operating_table"]["rows"][0].pop("price"),
        None,
        "price",
    ),
    "no prices": (lambda d: d.update(price_range=[0.1]), None, "high"),
}


@pytest.mark.parametrize("document, arrays, words", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_refused_in_one_sentence(path, document, arrays, words):
    rewrite(path, document, arrays)
    with pytest.raises(ArtifactError) as caught:
        Artifact.load(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_a_truncated_file_is_refused(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    assert "it is damaged or was not written by icpe" in refusal(path)
    with pytest.raises(ArtifactError, match="damaged"):
        read_card(path)


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "foreign.safetensors"
    save_file({"x": np.zeros(3)}, str(path))
    assert "was not written by icpe" in refusal(path)


def test_a_missing_file_is_refused(tmp_path):
    assert "cannot be read: No such file" in refusal(tmp_path / "nowhere")


def test_an_error_probability_is_served_at_the_price_of_its_row(artifact):
    point = artifact.operating_point(error_prob=0.1)
    assert point.regime is Regime.PRICE
    assert point.price == pytest.approx(0.05)
    assert point.max_queries == FAMILY.spec.horizon
    assert not artifact.serve(error_prob=0.1).certified
    with pytest.raises(OperatingPointError, match="smaller than this explorer"):
        artifact.operating_point(error_prob=0.01)
    with pytest.raises(OperatingPointError, match="icpe calibrate FILE"):
        dataclasses.replace(artifact, table=None).operating_point(error_prob=0.1)


def test_only_certificates_of_enough_confidence_serve(artifact):
    weak = unearned_certificate(confidence=0.9, weights=artifact.weights_hash)
    certified = artifact.with_certificate(weak)
    assert certified.serve(error_prob=0.1).certificate is None
    assert certified.serve(error_prob=0.1, confidence=0.9).certificate == weak
    point = certified.operating_point(error_prob=0.1, confidence=0.9)
    assert point.price == pytest.approx(weak.price)
    for confidence in (-0.1, 95):
        with pytest.raises(InvalidParameterError, match=r"between 0.0 and 1.0; got"):
            certified.serve(error_prob=0.1, confidence=confidence)


def test_a_price_outside_the_trained_range_is_refused(artifact):
    for price in (0.01, 0.05, 0.2):
        assert artifact.operating_point(price=price).price == pytest.approx(price)
    for price in (0.0099, 0.21):
        with pytest.raises(OperatingPointError, match=r"trained range \[0.01, 0.2\]"):
            artifact.operating_point(price=price)


def test_a_budget_is_served_as_it_is(artifact):
    point = artifact.operating_point(budget=2)
    assert (point.regime, int(point.max_queries)) == (Regime.BUDGET, 2)


def test_provenance_names_versions_and_device():
    facts = provenance(seconds=3.0)
    assert facts["jax"] == jax.__version__
    assert facts["device"] and facts["icpe"] and facts["seconds"] == 3.0
