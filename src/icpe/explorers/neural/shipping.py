"""Trained networks as they are shipped: small files, the same answers everywhere."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from icpe.core.arrays import PyTree
from icpe.explorers.neural.networks import ExplorerNets


def as_shipped(nets: ExplorerNets) -> ExplorerNets:
    """Weights rounded to what bfloat16 can hold, and used in float32.

    The first halves the file, tables apart; the second makes answers hardly depend on
    the device.
    """
    tables = nets.predictions
    return in_float32(rounded(nets.trainable()).with_predictions(tables))


def in_float32(nets: ExplorerNets) -> ExplorerNets:
    """The same networks with matrix products in float32."""
    transformer = dataclasses.replace(nets.config.transformer, bfloat16=False)
    config = dataclasses.replace(nets.config, transformer=transformer)
    like = ExplorerNets.shell(nets.spec, config, nets.prices)
    return jax.tree.unflatten(jax.tree.structure(like), jax.tree.leaves(nets))


def rounded(tree: PyTree) -> PyTree:
    """The tree with its float32 arrays rounded to what bfloat16 can hold."""

    def round_leaf(leaf):
        if not eqx.is_array(leaf) or leaf.dtype != jnp.float32:
            return leaf
        return leaf.astype(jnp.bfloat16).astype(jnp.float32)

    return jax.tree.map(round_leaf, tree)
