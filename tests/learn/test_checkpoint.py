"""Checkpoints belong to one training, and say so when they are used for another."""

import random

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.artifact.sealed import read_document, read_stored
from icpe.artifact.trees import save_tree
from icpe.core.errors import CheckpointError
from icpe.learn.checkpoint import load_checkpoint, save_checkpoint
from icpe.learn.fit import FitOptions, fit
from icpe.learn.learner import UniversalLearner
from icpe.learn.survey import survey
from support.flips import NUM_FLIPS, count_altered
from support.rewriting import rewrite
from support.toy_tasks import Lockers, TwoDoors

FAMILY = TwoDoors(horizon=3)


def filled(config, value):
    """A state all of whose arrays hold this value, as far as they can."""
    learner = UniversalLearner(FAMILY, config, survey(FAMILY))
    like = eqx.filter_eval_shape(lambda key: learner.init(key=key), jr.key(0))
    return jax.tree.map(
        lambda leaf: (
            jr.key(value)
            if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
            else jnp.asarray(np.full(leaf.shape, value, leaf.dtype))
        ),
        like,
    )


@pytest.fixture(scope="module")
def fresh(whole_config):
    return filled(whole_config, 0)


@pytest.fixture(scope="module")
def used(whole_config):
    """A state all of whose arrays differ from a fresh one's."""
    return filled(whole_config, 1)


@pytest.fixture
def saved(used, whole_config, tmp_path):
    path = tmp_path / "checkpoint"
    save_checkpoint(path, used, FAMILY, whole_config, seconds=12.5)
    return path


def assert_equal_trees(one, other):
    def compare(a, b):
        assert a.dtype == b.dtype
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jr.key_data(a), jr.key_data(b)
        np.testing.assert_array_equal(a, b)

    jax.tree.map(compare, one, other)


@pytest.mark.slow
def test_a_state_comes_back_bit_by_bit(saved, used, fresh, whole_config):
    found = load_checkpoint(saved, fresh, FAMILY, whole_config)
    assert found.seconds == 12.5
    assert_equal_trees(found.state, used)


def test_a_light_checkpoint_is_all_but_the_replay(
    saved, used, fresh, whole_config, tmp_path
):
    path = tmp_path / "light"
    save_checkpoint(path, used, FAMILY, whole_config, seconds=1.0, light=True)
    assert path.stat().st_size < saved.stat().st_size
    found = load_checkpoint(path, fresh, FAMILY, whole_config)
    assert_equal_trees(found.state.nets, used.nets)
    assert_equal_trees(found.state.optimizer, used.optimizer)
    assert found.state.iteration == used.iteration
    assert_equal_trees(found.state.replay, fresh.replay)


@pytest.mark.usefixtures("optax_dtypes")
@pytest.mark.slow
def test_a_training_goes_on_from_a_light_checkpoint(whole_config, tmp_path):
    path = tmp_path / "light"
    options = FitOptions(checkpoint=path, light_checkpoint=True, time_limit=1e-3)
    assert fit(FAMILY, whole_config, options).iterations == 2
    assert read_document(path)["light"] is True
    result = fit(FAMILY, whole_config, FitOptions(checkpoint=path, resume=True))
    assert result.iterations == 6
    leaves = jax.tree.leaves(result.nets)
    assert all(bool(np.all(np.isfinite(leaf))) for leaf in leaves)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"learning_rate": 1e-3}, "learning_rate is 0.0005 there and 0.001 here"),
        ({"seed": 7}, "seed is 0 there and 7 here"),
        ({"width": 8}, "width is 4 there and 8 here"),
    ],
)
def test_another_configuration_is_refused_by_the_name_of_the_field(
    saved, fresh, tiny, change, words
):
    with pytest.raises(CheckpointError, match="belongs to another training") as caught:
        load_checkpoint(saved, fresh, FAMILY, tiny(**change))
    assert words in str(caught.value)
    assert "use the same settings, or another --out" in str(caught.value)


def test_another_family_is_refused(saved, fresh, whole_config):
    with pytest.raises(CheckpointError, match=r"reliability is 1.0 there and 0.8 here"):
        load_checkpoint(saved, fresh, TwoDoors(0.8, horizon=3), whole_config)
    with pytest.raises(CheckpointError, match="name is TwoDoors there and Lockers"):
        load_checkpoint(saved, fresh, Lockers(), whole_config)


def test_a_family_that_has_changed_is_refused(saved, fresh, whole_config, monkeypatch):
    monkeypatch.setattr(TwoDoors, "hypothesis", lambda self, task: 1 - task)
    with pytest.raises(CheckpointError, match=r"fingerprint is \w+ there and \w+ here"):
        load_checkpoint(saved, fresh, FAMILY, whole_config)


def test_a_missing_file_is_named(tmp_path, fresh, whole_config):
    with pytest.raises(CheckpointError, match="nowhere cannot be read: No such file"):
        load_checkpoint(tmp_path / "nowhere", fresh, FAMILY, whole_config)


def test_no_flipped_bit_changes_what_a_checkpoint_means(saved):
    refused, altered = count_altered(saved, read_stored, random.Random(3))
    assert altered == 0 and refused >= NUM_FLIPS - 10


def test_a_flipped_bit_of_the_state_is_refused(saved, fresh, whole_config):
    content = bytearray(saved.read_bytes())
    content[-5] ^= 1
    saved.write_bytes(content)
    with pytest.raises(CheckpointError, match="changed since it was written"):
        load_checkpoint(saved, fresh, FAMILY, whole_config)


def test_a_checkpoint_from_before_seals_is_resumed(saved, used, fresh, whole_config):
    before = {"kind": "icpe checkpoint 1"}
    rewrite(saved, lambda document: document.update(before), sealed=False)
    assert_equal_trees(load_checkpoint(saved, fresh, FAMILY, whole_config).state, used)
    rewrite(saved, lambda document: document.update(kind="icpe checkpoint 2"))
    load_checkpoint(saved, fresh, FAMILY, whole_config)
    rewrite(saved, sealed=False)
    with pytest.raises(CheckpointError, match="has no seal"):
        load_checkpoint(saved, fresh, FAMILY, whole_config)


@pytest.mark.parametrize("seconds", [float("nan"), "long", None])
def test_impossible_values_are_refused(saved, fresh, whole_config, seconds):
    rewrite(saved, lambda document: document.update(seconds=seconds))
    with pytest.raises(CheckpointError, match="seconds must be a finite number"):
        load_checkpoint(saved, fresh, FAMILY, whole_config)


@pytest.mark.parametrize("size", [0, 7, 200, -1])
def test_a_damaged_file_is_refused(saved, fresh, whole_config, size):
    saved.write_bytes(saved.read_bytes()[:size])
    with pytest.raises(CheckpointError, match="not a checkpoint that can be resumed"):
        load_checkpoint(saved, fresh, FAMILY, whole_config)


def test_a_file_of_another_kind_is_refused(tmp_path, fresh, whole_config):
    path = tmp_path / "other"
    save_tree(path, {"x": np.zeros(3)}, {"kind": "something else"})
    with pytest.raises(CheckpointError, match="kind is something else there"):
        load_checkpoint(path, fresh, FAMILY, whole_config)
    save_tree(path, {"x": np.zeros(3)}, {})
    with pytest.raises(CheckpointError, match="'kind' is missing"):
        load_checkpoint(path, fresh, FAMILY, whole_config)
