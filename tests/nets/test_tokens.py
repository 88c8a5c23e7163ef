"""Tokens and their summary against plain loops."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.nets.tokens import Summary, summary_size, token_after, tokens_along

QUERIES, SIZE = 3, 2
MADE = [2, 0, 2, 2, -1, -1]
OUTCOMES = jr.normal(jr.key(0), (len(MADE) + 1, SIZE))


def brute_force(t):
    """Counts and mean outcomes of the queries before position t, one by one."""
    counts = np.zeros(QUERIES)
    sums = np.zeros((QUERIES, SIZE))
    for i, query in enumerate(MADE[:t]):
        if query >= 0:
            counts[query] += 1
            sums[query] += OUTCOMES[i + 1]
    means = [total / max(n, 1) for n, total in zip(counts, sums, strict=True)]
    return np.concatenate([np.log1p(counts), *means])


def test_a_summary_counts_and_averages_what_was_seen():
    tokens = tokens_along(jnp.asarray(MADE), OUTCOMES, QUERIES, with_summary=True)
    assert tokens.summary is not None
    assert tokens.summary.shape == (7, summary_size(QUERIES, SIZE))
    for t in range(7):
        np.testing.assert_allclose(tokens.summary[t], brute_force(t), atol=1e-6)


def test_a_token_holds_the_query_that_led_to_it_and_its_outcome():
    tokens = tokens_along(jnp.asarray(MADE), OUTCOMES, QUERIES, with_summary=False)
    assert tokens.summary is None
    np.testing.assert_array_equal(tokens.outcome, OUTCOMES)
    expected = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 1]]
    np.testing.assert_array_equal(tokens.query[:5], expected)
    np.testing.assert_array_equal(tokens.query[5:], 0.0)


@pytest.mark.parametrize("with_summary", [True, False])
def test_tokens_one_by_one_are_those_of_the_whole_history(with_summary):
    along = tokens_along(
        jnp.asarray(MADE), OUTCOMES, QUERIES, with_summary=with_summary
    )
    summary = Summary.empty(QUERIES, SIZE) if with_summary else None
    for t, query in enumerate(MADE[:4]):
        token, summary = token_after(
            jnp.asarray(query), OUTCOMES[t + 1], QUERIES, summary
        )
        expected = jax.tree.map(lambda leaf, t=t: leaf[t + 1], along)
        jax.tree.map(
            lambda got, want: np.testing.assert_allclose(got, want, atol=1e-6),
            token,
            expected,
        )
