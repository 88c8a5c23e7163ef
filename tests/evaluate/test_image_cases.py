"""Operating tables and certificates of explorers that learn from images."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from icpe import workflow
from icpe.artifact.artifact import Artifact
from icpe.cli.certificate_words import sentences
from icpe.evaluate import evaluate
from icpe.evaluate.calibrate import calibrate
from icpe.evaluate.certify import certify
from icpe.evaluate.recalibrate import recalibrate
from icpe.evaluate.verify import verify
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families import Patches
from icpe.nets.transformer import TransformerConfig
from icpe.play.rollout import spread_cases
from support.random_weights import random_weights

FAMILY = Patches(images="drawn-digits", patch_size=14)
HELD_BACK, TESTED = 166, 500


@pytest.fixture(scope="module")
def artifact():
    """An explorer that always names 0, as a tenth of the drawn digits are."""
    config = NetConfig(
        TransformerConfig(width=4, num_layers=1, num_heads=1), summary=True
    )
    nets = random_weights(
        lambda key: ExplorerNets(FAMILY.spec, config, PriceRange(0.05, 0.1), key=key)
    )
    nets = eqx.tree_at(
        lambda nets: (nets.pair.head.weight, nets.pair.head.bias),
        nets,
        replace_fn=jnp.zeros_like,
    )
    bare = Artifact(nets=nets, family=FAMILY, training={}, provenance={})
    return dataclasses.replace(bare, table=calibrate(bare))


@pytest.fixture(scope="module")
def certificate(artifact):
    return certify(artifact, error_prob=0.93)


def test_the_operating_table_is_of_the_images_held_back(artifact):
    assert {row.episodes for row in artifact.table.rows} == {HELD_BACK}
    cases = FAMILY.calibration_cases()
    assert cases is not None
    zeros = int((cases.label == 0).sum())
    assert {round(HELD_BACK * row.accuracy) for row in artifact.table.rows} == {zeros}


def test_fewer_images_than_were_held_back_may_be_asked_for(artifact):
    table = calibrate(artifact, episodes=40)
    assert {row.episodes for row in table.rows} == {40}


def test_the_certificate_counts_every_test_image_once(artifact, certificate):
    assert certificate.certified and certificate.test == "held-out"
    assert (certificate.bound_successes, certificate.episodes) == (50, TESTED)
    assert certificate.level == pytest.approx(0.045)
    said = " ".join(sentences(certificate))
    assert f"On {TESTED} held-out images, which nothing saw before" in said
    assert "over cases like the images, with confidence" in said
    kept = artifact.with_certificate(certificate)
    assert not verify(kept, 0.93).problems


def test_an_evaluation_is_of_the_test_images(artifact):
    (report,) = evaluate({"it": artifact}, FAMILY, budget=1, episodes=7)
    assert (report.episodes, report.accuracy) == (TESTED, 0.1)


def test_beliefs_are_recalibrated_on_the_images_held_back(artifact):
    table = recalibrate(artifact)
    assert {row.episodes for row in table.rows} == {HELD_BACK}


def test_there_is_no_guard_of_images_that_were_learned_from(artifact, monkeypatch):
    monkeypatch.setattr(workflow, "calibrate", lambda *_, **__: artifact.table)
    assert workflow.measured(artifact, episodes=512, seed=0).guard is None


def test_fewer_cases_are_spread_over_all_of_them():
    cases = {"label": np.repeat(np.arange(10), 5)}
    assert spread_cases(cases, 10)["label"].tolist() == list(range(10))
    assert len(spread_cases(cases, 1000)["label"]) == 50
