"""The exact posterior of a Bayesian network's target."""

import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Float

from icpe.core.arrays import Index
from icpe.core.belief import AbstractPredictiveBelief, Outlook
from icpe.core.small_batches import in_small_batches
from icpe.theory.network_inference import Structure, joint_and_marginals, log_joint

_TOGETHER, _MOST_TOGETHER = 2**22, 256
"""Entries of the tables of all that is computed at once, and rows of a batch."""


class NetworkBelief(AbstractPredictiveBelief):
    """The exact posterior of the target; its statistics are the states seen.

    They are a number for each query: the state, or -1 where it is not known.
    """

    tables: Float[Array, "entries"]
    log_prior: Float[Array, "hypotheses"]
    structure: Structure = eqx.field(static=True)
    nodes: tuple[int, ...] = eqx.field(static=True)

    def init(self, first_outcome: Float[Array, "outcome"]) -> Float[Array, "queries"]:
        return jnp.full(len(self.nodes), -1.0)

    def update(
        self,
        state: Float[Array, "queries"],
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> Float[Array, "queries"]:
        is_asked = jnp.arange(len(self.nodes)) == query
        return jnp.where(is_asked, jnp.round(outcome[0]), state)

    def log_posterior(
        self, state: Float[Array, "queries"]
    ) -> Float[Array, "hypotheses"]:
        """States that cannot occur together lead back to the prior."""
        look = self._few_at_a_time(_log_posterior)
        return look((self.tables, self.log_prior), state)

    def information_gains(
        self, state: Float[Array, "queries"]
    ) -> Float[Array, "queries"]:
        """Mutual information of the target and each variable, given what was seen."""
        return self.outlook(state).information

    def outlook(self, state: Float[Array, "queries"]) -> Outlook:
        """From one elimination, and its pass backwards."""
        look = self._few_at_a_time(_outlook)
        return look((self.tables, self.log_prior), state)

    def joint_and_marginals(self, state: Float[Array, "queries"]):
        """As in `icpe.theory.network_inference`, given what was seen."""
        evidence = _evidence(self.structure, self.nodes, state)
        return joint_and_marginals(self.structure, self.tables, evidence)

    def _few_at_a_time(self, function):
        """A function of tables and of what was seen, in batches that fit a cache."""
        size = _TOGETHER // (self.structure.work + 1)
        given = ft.partial(function, self.structure, self.nodes)
        return in_small_batches(given, max(min(size, _MOST_TOGETHER), 1))


def _log_posterior(structure: Structure, nodes: tuple[int, ...], shared, state):
    tables, log_prior = shared
    evidence = _evidence(structure, nodes, state)
    return _believed(log_joint(structure, tables, evidence), log_prior)


def _outlook(structure: Structure, nodes: tuple[int, ...], shared, state) -> Outlook:
    tables, log_prior = shared
    evidence = _evidence(structure, nodes, state)
    logs, marginals = joint_and_marginals(structure, tables, evidence)
    log_posterior = _believed(logs, log_prior)
    hypotheses = jnp.exp(log_posterior)
    joint = hypotheses[:, None, None] * marginals[:, jnp.asarray(nodes)]
    mixed = jnp.sum(joint, axis=0)
    told = (
        jnp.sum(entr(mixed), axis=1)
        + jnp.sum(entr(hypotheses))
        - jnp.sum(entr(joint), axis=(0, 2))
    )
    # What was seen already tells nothing, and its marginals are others.
    is_new, right = state < 0, jnp.max(hypotheses)
    after = jnp.sum(jnp.max(joint, axis=0), axis=1)
    return Outlook(
        log_posterior,
        jnp.where(is_new, jnp.maximum(told, 0.0), 0.0),
        jnp.where(is_new, after, right),
    )


def _evidence(structure: Structure, nodes: tuple[int, ...], state):
    """The weight of each state of each variable, given what was seen."""
    widest = structure.widest
    sizes = np.array(structure.sizes)[:, None]
    possible = jnp.asarray(np.arange(widest) < sizes, jnp.float32)
    seen = state[:, None] == jnp.arange(widest, dtype=state.dtype)[None]
    seen = jnp.where((state >= 0)[:, None], seen, True).astype(jnp.float32)
    return possible.at[jnp.asarray(nodes)].multiply(seen)


def _believed(logs, log_prior) -> Float[Array, "hypotheses"]:
    possible = jnp.any(jnp.isfinite(logs))
    return jax.nn.log_softmax(jnp.where(possible, logs, log_prior))
