"""A file of the paper's learner comes back, and serves its one request alone."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.artifact.sealed import read_document
from icpe.artifact.trees import hash_arrays, save_tree
from icpe.cli.card import print_card
from icpe.cli.terminal import output
from icpe.core.errors import ArtifactError, OperatingPointError, UnsupportedError
from icpe.deploy.session import Session
from icpe.evaluate.calibrate import calibrate
from icpe.evaluate.certify import certify
from icpe.explorers.neural.config import NetConfig
from icpe.explorers.neural.paper import Objective, PaperExplorer, PaperNets
from icpe.families import BinarySearch
from icpe.learn.config import TrainConfig
from icpe.learn.paper.config import PaperConfig
from icpe.nets.transformer import TransformerConfig
from icpe.workflow import train
from support.random_weights import random_weights

FAMILY = BinarySearch(size=3)
CONFIG = NetConfig(TransformerConfig(width=4, num_layers=1, num_heads=1))


@pytest.fixture(scope="module")
def artifact():
    nets = random_weights(
        lambda key: PaperNets(FAMILY.spec, CONFIG, Objective(error_prob=0.1), key=key)
    )
    measured = {
        "accuracy": 0.5,
        "mean_queries": 1.25,
        "max_queries": 4,
        "episodes": 100,
    }
    return Artifact(nets, FAMILY, {}, {"seconds": 1.0}, evaluation=measured)


@pytest.fixture
def path(artifact, tmp_path):
    file = tmp_path / "paper.safetensors"
    artifact.save(file)
    return file


def test_it_comes_back_bit_by_bit(artifact, path):
    found = Artifact.load(path)
    assert isinstance(found.nets, PaperNets) and isinstance(
        found.explorer, PaperExplorer
    )
    assert found.nets.objective == Objective(error_prob=0.1)
    assert jax.tree.structure(found.nets) == jax.tree.structure(artifact.nets)
    pairs = zip(
        jax.tree.leaves(found.nets), jax.tree.leaves(artifact.nets), strict=True
    )
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)
    arrays = eqx.filter(artifact.nets, eqx.is_array)
    assert found.weights_hash == hash_arrays(arrays)


def test_an_unknown_kind_of_explorer_is_refused(artifact, path):
    document = read_document(path)
    assert document["kind"] == "paper" and document["price_range"] is None
    save_tree(path, artifact.nets, {**document, "kind": "oracle"})
    with pytest.raises(ArtifactError, match="kind of explorer 'oracle' is not known"):
        Artifact.load(path)


def test_it_serves_the_request_it_was_trained_for_and_no_other(artifact):
    service = artifact.serve(error_prob=0.1)
    assert not service.certified
    assert float(service.operating_point.error_prob) == pytest.approx(0.1)
    for request in ({"error_prob": 0.2}, {"budget": 2}, {"price": 0.1}):
        with pytest.raises(OperatingPointError, match=r"error_prob=0.1 alone"):
            artifact.serve(**request)


def test_a_session_plays_it(artifact):
    session = Session(artifact, error_prob=0.1)
    while (query := session.ask()) is not None:
        session.tell(query, 1.0)
    assert session.recommendation in range(3)


def test_what_needs_prices_says_that_it_has_none(artifact):
    for use in (calibrate, lambda it: certify(it, error_prob=0.1)):
        with pytest.raises(UnsupportedError, match=r"serves error_prob=0\.1 alone"):
            use(artifact)
    with pytest.raises(UnsupportedError, match=r"serves error_prob=0\.1 alone"):
        train(FAMILY, TrainConfig(), start_from=artifact)
    with pytest.raises(UnsupportedError, match="trains from scratch"):
        train(FAMILY, PaperConfig(), start_from=artifact)


def test_its_card_names_its_request_and_its_evaluation(artifact, capsys):
    print_card(output(), artifact.document(), "paper.safetensors")
    out = " ".join(capsys.readouterr().out.split())
    assert "Made by the paper's learner: it serves error_prob=0.1 alone." in out
    assert "Accuracy 0.5000 with 1.250 queries (at most 4) on 100 episodes." in out
    bare = dataclasses.replace(artifact, evaluation=None)
    print_card(output(), bare.document(), "paper.safetensors")
    assert "Accuracy" not in capsys.readouterr().out
