"""How an outcome becomes part of a token."""

import abc

import equinox as eqx
import jax
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.nets.linear import Linear


class AbstractOutcomeEncoder(eqx.Module):
    """Maps one normalized outcome to a vector of the Transformer's width.

    It sees one outcome at a time and no history; where the outcome has structure
    (an image patch), the structure belongs here.
    """

    @abc.abstractmethod
    def __call__(self, outcome: Float[Array, "outcome"]) -> Float[Array, "width"]:
        """The outcome's share of the token."""


class LinearEncoder(AbstractOutcomeEncoder):
    """A linear map in full float32, so that close outcomes stay apart."""

    layer: Linear

    def __init__(self, outcome_size: int, width: int, *, key: PRNGKey):
        self.layer = Linear(outcome_size, width, key=key)

    def __call__(self, outcome: Float[Array, "outcome"]) -> Float[Array, "width"]:
        return self.layer(outcome)


class PatchEncoder(AbstractOutcomeEncoder):
    """A perceptron with one hidden layer, for small pictures."""

    expand: Linear
    contract: Linear

    def __init__(self, outcome_size: int, width: int, *, key: PRNGKey):
        expand_key, contract_key = jr.split(key)
        self.expand = Linear(outcome_size, 2 * width, key=expand_key)
        self.contract = Linear(2 * width, width, key=contract_key)

    def __call__(self, outcome: Float[Array, "outcome"]) -> Float[Array, "width"]:
        return self.contract(jax.nn.gelu(self.expand(outcome)))
