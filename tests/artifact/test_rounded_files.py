"""Weights that bfloat16 can hold take half the space and come back bit by bit."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.artifact.trees import read_tree, save_tree
from icpe.explorers.neural.shipping import rounded


def test_rounded_arrays_take_half_the_space_and_come_back_as_they_were(tmp_path):
    tree = {"w": jr.normal(jr.key(0), (64, 64)), "n": jnp.arange(3)}
    paths = [tmp_path / name for name in ("full", "half")]
    for path, kept in zip(paths, (tree, rounded(tree)), strict=True):
        save_tree(path, kept, {})
        found = read_tree(path, kept)
        np.testing.assert_array_equal(found["w"], kept["w"])
        assert found["w"].dtype == jnp.float32
        assert found["n"].tolist() == [0, 1, 2]
    sizes = [path.stat().st_size for path in paths]
    # Up to the header, which is padded to a multiple of 8.
    assert abs(sizes[0] - sizes[1] - 64 * 64 * 2) <= 16
    assert np.abs(rounded(tree)["w"] - tree["w"]).max() < 0.02
