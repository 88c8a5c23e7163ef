"""Playing a rule by hand: tell it rewards, see what it asks."""

import jax.numpy as jnp
import jax.random as jr
import pytest

from icpe.core.request import OperatingPoint


@pytest.fixture
def after():
    """Tells an explorer of a family some outcomes; gives its state."""

    def tell(explorer, family, told, **request):
        spec = family.spec
        point = OperatingPoint.at(spec.horizon, **(request or {"error_prob": 0.1}))
        state = explorer.init(spec, point, jnp.zeros(spec.outcome_size))
        for query, outcome in told:
            outcome = jnp.atleast_1d(jnp.asarray(outcome, jnp.float32))
            state = explorer.tell(state, jnp.int32(query), outcome)
        return state

    return tell


@pytest.fixture
def asked(after):
    """What an explorer asks after some outcomes; -1 is a stop."""

    def ask(explorer, family, told, mask=None, key=0, **request):
        state = after(explorer, family, told, **request)
        allowed = jnp.ones(family.spec.num_queries, bool)
        allowed = allowed if mask is None else jnp.asarray(mask)
        return int(explorer.ask(state, allowed, key=jr.key(key)))

    return ask
