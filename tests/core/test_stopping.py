import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy import stats

from icpe.core.episode import STOP
from icpe.core.stopping import random_query


def test_random_queries_are_uniform_over_the_allowed():
    mask = jnp.asarray([False, True, True, False, True])
    draw = jax.jit(jax.vmap(lambda key: random_query(mask, key=key)))
    counts = np.bincount(draw(jr.split(jr.key(0), 3000)), minlength=5)
    assert counts[[0, 3]].tolist() == [0, 0]
    # Chi-square with 2 degrees of freedom: false alarm 1e-6.
    statistic = np.sum((counts[[1, 2, 4]] - 1000) ** 2 / 1000)
    assert statistic < stats.chi2.isf(1e-6, 2)


def test_no_allowed_query_is_a_stop():
    assert random_query(jnp.zeros(3, bool), key=jr.key(0)) == STOP
