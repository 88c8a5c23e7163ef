"""The linear layer, in the precision that its place needs."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey


class Linear(eqx.Module):
    """W x + b with normal weights of variance gain² / in_size and zero bias at first.

    The bias may be left out.

    Unlike `equinox.nn.Linear` it is told the precision at each call.
    """

    weight: Float[Array, "out in"]
    bias: Float[Array, "out"] | None

    def __init__(
        self,
        in_size: int,
        out_size: int,
        *,
        gain: float = 1.0,
        use_bias: bool = True,
        key: PRNGKey,
    ):
        scale = gain / math.sqrt(in_size)
        self.weight = scale * jr.normal(key, (out_size, in_size))
        self.bias = jnp.zeros(out_size) if use_bias else None

    def __call__(self, x: Float[Array, "in"]) -> Float[Array, "out"]:
        """In true float32, also where an accelerator would round the factors."""
        return self.rounded(x, jnp.float32, jnp.float32)

    def rounded(
        self,
        x: Float[Array, "in"],
        dtype,
        out_dtype,
        *,
        is_rough: bool = False,
    ) -> Float[Array, "out"]:
        """With factors in one dtype and the result in another.

        The dtype of the result is that of its gradient too, and so that of the factors
        from which the gradients of weights and of `x` are computed. Where it may be
        rough, an accelerator may round float32 factors (to TF32, say).
        """
        product = jnp.matmul(
            x.astype(dtype),
            self.weight.astype(dtype).T,
            preferred_element_type=out_dtype,
            precision=None if is_rough else precision_of(dtype),
        )
        if self.bias is None:
            return product
        # In the bias's dtype, so that its gradient is, too: a sum over everything in a
        # batch, which few digits cannot hold.
        return (product.astype(self.bias.dtype) + self.bias).astype(out_dtype)


def precision_of(dtype) -> lax.Precision | None:
    """Accelerators round float32 factors unless they are told not to."""
    return lax.Precision.HIGHEST if dtype == jnp.float32 else None


@jax.custom_vjp
def product_summed_in_parts(
    x: Float[Array, "tokens in"], matrix: Float[Array, "in out"]
) -> Float[Array, "tokens out"]:
    """A product in true float32 whose gradient is rougher, and quick for few inputs.

    The gradient of the matrix is a sum over all tokens of a batch. It is made sequence
    by sequence, in bfloat16: as one product of two very long and narrow matrices it
    leaves most of a GPU idle. `x` is data and has no gradient.
    """
    return jnp.matmul(x, matrix, precision=lax.Precision.HIGHEST)


def _forward(x, matrix):
    return product_summed_in_parts(x, matrix), x


def _backward(x, gradient):
    of_matrix = jnp.matmul(
        x.astype(jnp.bfloat16).T,
        gradient.astype(jnp.bfloat16),
        preferred_element_type=jnp.float32,
    )
    return jnp.zeros_like(x), of_matrix


product_summed_in_parts.defvjp(_forward, _backward)
