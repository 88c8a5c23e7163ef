"""Explorers whose every query is known beforehand."""

import jax.numpy as jnp

from icpe.core.explorer import AbstractExplorer


class FirstAllowed(AbstractExplorer):
    """Makes the first query that is allowed, never stops, and answers 0."""

    def init(self, spec, operating_point, first_outcome):
        return jnp.zeros(())

    def ask(self, state, query_mask, *, key):
        return jnp.argmax(query_mask)

    def tell(self, state, query, outcome):
        return state

    def recommend(self, state):
        return jnp.zeros((), jnp.int32)

    def log_posterior(self, state):
        return None
