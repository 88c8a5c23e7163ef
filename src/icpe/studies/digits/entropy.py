"""Greedy expected entropy: the tile after which the belief is expected to be surest."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey, PyTree
from icpe.core.errors import UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint
from icpe.studies.digits.choosers import AbstractChooser, Believed, best_allowed


class EntropyChooser(AbstractChooser):
    """One step of look-ahead with the belief of a trained inference net.

    What a hidden tile may show is drawn from known pictures: the tiles of
    `num_samples` of them, each drawn with probability proportional to the belief in
    its class and to exp(-distance / bandwidth), its squared distance from what is
    seen. The expected entropy is the mean over these draws.
    """

    tiles: Float[Array, "pictures queries pixels"]
    labels: Int[Array, "pictures"]
    num_samples: int = eqx.field(static=True, default=16)
    bandwidth: float = eqx.field(static=True, default=2.0)

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
        """The allowed tile with the least expected entropy."""
        drawn = jr.categorical(
            key, self.log_weights(believed), shape=(self.num_samples,)
        )
        queries = jnp.arange(query_mask.shape[0])

        def entropy(query: Index, outcome: Float[Array, "pixels"]):
            state = believed.explorer.tell(believed.state, query, outcome)
            log_posterior = _belief(believed.explorer, state)
            return -jnp.sum(jnp.exp(log_posterior) * log_posterior)

        over_queries = jax.vmap(entropy)
        entropies = jax.vmap(over_queries, in_axes=(None, 0))(
            queries, self.tiles[drawn]
        )
        return best_allowed(-jnp.mean(entropies, axis=0), query_mask)

    def log_weights(self, believed: Believed) -> Float[Array, "pictures"]:
        """Unnormalized log-probability of each known picture."""
        seen = believed.seen
        means = seen.sums / jnp.maximum(seen.counts, 1.0)[:, None]
        uncovered = (seen.counts > 0).astype(means.dtype)
        gaps = jnp.sum(jnp.square(self.tiles - means[None]), axis=-1)
        distance = jnp.sum(gaps * uncovered[None], axis=-1)
        log_posterior = _belief(believed.explorer, believed.state)
        number = jnp.bincount(self.labels, length=log_posterior.shape[0])
        prior = log_posterior - jnp.log(jnp.maximum(number, 1).astype(means.dtype))
        return prior[self.labels] - distance / self.bandwidth


def _belief(explorer: AbstractExplorer, state: PyTree) -> Float[Array, "hypotheses"]:
    log_posterior = explorer.log_posterior(state)
    if log_posterior is None:
        raise UnsupportedError(
            "Expected entropy needs an explorer with a belief; this one has none."
        )
    return log_posterior
