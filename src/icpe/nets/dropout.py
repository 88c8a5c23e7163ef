"""A causal Transformer with dropout, for training alone (Srivastava et al. 2014)."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.nets.linear import Linear, precision_of
from icpe.nets.transformer import CausalTransformer, Heads


@dataclasses.dataclass(frozen=True)
class Dropout:
    """Drops entries of embeddings, attention weights and residuals, as GPT-2 does.

    What is kept is divided by its probability, so that expectations stay.
    """

    rate: float

    def __call__(
        self, x: Float[Array, "*shape"], *, key: PRNGKey
    ) -> Float[Array, "*shape"]:
        """Zeros with probability `rate`, else x / (1 - rate)."""
        kept = jr.bernoulli(key, 1.0 - self.rate, x.shape)
        return jnp.where(kept, x / (1.0 - self.rate), jnp.zeros_like(x))

    def features(
        self,
        transformer: CausalTransformer,
        tokens: Float[Array, "tokens width"],
        *,
        key: PRNGKey,
    ) -> Float[Array, "tokens width"]:
        """What `transformer(tokens)` is, with entries dropped on the way."""
        embedding_key, *block_keys = jr.split(key, 1 + len(transformer.blocks))
        dtype = transformer.config.compute_dtype
        x = tokens + transformer.positions[: tokens.shape[0]]
        x = self(x, key=embedding_key)
        for block, block_key in zip(transformer.blocks, block_keys, strict=True):
            weights_key, first_key, second_key = jr.split(block_key, 3)
            attended = self._attend(jax.vmap(block.heads)(x), key=weights_key)
            attended = attended.reshape(x.shape)
            added = _each(block.project, attended, dtype, jnp.float32)
            x = x + self(added, key=first_key)
            hidden = jax.vmap(block.perceptron_norm)(x)
            hidden = jax.nn.gelu(_each(block.expand, hidden, dtype, dtype))
            added = _each(block.contract, hidden, dtype, jnp.float32)
            x = x + self(added, key=second_key)
        return jax.vmap(transformer.final_norm)(x)

    def _attend(self, heads: Heads, *, key: PRNGKey) -> Float[Array, "tokens heads h"]:
        """Causal attention whose weights are dropped."""
        num_tokens, num_kv_heads, head_size = heads.key.shape
        query = heads.query.reshape(num_tokens, num_kv_heads, -1, head_size)
        precision = precision_of(query.dtype)
        scores = jnp.einsum(
            "tkgd,skd->kgts",
            query,
            heads.key,
            precision=precision,
            preferred_element_type=jnp.float32,
        )
        seen = jnp.tril(jnp.ones((num_tokens, num_tokens), bool))[None, None]
        scores = jnp.where(seen, scores / math.sqrt(head_size), -jnp.inf)
        weights = self(jax.nn.softmax(scores, axis=-1), key=key)
        attended = jnp.einsum(
            "kgts,skd->tkgd",
            weights.astype(heads.value.dtype),
            heads.value,
            precision=precision,
        )
        return attended.reshape(num_tokens, -1, head_size)


def _each(layer: Linear, x: Float[Array, "tokens in"], dtype, out_dtype):
    return jax.vmap(lambda token: layer.rounded(token, dtype, out_dtype))(x)
