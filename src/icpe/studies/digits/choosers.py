"""Who chooses the next tile: at random, by a fixed order, or by a trained network."""

import abc

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint
from icpe.core.stopping import random_query, stop_if
from icpe.nets.tokens import Summary
from icpe.studies.digits.nets import MaskedPictureNet


class Believed(eqx.Module):
    """What is known when a tile is chosen.

    `seen` holds raw outcomes; `explorer` is who will answer, with its state.
    """

    seen: Summary
    explorer: AbstractExplorer
    state: PyTree


class AbstractChooser(eqx.Module):
    """Chooses a tile; written for one episode and vmapped."""

    @abc.abstractmethod
    def init(self, operating_point: OperatingPoint) -> PyTree:
        """What it keeps through an episode; it does not change."""

    @abc.abstractmethod
    def choose(
        self,
        kept: PyTree,
        believed: Believed,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        """The next tile, allowed by the mask; `STOP` if none is allowed."""


class RandomChooser(AbstractChooser):
    """Any allowed tile with equal probability."""

    def init(self, operating_point: OperatingPoint) -> None:
        return None

    def choose(
        self,
        kept: None,
        believed: Believed,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        return random_query(query_mask, key=key)


class OrderChooser(AbstractChooser):
    """One order for all pictures; a tile that is seen is passed over."""

    order: Int[Array, "queries"]

    def init(self, operating_point: OperatingPoint) -> None:
        return None

    def choose(
        self,
        kept: None,
        believed: Believed,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        """The first tile in the order that is hidden and allowed."""
        hidden = query_mask & (believed.seen.counts == 0)
        candidates = jnp.where(jnp.any(hidden), hidden, query_mask)
        first = self.order[jnp.argmax(candidates[self.order])]
        return stop_if(~jnp.any(query_mask), first)


class ValueChooser(AbstractChooser):
    """The tile of largest value under a network.

    A tile that is seen may be asked for again where that is allowed, which wastes the
    query. With a `margin` that happens whenever the best hidden tile is worth no more
    than that above it: values that differ by less are considered equal, and the tile
    that is seen already costs no new region of the picture.
    """

    net: MaskedPictureNet
    margin: Scalar = eqx.field(converter=jnp.asarray, default=0.0)

    def init(self, operating_point: OperatingPoint) -> None:
        return None

    def choose(
        self,
        kept: None,
        believed: Believed,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        values = self.net(believed.seen)
        hidden = believed.seen.counts == 0
        values = values - jnp.where(hidden, self.margin, 0.0)
        return best_allowed(values, query_mask)


class ThompsonChooser(AbstractChooser):
    """The tile of largest sampled value: dropout as a posterior over networks.

    Deep contextual bandit of Collier and Llorens (2018) as the paper describes it: at
    each decision a dropout rate is drawn uniformly, and one pass with it is a sample.
    """

    net: MaskedPictureNet

    def init(self, operating_point: OperatingPoint) -> None:
        return None

    def choose(
        self,
        kept: None,
        believed: Believed,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        """The greedy tile of the sample."""
        rate_key, drop_key = jr.split(key)
        values = self.net(believed.seen, dropout=jr.uniform(rate_key), key=drop_key)
        return best_allowed(values, query_mask)


def best_allowed(
    values: Float[Array, "queries"], query_mask: Bool[Array, "queries"]
) -> Index:
    """The allowed query of largest value, or `STOP` if none is allowed."""
    best = jnp.argmax(jnp.where(query_mask, values, -jnp.inf))
    return stop_if(~jnp.any(query_mask), best)
