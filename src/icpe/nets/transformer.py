"""A causal Transformer, over a whole sequence at once or one token at a time.

Both passes compute the same function; a test ties them together. Modules are written
for one sequence and are vmapped.
"""

import dataclasses
import functools as ft
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.core.checks import check_at_least
from icpe.core.errors import InvalidParameterError
from icpe.core.memory import StepCount
from icpe.nets.linear import Linear, precision_of


@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    """Size and arithmetic of a causal Transformer."""

    width: int = 128
    """Size of a token's representation."""
    num_layers: int = 3
    """Number of blocks."""
    num_heads: int = 4
    """Attention heads in a block; must divide the width."""
    num_kv_heads: int = 1
    """Heads of keys and values, shared by groups of attention heads: fewer make the
    cache smaller and rollouts faster (Ainslie et al. 2023); must divide num_heads."""
    bfloat16: bool = False
    """Multiply matrices in bfloat16, keeping parameters and residuals in float32;
    else in true float32, also where an accelerator would round by default."""

    def __post_init__(self):
        for name in ("width", "num_layers", "num_heads", "num_kv_heads"):
            check_at_least(name, getattr(self, name), 1)
        for name, whole in (("num_heads", "width"), ("num_kv_heads", "num_heads")):
            if getattr(self, whole) % getattr(self, name):
                raise InvalidParameterError(
                    f"{name} must divide {whole} {getattr(self, whole)}; "
                    f"got {getattr(self, name)}."
                )

    @property
    def head_size(self) -> int:
        return self.width // self.num_heads

    @property
    def compute_dtype(self):
        return jnp.bfloat16 if self.bfloat16 else jnp.float32

    def padded(self, num_tokens: int) -> int:
        """The length at which a sequence is processed, or cached.

        Flash attention and products in bfloat16 take multiples of 8; whoever pads the
        tokens before they are embedded spares the copy.
        """
        return num_tokens + -num_tokens % self.length_unit

    @property
    def length_unit(self) -> int:
        """Lengths of sequences and caches are multiples of it."""
        return 8 if _has_flash_attention(self.compute_dtype, self.head_size) else 1


KeysOrValues = Float[Array, "capacity kv_heads head"]
TIME_AXIS = -3
"""The axis of a cache that has one entry per token."""


class Cache(eqx.Module):
    """Keys and values of the tokens seen so far, one pair of arrays per block."""

    keys: tuple[KeysOrValues, ...]
    values: tuple[KeysOrValues, ...]


class Heads(eqx.Module):
    """What one token, or a sequence of them, brings to attention."""

    query: Float[Array, "*tokens heads head"]
    key: Float[Array, "*tokens kv_heads head"]
    value: Float[Array, "*tokens kv_heads head"]


class Block(eqx.Module):
    """Pre-LN block of GPT-2: attention, then a two-layer perceptron with GELU.

    Its matrices have no biases: the shifts of the norms before them do, and summing
    gradients of biases over all tokens takes a tenth of an update.
    """

    attention_norm: eqx.nn.LayerNorm
    attend: Linear
    project: Linear
    perceptron_norm: eqx.nn.LayerNorm
    expand: Linear
    contract: Linear
    config: TransformerConfig = eqx.field(static=True)

    def __init__(self, config: TransformerConfig, *, key: PRNGKey):
        width = config.width
        keys = jr.split(key, 4)
        shrink = 1 / math.sqrt(2 * config.num_layers)
        packed = width + 2 * config.num_kv_heads * config.head_size
        self.attention_norm = eqx.nn.LayerNorm(width)
        linear = ft.partial(Linear, use_bias=False)
        self.attend = linear(width, packed, key=keys[0])
        self.project = linear(width, width, gain=shrink, key=keys[1])
        self.perceptron_norm = eqx.nn.LayerNorm(width)
        self.expand = linear(width, 4 * width, key=keys[2])
        self.contract = linear(4 * width, width, gain=shrink, key=keys[3])
        self.config = config

    def heads(self, x: Float[Array, "width"]) -> Heads:
        """Query, keys and values of one token."""
        config, dtype = self.config, self.config.compute_dtype
        packed = self.attend.rounded(_norm(self.attention_norm, x), dtype, dtype)
        packed = packed.reshape(-1, config.head_size)
        query, key, value = jnp.split(
            packed, [config.num_heads, config.num_heads + config.num_kv_heads]
        )
        return Heads(query, key, value)

    def finish(
        self,
        x: Float[Array, "width"],
        attended: Float[Array, "heads head"],
        *,
        out_dtype=jnp.float32,
    ) -> Float[Array, "width"]:
        """The rest of the block, once attention has been paid.

        What is added to the residuals, which stay in float32, is rounded to
        `out_dtype`, and so are the gradients that come back from them.
        """
        dtype = self.config.compute_dtype
        added = self.project.rounded(attended.reshape(-1), dtype, out_dtype)
        x = x + added.astype(x.dtype)
        hidden = self.expand.rounded(_norm(self.perceptron_norm, x), dtype, dtype)
        return x + _contract(self.contract, hidden, out_dtype).astype(x.dtype)


# What these two compute inside is cheaper to compute again for a gradient than to
# write to memory and to read.


@jax.checkpoint
def _norm(norm: eqx.nn.LayerNorm, x: Float[Array, "width"]) -> Float[Array, "width"]:
    return norm(x)


@ft.partial(jax.checkpoint, static_argnums=2)
def _contract(
    layer: Linear, hidden: Float[Array, "hidden"], out_dtype
) -> Float[Array, "width"]:
    return layer.rounded(jax.nn.gelu(hidden), hidden.dtype, out_dtype)


