"""Trained networks as they are shipped: small files, the same answers everywhere."""

import dataclasses

import equinox as eqx
import jax
import jax.random as jr

from icpe.explorers.networks import ExplorerNets
from icpe.files import rounded


def as_shipped(nets: ExplorerNets) -> ExplorerNets:
    """Weights rounded to what bfloat16 can hold, and used in float32.

    The first halves the file; the second makes answers hardly depend on the device.
    """
    return in_float32(rounded(nets))


def in_float32(nets: ExplorerNets) -> ExplorerNets:
    """The same networks with matrix products in float32."""
    transformer = dataclasses.replace(nets.config.transformer, bfloat16=False)
    config = dataclasses.replace(nets.config, transformer=transformer)
    like = eqx.filter_eval_shape(
        lambda key: ExplorerNets(nets.spec, config, nets.prices, key=key), jr.key(0)
    )
    return jax.tree.unflatten(jax.tree.structure(like), jax.tree.leaves(nets))
