"""Artifacts whose behavior is known without training, to test what judges artifacts."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp

from icpe.artifact.artifact import Artifact
from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families.binary_search import BinarySearch
from icpe.nets.linear import Linear
from icpe.nets.transformer import TransformerConfig
from support.random_weights import random_weights

_PRICES = (0.05, 0.1)


def guesser(size: int = 2) -> Artifact:
    """An explorer of binary search that always names 0 and stops at once.

    Its accuracy is 1 / size at every price and with every budget, and its operating
    table says so.
    """
    family = BinarySearch(size=size)
    config = NetConfig(TransformerConfig(width=4, num_layers=1, num_heads=1))
    prices = PriceRange(_PRICES[0], _PRICES[-1])
    nets = random_weights(
        lambda key: ExplorerNets(family.spec, config, prices, key=key)
    )
    nets = eqx.tree_at(lambda nets: nets.pair.head, nets, replace_fn=_zeros)
    horizon = family.spec.horizon
    rows = tuple(_row(size, horizon, price) for price in _PRICES)
    return Artifact(
        nets=nets,
        family=family,
        training={},
        provenance={},
        table=OperatingTable(horizon=horizon, seed=0, rows=rows),
    )


def nudged(artifact: Artifact) -> Artifact:
    """The artifact with one weight changed a little."""
    nets = eqx.tree_at(
        lambda nets: nets.pair.query_embedding,
        artifact.nets,
        replace_fn=lambda weights: weights.at[0, 0, 0].add(1e-3),
    )
    return dataclasses.replace(artifact, nets=nets)


def _zeros(head: Linear) -> Linear:
    """With equal logits the first hypothesis wins, and no query has a gain."""
    return eqx.tree_at(
        lambda head: (head.weight, head.bias),
        head,
        replace_fn=jnp.zeros_like,
    )


def _row(size: int, horizon: int, price: float) -> OperatingRow:
    episodes = 4000
    return OperatingRow(
        price=price,
        max_queries=horizon,
        episodes=episodes,
        accuracy=1.0 / size,
        lower_bound=1.0 / size - 0.02,
        mean_queries=0.0,
        quantiles=(0, 0, 0),
        longest=0,
        mean_cost=0.0,
    )