class CausalTransformer(eqx.Module):
    """Blocks with learned positions, from embedded tokens to normalized features."""

    positions: Float[Array, "capacity width"]
    blocks: tuple[Block, ...]
    final_norm: eqx.nn.LayerNorm
    config: TransformerConfig = eqx.field(static=True)

    def __init__(self, config: TransformerConfig, capacity: int, *, key: PRNGKey):
        position_key, *block_keys = jr.split(key, 1 + config.num_layers)
        self.positions = 0.02 * jr.normal(position_key, (capacity, config.width))
        self.blocks = tuple(Block(config, key=block_key) for block_key in block_keys)
        self.final_norm = eqx.nn.LayerNorm(config.width)
        self.config = config

    def __call__(
        self, tokens: Float[Array, "tokens width"], *, is_rough: bool = False
    ) -> Float[Array, "tokens width"]:
        """Features of every token, each seeing itself and what came before.

        Where it may be rough, what blocks add to the residuals is rounded, and so are
        the gradients that come back: products of those take a third of the time.
        """
        added = self.config.compute_dtype if is_rough else jnp.float32
        num_tokens = tokens.shape[0]
        length = self.config.padded(num_tokens)
        capacity = self.positions.shape[0]
        tokens = jnp.pad(tokens, ((0, length - num_tokens), (0, 0)))
        positions = jnp.pad(self.positions, ((0, max(0, length - capacity)), (0, 0)))
        x = tokens + positions[:length]

        def apply(x, block: Block):
            finish = ft.partial(block.finish, out_dtype=added)
            attended = _attend_all(jax.vmap(block.heads)(x))
            return jax.vmap(finish)(x, attended), None

        if _unrolls():
            for block in self.blocks:
                x, _ = apply(x, block)
        else:
            x, _ = lax.scan(apply, x, _stacked(self.blocks))
        return jax.vmap(self.final_norm)(x[:num_tokens])

    def init_cache(self) -> Cache:
        """An empty cache."""
        config = self.config
        capacity = config.padded(self.positions.shape[0])
        shape = (capacity, config.num_kv_heads, config.head_size)
        empty = tuple(
            jnp.zeros(shape, config.compute_dtype) for _ in range(config.num_layers)
        )
        return Cache(keys=empty, values=empty)

    def step(
        self, token: Float[Array, "width"], cache: Cache, position: StepCount
    ) -> tuple[Float[Array, "width"], Cache]:
        """Features of the token at `position`, given the cache of those before it."""
        x = token + self.positions[position.value]
        all_keys, all_values = [], []
        for block, keys, values in zip(
            self.blocks, cache.keys, cache.values, strict=True
        ):
            heads = block.heads(x)
            keys = _write(keys, heads.key, position)
            values = _write(values, heads.value, position)
            seen = self.config.padded(position.bound + 1)
            attended = _attend_one(heads.query, keys[:seen], values[:seen], position)
            x = block.finish(x, attended)
            all_keys.append(keys)
            all_values.append(values)
        return self.final_norm(x), Cache(tuple(all_keys), tuple(all_values))


def _stacked(blocks: tuple[Block, ...]) -> Block:
    """The blocks as one, with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *blocks)


def _attend_all(heads: Heads) -> Float[Array, "tokens heads head"]:
    """Causal attention of every token, by a flash kernel where there is one."""
    if _has_flash_attention(heads.query.dtype, heads.query.shape[-1]):
        query, key, value = heads.query[None], heads.key[None], heads.value[None]
        return jax.nn.dot_product_attention(
            query, key, value, is_causal=True, implementation="cudnn"
        )[0]
    with jax.default_matmul_precision("highest"):
        return jax.nn.dot_product_attention(
            heads.query, heads.key, heads.value, is_causal=True
        )


def _unrolls() -> bool:
    """Whether blocks are compiled one by one; a scan of them copies the residuals."""
    return jax.default_backend() == "gpu"


def _has_flash_attention(dtype, head_size: int) -> bool:
    """Whether attention runs in one kernel, whose tokens come in multiples of 8.

    So must the entries of a head.
    """
    fits = dtype == jnp.bfloat16 and head_size % 8 == 0
    return fits and jax.default_backend() == "gpu"


def _attend_one(
    query: Float[Array, "heads head"],
    keys: KeysOrValues,
    values: KeysOrValues,
    position: StepCount,
) -> Float[Array, "heads head"]:
    """Attention of the newest token to those that are cached, itself included."""
    num_kv_heads, head_size = keys.shape[1:]
    query = query.reshape(num_kv_heads, -1, head_size)
    precision = precision_of(query.dtype)
    scores = jnp.einsum(
        "kgd,lkd->kgl",
        query,
        keys,
        precision=precision,
        preferred_element_type=jnp.float32,
    )
    seen = jnp.arange(keys.shape[0]) <= position.value
    scores = jnp.where(seen[None, None], scores / math.sqrt(head_size), -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1).astype(values.dtype)
    attended = jnp.einsum("kgl,lkd->kgd", weights, values, precision=precision)
    return attended.reshape(-1, head_size)


def _write(
    cached: KeysOrValues, new: Float[Array, "kv_heads head"], position: StepCount
) -> KeysOrValues:
    return lax.dynamic_update_index_in_dim(cached, new, position.value, 0)


def in_compute_dtype(transformer: CausalTransformer) -> CausalTransformer:
    """The same function with its matrices rounded once, for use inside a loop."""
    dtype = transformer.config.compute_dtype

    def matrices(t):
        layers = (
            (block.attend, block.project, block.expand, block.contract)
            for block in t.blocks
        )
        return [layer.weight for row in layers for layer in row]

    return eqx.tree_at(matrices, transformer, replace_fn=lambda w: w.astype(dtype))
