"""What is known of a history before any network looks at it, and what follows from it.

Networks start from a posterior of the hypotheses and from the information that each
query is expected to give. Both come from tables of classes (`nets/predictions.py`) or
from the exact belief of a family (`nets/exact.py`).
"""

import abc
import dataclasses
from typing import TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PyTree

NUM_FEATURES = 5
INFORMATION, RATIO, ERROR_REMOVED = 0, 1, 2
"""Which features of a query are its information in nats, that per cost relative to the
best, and the share of the error that one answer removes."""


@dataclasses.dataclass(frozen=True)
class PredictionShape:
    """What predictions are and how large, by which they are found again in a file.

    Attributes:
        kind: symbols, gaussian, ranges or flagged tables, or the family's own belief.
        num_each: classes of each hypothesis.
        num_cells: symbols, or ranges of one number; 0 if there are none.
        first_kind: the same of what is revealed at reset; empty if nothing is.
        first_cells: its symbols or ranges.
        trust: share of their evidence that is added to the logits at first.
        class_share: how much of the information about the class, in place of that
            about the hypothesis, queries are preferred for.
    """

    kind: str
    num_each: int
    num_cells: int
    first_kind: str
    first_cells: int
    trust: float
    class_share: float = 0.0


class QueryView(eqx.Module):
    """What is predicted of each query.

    `charge` is what making it costs compared with stopping, if asking goes on as the
    best query would have it: the cost of the best, and what this one wastes. A query
    that tells a share r per cost of what the best tells wastes 1 - r of its cost, since
    the information is still to be had afterwards. `best_rate` is the information per
    cost of the best query.
    """

    features: Float[Array, "*batch queries features"]
    charge: Float[Array, "*batch queries"]
    is_best: Bool[Array, "*batch queries"]
    best_rate: Float[Array, "*batch"]


class Told(eqx.Module):
    """What is known at each position, of hypotheses and of queries."""

    log_posterior: Float[Array, "*tokens hypotheses"]
    view: QueryView


Self = TypeVar("Self", bound="AbstractPredictions")


class AbstractPredictions(eqx.Module):
    """What a history says by itself; its state is what of the history matters.

    `caution` is what another query than the preferred one must save to be made, in
    units of cost: small differences between learned values are noise. `correction` is
    the share that counts of what the inference net adds to the posterior; where that is
    exact, all that it learns is noise.
    """

    caution: eqx.AbstractVar[Float[Array, ""]]
    correction: eqx.AbstractVar[Float[Array, ""]]
    costs: eqx.AbstractVar[tuple[float, ...]]
    ask_once: eqx.AbstractVar[bool]

    @abc.abstractmethod
    def start(self, first_outcome: Float[Array, "outcome"]) -> PyTree:
        """The state after what was revealed at reset."""

    @abc.abstractmethod
    def update(
        self, state: PyTree, query: Index, outcome: Float[Array, "outcome"]
    ) -> PyTree:
        """The state after one more outcome."""

    @abc.abstractmethod
    def along(
        self,
        queries: Int[Array, "steps"],
        outcomes: Float[Array, "positions outcome"],
    ) -> PyTree:
        """The states at every position of a history; padding says nothing."""

    @abc.abstractmethod
    def told(self, state: PyTree, counts: Float[Array, "*batch queries"]) -> Told:
        """What follows from a batch of states and from how often queries were made."""

    @abc.abstractmethod
    def log_posterior(self, state: PyTree) -> Float[Array, "hypotheses"]:
        """Log-probability of each hypothesis in one state."""

    @property
    @abc.abstractmethod
    def information_is_exact(self) -> bool:
        """Whether the information of a query is that about the hypothesis."""

    @abc.abstractmethod
    def shape(self, trust: float) -> PredictionShape:
        """What they are and how large."""

    def with_caution(self: Self, caution: float) -> Self:
        """The same, their choice of queries trusted more or less."""
        return eqx.tree_at(lambda it: it.caution, self, jnp.asarray(caution))

    def with_correction(self: Self, share: float) -> Self:
        """The same, their posterior trusted more or less."""
        return eqx.tree_at(lambda it: it.correction, self, jnp.asarray(share))

    def view(
        self,
        information: Float[Array, "*batch queries"],
        removed: Float[Array, "*#batch queries"] | Float[Array, ""],
        counts: Float[Array, "*batch queries"],
        preference: Float[Array, "*batch queries"] | None = None,
    ) -> QueryView:
        """What is predicted of each query.

        The features are its information in nats; the ratio of its preference per cost
        to that of the best query that may be made; the share of the error that one
        answer removes; logarithms of the cost and of how often it was made.

        Args:
            information: about the hypothesis.
            removed: share of the error that one answer removes.
            counts: how often each query was made.
            preference: what queries are compared by; the information if None.
        """
        costs = jnp.asarray(self.costs or (1.0,) * counts.shape[-1], information.dtype)
        costs = jnp.broadcast_to(costs, information.shape)
        per_cost = (information if preference is None else preference) / costs
        if self.ask_once:
            per_cost = jnp.where(counts > 0, 0.0, per_cost)
        best = jnp.max(per_cost, axis=-1, keepdims=True)
        ratio = per_cost / jnp.maximum(best, 1e-9 / jnp.mean(costs))
        removed = jnp.broadcast_to(removed, information.shape)
        rows = [information, ratio, removed, jnp.log(costs), jnp.log1p(counts)]
        # The cost of the best query; among several, of the first.
        is_best = jnp.argmax(ratio, axis=-1, keepdims=True)
        cost_of_best = jnp.take_along_axis(costs, is_best, axis=-1)
        charge = cost_of_best + costs * (1.0 - ratio)
        features = jnp.stack(rows, axis=-1)
        return QueryView(features, charge, per_cost >= best, best[..., 0])


def share_removed(
    right: Float[Array, "*batch"], after: Float[Array, "*batch queries"]
) -> Float[Array, "*batch queries"]:
    """The share of the present error that one answer to each query removes.

    Args:
        right: probability of being right now.
        after: the same after an answer to each query.
    """
    now = right[..., None]
    return jnp.clip((after - now) / jnp.maximum(1.0 - now, 1e-4), 0.0, 1.0)
