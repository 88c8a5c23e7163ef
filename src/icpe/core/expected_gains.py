"""What queries are expected to tell where the likelihood of outcomes is known.

Outcomes that are few are enumerated, one number is cut into cells, and anything else is
sampled. Each says, given the probabilities of the hypotheses, what an answer to each
query would do to them.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import entr, xlogy
from jaxtyping import Array, Float

Weights = Float[Array, "hypotheses"]
Gains = Float[Array, "queries"]

_FEWEST_CELLS = 32
_FEWEST_SAMPLES = 8
_LARGEST_JOINT = 2**14
"""Entries up to which the best hypothesis of every outcome is looked for."""


class AbstractExpectedGains(eqx.Module):
    """What an answer to each query is expected to tell."""

    @abc.abstractmethod
    def gains(self, weights: Weights) -> Gains:
        """Mutual information of hypothesis and outcome, in nats."""

    @abc.abstractmethod
    def right_after(self, weights: Weights) -> Gains | None:
        """Probability that the best guess after the answer is right.

        None where that would take long.
        """

    @abc.abstractmethod
    def coarser(self) -> "AbstractExpectedGains | None":
        """Half as large and nearly as good; None where too little would be left."""


class OutcomeTable(AbstractExpectedGains):
    """P(outcome | hypothesis, query) on a finite set of outcomes.

    Continuous outcomes of one number are cut into cells of equal width, in their order.
    """

    probability: Float[Array, "hypotheses queries outcomes"]
    has_cells: bool = eqx.field(static=True, default=False)

    def gains(self, weights: Weights) -> Gains:
        """Exact for the table."""
        mixed = jnp.einsum("h,hqo->qo", weights, self.probability)
        conditional = jnp.sum(entr(self.probability), axis=2)
        return jnp.sum(entr(mixed), axis=1) - weights @ conditional

    def right_after(self, weights: Weights) -> Gains | None:
        if self.probability.size > _LARGEST_JOINT:
            return None
        joint = weights[:, None, None] * self.probability
        return jnp.sum(jnp.max(joint, axis=0), axis=1)

    def coarser(self) -> "OutcomeTable | None":
        """With two neighboring cells in one, which tell no more than they do apart."""
        *sizes, cells = self.probability.shape
        if not self.has_cells or cells % 2 or cells // 2 < _FEWEST_CELLS:
            return None
        pairs = self.probability.reshape(*sizes, cells // 2, 2)
        return OutcomeTable(jnp.sum(pairs, axis=-1), has_cells=True)


class OutcomeSamples(AbstractExpectedGains):
    """Outcomes under each hypothesis, and how likely all hypotheses make them.

    `likelihood[t, n, q, h]` is that of outcome n of query q, drawn under hypothesis t,
    if h were true; each is scaled by its largest. A hypothesis that was never seen has
    no outcomes, and counts for nothing.
    """

    seen: Float[Array, "hypotheses"]
    likelihood: Float[Array, "hypotheses samples queries hypotheses"]

    def gains(self, weights: Weights) -> Gains:
        own = jnp.einsum("tnqt->tnq", self.likelihood)
        mixed = jnp.einsum("tnqh,h->tnq", self.likelihood, weights)
        ratio = jnp.where(mixed > 0, own / _positive(mixed), 1.0)
        share = self._share(weights)[:, None, None]
        return jnp.sum(xlogy(share, ratio), axis=(0, 1))

    def right_after(self, weights: Weights) -> Gains | None:
        if self.likelihood.size > _LARGEST_JOINT:
            return None
        joint = self.likelihood * weights[None, None, None]
        best = jnp.max(joint, axis=-1) / _positive(jnp.sum(joint, axis=-1))
        return jnp.einsum("t,tnq->q", self._share(weights), best)

    def coarser(self) -> "OutcomeSamples | None":
        half = self.likelihood.shape[1] // 2
        if half < _FEWEST_SAMPLES:
            return None
        return OutcomeSamples(self.seen, self.likelihood[:, :half])

    def _share(self, weights: Weights) -> Weights:
        """Of one sample of each hypothesis."""
        kept = weights * self.seen
        total = jnp.maximum(jnp.sum(kept), 1e-30) * self.likelihood.shape[1]
        return kept / total


def _positive(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """With 1 in place of 0: what only excluded hypotheses explain has no weight."""
    return jnp.where(values > 0, values, 1.0)


def empty_table(num_hypotheses: int, num_queries: int, cells: int) -> OutcomeTable:
    """A table of these sizes that says nothing."""
    return OutcomeTable(jnp.zeros((num_hypotheses, num_queries, cells)), has_cells=True)


def empty_samples(num_hypotheses: int, num_queries: int, number: int) -> OutcomeSamples:
    """Samples of these sizes that say nothing."""
    shape = (num_hypotheses, number, num_queries, num_hypotheses)
    return OutcomeSamples(jnp.zeros(num_hypotheses), jnp.zeros(shape))
