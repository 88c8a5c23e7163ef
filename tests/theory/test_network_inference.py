"""What exact inference costs; what it finds is tested with the family."""

import jax
import jax.numpy as jnp
import numpy as np

from icpe.theory.network_inference import Structure, joint_and_marginals, log_joint

MANY = Structure(
    sizes=(40, *(3,) * 24),
    parents=((), *((0,) if node % 2 else (0, node - 1) for node in range(1, 25))),
    target=0,
)
"""A target with many states, and findings in pairs."""


def operations(function) -> float:
    random = np.random.default_rng(0)
    tables = jnp.asarray(random.uniform(size=MANY.offsets[-1]), jnp.float32)
    evidence = jnp.ones((len(MANY.sizes), MANY.widest))
    lowered = jax.jit(lambda *given: function(MANY, *given)).lower(tables, evidence)
    found = lowered.cost_analysis()
    assert found is not None
    return found["flops"]


def test_the_posteriors_of_all_findings_cost_a_few_times_that_of_the_target():
    assert operations(joint_and_marginals) < 8 * operations(log_joint)
