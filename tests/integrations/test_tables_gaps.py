"""Values that are not known: what a gap says about the class."""

import jax.numpy as jnp
import numpy as np

from icpe.families.table import MISSING
from icpe.integrations.tables.encoding import make_feature
from icpe.integrations.tables.fit import fit_table
from icpe.integrations.tables.kernels import telling_gaps
from icpe.integrations.tables.reading import Column


def test_gaps_tell_something_only_where_they_depend_on_the_class():
    """False alarms: 0.01 for the table, and it is one table."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 4, 600)
    values = random.normal(labels[:, None], 1.0, (600, 3)).astype(np.float32)
    by_chance = random.random(600) < 0.08
    of_a_class = random.random(600) < np.where(labels == 2, 0.4, 0.05)
    values[by_chance, 0] = np.nan
    values[of_a_class, 1] = np.nan
    columns = [Column(name, values[:, i]) for i, name in enumerate("abc")]
    features = [make_feature(column) for column in columns]
    cells = np.stack([f.cells(c) for f, c in zip(features, columns, strict=True)], 1)
    assert telling_gaps(features, cells, labels) == (False, True, False)


def test_an_unknown_value_leaves_the_belief_as_it_is_where_gaps_are_by_chance():
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 300)
    values = random.normal(2.0 * labels[:, None], 1.0, (300, 2)).astype(np.float32)
    values[random.random(300) < 0.05, 0] = np.nan
    columns = [Column(name, values[:, i]) for i, name in enumerate("ab")]
    family = fit_table(columns, labels, ["no", "yes"]).family
    belief = family.exact_belief()
    before = belief.update(belief.init(jnp.zeros(1)), jnp.asarray(1), jnp.ones(1))
    after = belief.update(before, jnp.asarray(0), jnp.full(1, MISSING))
    np.testing.assert_allclose(
        belief.log_posterior(before), belief.log_posterior(after), atol=1e-4
    )
