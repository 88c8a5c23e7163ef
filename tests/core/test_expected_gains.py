"""What queries are expected to tell: tables, cells of them, samples."""

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.expected_gains import OutcomeSamples, OutcomeTable

RANDOM = np.random.default_rng(1)
TABLE = RANDOM.dirichlet(np.full(64, 0.7), size=(4, 3))  # hypotheses, queries, cells
WEIGHTS = RANDOM.dirichlet(np.ones(4))


def table(probability=TABLE):
    return OutcomeTable(jnp.asarray(probability, jnp.float32), has_cells=True)


def mutual_information(weights, probability):
    """Of each query, by its definition."""
    joint = weights[:, None, None] * probability
    alone = weights[:, None, None] * joint.sum(axis=0, keepdims=True)
    return np.sum(joint * np.log(joint / alone), axis=(0, 2))


def right_after(weights, probability):
    return np.max(weights[:, None, None] * probability, axis=0).sum(axis=1)


def test_a_table_is_exact():
    weights = jnp.asarray(WEIGHTS, jnp.float32)
    np.testing.assert_allclose(
        table().gains(weights), mutual_information(WEIGHTS, TABLE), atol=1e-5
    )
    found = table().right_after(weights)
    assert found is not None
    np.testing.assert_allclose(found, right_after(WEIGHTS, TABLE), atol=1e-6)


def test_fewer_cells_are_those_of_neighbors_together_and_never_tell_more():
    halved = table().coarser()
    assert halved is not None
    together = TABLE.reshape(4, 3, 32, 2).sum(axis=-1)
    np.testing.assert_allclose(halved.probability, together, atol=1e-6)
    weights = jnp.asarray(WEIGHTS, jnp.float32)
    assert np.all(halved.gains(weights) < table().gains(weights))
    assert halved.coarser() is None  # too few would be left
    symbols = OutcomeTable(jnp.asarray(TABLE, jnp.float32))
    assert symbols.coarser() is None  # answers of different meaning stay apart


def sampled(number, seed=0):
    """Outcomes of the table's law, with the likelihood of each."""
    random, logs = np.random.default_rng(seed), np.log(TABLE)
    likelihood = np.zeros((4, number, 3, 4))
    for truth in range(4):
        for query in range(3):
            cells = random.choice(64, size=number, p=TABLE[truth, query])
            likelihood[truth, :, query] = np.exp(logs[:, query, cells]).T
    likelihood /= likelihood.max(axis=-1, keepdims=True)
    seen = jnp.ones(4)
    return OutcomeSamples(seen, jnp.asarray(likelihood, jnp.float32))


def test_samples_come_close():
    """The standard deviation of a log-ratio is below 2 here: five standard errors."""
    samples = sampled(4000)
    weights = jnp.asarray(WEIGHTS, jnp.float32)
    within = 5 * 2 / np.sqrt(4 * 4000)
    exact = mutual_information(WEIGHTS, TABLE)
    np.testing.assert_allclose(samples.gains(weights), exact, atol=within)
    few = sampled(300)
    after = few.right_after(weights)
    assert after is not None
    # A probability: its standard deviation is at most a half.
    within = 5 * 0.5 / np.sqrt(4 * 300)
    np.testing.assert_allclose(after, right_after(WEIGHTS, TABLE), atol=within)


def test_fewer_samples_are_the_first_of_them():
    half = sampled(20).coarser()
    assert half is not None
    np.testing.assert_array_equal(half.likelihood, sampled(20).likelihood[:, :10])
    assert half.coarser() is None


def test_a_hypothesis_that_was_never_seen_counts_for_nothing():
    samples = sampled(50)
    without = OutcomeSamples(samples.seen.at[2].set(0.0), samples.likelihood)
    alone = jnp.zeros(4).at[0].set(1.0)
    np.testing.assert_allclose(without.gains(alone), 0.0, atol=1e-6)
    assert np.all(np.isfinite(without.gains(jnp.zeros(4).at[2].set(1.0))))


@pytest.mark.parametrize("made", [table(), sampled(40)], ids=["table", "samples"])
def test_who_is_sure_learns_nothing(made):
    sure = jnp.zeros(4).at[1].set(1.0)
    np.testing.assert_allclose(made.gains(sure), 0.0, atol=1e-6)
    np.testing.assert_allclose(made.right_after(sure), 1.0, atol=1e-6)


def test_outcomes_that_only_excluded_hypotheses_explain_say_nothing():
    """Each hypothesis has an outcome of its own, and the last one was never seen."""
    likelihood = jnp.zeros((3, 2, 1, 3)).at[jnp.arange(2), :, :, jnp.arange(2)].set(1.0)
    samples = OutcomeSamples(jnp.array([1.0, 1.0, 0.0]), likelihood)
    for weights, gain, right in (
        ([1.0, 0.0, 0.0], 0.0, 1.0),
        ([0.5, 0.5, 0.0], np.log(2), 1.0),
    ):
        found = samples.right_after(jnp.array(weights))
        assert found is not None
        np.testing.assert_allclose(found, right, atol=1e-6)
        np.testing.assert_allclose(samples.gains(jnp.array(weights)), gain, atol=1e-6)


def test_where_it_would_take_long_the_best_guess_is_not_looked_for():
    large = OutcomeTable(jnp.full((40, 40, 16), 1 / 16))
    assert large.right_after(jnp.full(40, 1 / 40)) is None
