"""How queries differ within a task, whatever its outcomes have in common."""

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.nets.tokens import Summary, deviations

ASKED = ((0, 4.0), (2, 7.0), (0, 6.0))


def own(offset):
    """What is known of three queries, the second of which was never made."""
    summary = Summary.empty(3, 1)
    for query, outcome in ASKED:
        summary = summary.add(jnp.eye(3)[query], jnp.asarray([outcome + offset]))
    return Summary.by_query(summary.features(), 3)


@pytest.mark.parametrize("offset", [0.0, 100.0, -3.5])
def test_what_all_have_in_common_changes_nothing(offset):
    """Means 5 and 7 lie 1 from their average 6, half of the unit 2."""
    found = np.asarray(deviations(own(offset), (2.0,)))
    np.testing.assert_allclose(found[:, 0], [-0.5, 0.0, 0.5], atol=1e-5)


def test_before_the_first_query_nothing_differs():
    nothing = Summary.by_query(Summary.empty(3, 2).features(), 3)
    assert not np.asarray(deviations(nothing, (1.0, 1.0))).any()


def test_entries_have_units_of_their_own_along_a_batch():
    rows = jnp.stack([own(0.0), own(9.0)])
    both = jnp.concatenate([rows, rows[..., 1:]], axis=-1)
    found = np.asarray(deviations(both, (2.0, 4.0)))
    assert found.shape == (2, 3, 2)
    np.testing.assert_allclose(found[..., 0], 2 * found[..., 1], atol=1e-5)
