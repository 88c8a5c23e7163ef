"""From tokens to numbers at every step: embedding, Transformer, head.

One module class serves as inference net and as query net. The two are held as a
`SequenceNet` with a leading axis of 2, so that they share every kernel by `vmap`.
"""

import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.core.memory import StepCount
from icpe.nets.canvas import AbstractSummaryEncoder
from icpe.nets.encoders import AbstractOutcomeEncoder
from icpe.nets.linear import Linear, product_summed_in_parts
from icpe.nets.tokens import Token
from icpe.nets.transformer import (
    Cache,
    CausalTransformer,
    TransformerConfig,
)


class SequenceNet(eqx.Module):
    """A causal Transformer over tokens with conditioning at each of them.

    Embedding and head are computed in true float32, but for the head in training:
    rounding there would blur outcomes and probabilities, whatever the Transformer
    between does.
    """

    query_embedding: Float[Array, "queries width"]
    outcome_encoder: AbstractOutcomeEncoder
    summary_embedding: Linear | AbstractSummaryEncoder | None
    condition_embedding: Linear
    transformer: CausalTransformer
    head: Linear
    belief_head: Float[Array, "output hypotheses"] | None

    def __init__(
        self,
        config: TransformerConfig,
        outcome_encoder: AbstractOutcomeEncoder,
        *,
        num_queries: int,
        num_tokens: int,
        summary_size: int,
        condition_size: int,
        output_size: int,
        belief_size: int = 0,
        summary_encoder: AbstractSummaryEncoder | None = None,
        head_gain: float = 0.1,
        key: PRNGKey,
    ):
        keys = jr.split(key, 5)
        width = config.width
        self.query_embedding = jr.normal(keys[0], (num_queries, width))
        self.outcome_encoder = outcome_encoder
        self.summary_embedding = summary_encoder
        if summary_encoder is None and summary_size:
            self.summary_embedding = Linear(summary_size, width, key=keys[1])
        self.condition_embedding = Linear(condition_size, width, key=keys[2])
        self.transformer = CausalTransformer(config, num_tokens, key=keys[3])
        self.head = Linear(width, output_size, gain=head_gain, key=keys[4])
        self.belief_head = None
        if belief_size:
            self.belief_head = jnp.zeros((output_size, belief_size))

    def __call__(
        self,
        tokens: Token,
        condition: Float[Array, "tokens condition"],
        *,
        is_rough: bool = False,
    ) -> Float[Array, "tokens output"]:
        """Outputs at every token of a sequence, in one parallel pass.

        Where it may be rough, in training, more is rounded to the dtype of the
        Transformer, and the head as an accelerator likes.
        """
        num_tokens = condition.shape[0]
        missing = self.transformer.config.padded(num_tokens) - num_tokens
        tokens, condition = jax.tree.map(
            lambda leaf: jnp.pad(leaf, [(0, missing)] + [(0, 0)] * (leaf.ndim - 1)),
            (tokens, condition),
        )
        is_rough = is_rough and self.transformer.config.bfloat16
        asked = jnp.concatenate([tokens.query, condition], axis=-1)
        product = product_summed_in_parts if is_rough else _exact_product
        embedded = jax.vmap(self._embed)(tokens, product(asked, self._asked_matrix))
        features = self.transformer(embedded, is_rough=is_rough)
        head = ft.partial(
            self.head.rounded,
            dtype=jnp.float32,
            out_dtype=jnp.float32,
            is_rough=is_rough,
        )
        return jax.vmap(head)(features)[:num_tokens]

    def step(
        self,
        token: Token,
        condition: Float[Array, "condition"],
        cache: Cache,
        position: StepCount,
    ) -> tuple[Float[Array, "output"], Cache]:
        """Output at one more token, given the cache of those before it."""
        embedded = self.embed(token, condition)
        features, cache = self.transformer.step(embedded, cache, position)
        return self.head(features), cache

    def embed(
        self, token: Token, condition: Float[Array, "condition"]
    ) -> Float[Array, "width"]:
        """One token as the Transformer's input, before its position is added."""
        asked = jnp.concatenate([token.query, condition])
        return self._embed(token, _exact_product(asked, self._asked_matrix))

    @property
    def _asked_matrix(self) -> Float[Array, "asked width"]:
        """Embeds query and condition at once."""
        layer = self.condition_embedding
        return jnp.concatenate([self.query_embedding, layer.weight.T])

    def _embed(
        self, token: Token, asked: Float[Array, "width"]
    ) -> Float[Array, "width"]:
        """A token whose query and condition are embedded already."""
        bias = self.condition_embedding.bias
        assert bias is not None
        x = jax.nn.gelu(asked + bias + self.outcome_encoder(token.outcome))
        if self.summary_embedding is not None and token.summary is not None:
            x = x + jax.nn.gelu(self.summary_embedding(token.summary))
        return x


def _exact_product(
    x: Float[Array, "*tokens in"], matrix: Float[Array, "in out"]
) -> Float[Array, "*tokens out"]:
    return jnp.matmul(x, matrix, precision=lax.Precision.HIGHEST)
