"""Seeds that are trained side by side come to what each comes to alone."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest

from icpe.core.errors import CheckpointError, InvalidParameterError
from icpe.learn.fit import FitOptions, fit, fit_side_by_side
from support.toy_tasks import TwoDoors

pytestmark = pytest.mark.usefixtures("optax_dtypes")
FAMILY = TwoDoors(horizon=3)
SEEDS = (3, 7)


def leaves(result):
    arrays = eqx.filter(result.nets, eqx.is_array)
    return [np.asarray(leaf) for leaf in jax.tree.leaves(arrays)]


@pytest.fixture(scope="module")
def together(whole_config):
    with jax.numpy_dtype_promotion("standard"):
        return fit_side_by_side(FAMILY, whole_config, SEEDS)


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.slow
def test_each_seed_is_trained_as_if_it_were_alone(index, together, whole_config):
    alone = fit(FAMILY, dataclasses.replace(whole_config, seed=SEEDS[index]))
    for one, two in zip(leaves(alone), leaves(together[index]), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-5)


def test_seeds_differ_and_say_how_it_went(together, whole_config):
    first, second = together
    pairs = zip(leaves(first), leaves(second), strict=True)
    assert any((a != b).any() for a, b in pairs)
    assert first.iterations == whole_config.num_iterations
    assert (first.stopped, second.stopped) == (None, None)


@pytest.mark.slow
def test_a_cut_training_goes_on_to_the_same_bits(tmp_path, together, whole_config):
    checkpoint = tmp_path / "two.checkpoint"
    options = FitOptions(checkpoint=checkpoint, time_limit=0.0)
    cut = fit_side_by_side(FAMILY, whole_config, SEEDS, options)
    assert cut[0].stopped == "time limit"
    options = FitOptions(checkpoint=checkpoint, resume=True)
    whole = fit_side_by_side(FAMILY, whole_config, SEEDS, options)
    for result, expected in zip(whole, together, strict=True):
        for one, two in zip(leaves(result), leaves(expected), strict=True):
            np.testing.assert_array_equal(one, two)


def test_no_seeds_are_refused(whole_config):
    for seeds in ((), (1, 1)):
        with pytest.raises(InvalidParameterError, match="at least one seed, and none"):
            fit_side_by_side(FAMILY, whole_config, seeds)


def test_a_checkpoint_of_other_seeds_is_refused(tmp_path, whole_config):
    checkpoint = tmp_path / "two.checkpoint"
    options = FitOptions(checkpoint=checkpoint, time_limit=0.0)
    fit_side_by_side(FAMILY, whole_config, (3, 7), options)
    options = FitOptions(checkpoint=checkpoint, resume=True)
    with pytest.raises(CheckpointError, match=r"seeds is .3, 7. there and .3, 9. he"):
        fit_side_by_side(FAMILY, whole_config, (3, 9), options)
