"""Tokens and their summary against plain loops."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.nets.tokens import (
    EntrySummary,
    Summary,
    first_token,
    summary_size,
    token_after,
    tokens_along,
)

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
    tokens = tokens_along(jnp.asarray(MADE), OUTCOMES, QUERIES, Summary)
    assert tokens.summary is not None
    assert tokens.summary.shape == (7, summary_size(Summary, QUERIES, SIZE))
    for t in range(7):
        np.testing.assert_allclose(tokens.summary[t], brute_force(t), atol=1e-6)


def test_a_summary_by_query_holds_what_is_known_of_each():
    tokens = tokens_along(jnp.asarray(MADE), OUTCOMES, QUERIES, Summary)
    assert tokens.summary is not None
    own = Summary.by_query(tokens.summary, QUERIES)
    assert own.shape == (7, QUERIES, 1 + SIZE)
    seen = OUTCOMES[jnp.asarray([1, 3, 4])]  # of query 2
    expected = np.concatenate([[np.log(4.0)], np.mean(seen, axis=0)])
    np.testing.assert_allclose(own[4, 2], expected, atol=1e-6)
    np.testing.assert_array_equal(own[:, 1], 0.0)  # was never made


def test_a_token_holds_the_query_that_led_to_it_and_its_outcome():
    tokens = tokens_along(jnp.asarray(MADE), OUTCOMES, QUERIES, None)
    assert tokens.summary is None
    np.testing.assert_array_equal(tokens.outcome, OUTCOMES)
    expected = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 1]]
    np.testing.assert_array_equal(tokens.query[:5], expected)
    np.testing.assert_array_equal(tokens.query[5:], 0.0)


def test_entries_with_flags_are_averaged_over_all_queries():
    """Entry i of the first half was seen where entry i of the second half is 1."""
    values = jr.normal(jr.key(1), (len(MADE) + 1, 2))
    flags = jnp.asarray([[0, 0], [1, 0], [1, 1], [0, 0], [0, 1], [1, 1], [1, 1]], float)
    outcomes = jnp.concatenate([values * flags, flags], axis=1)
    tokens = tokens_along(jnp.asarray(MADE), outcomes, QUERIES, EntrySummary)
    assert tokens.summary is not None
    assert tokens.summary.shape == (7, summary_size(EntrySummary, QUERIES, 4))
    assert summary_size(None, QUERIES, 4) == 0
    for t in range(7):
        made = [query for query in MADE[:t] if query >= 0]
        counts = np.bincount(made, minlength=QUERIES)
        seen = np.asarray(flags[1 : len(made) + 1])
        sums = np.asarray(values[1 : len(made) + 1] * seen).sum(axis=0)
        number = seen.sum(axis=0)
        means = sums / np.maximum(number, 1)
        expected = np.concatenate([np.log1p(counts), np.log1p(number), means])
        np.testing.assert_allclose(tokens.summary[t], expected, atol=1e-6)


def test_a_summary_of_entries_by_query_holds_both_counts_and_the_mean_of_each():
    groups = np.arange(2 * 9.0).reshape(2, 3, QUERIES)  # positions, groups, queries
    own = EntrySummary.by_query(jnp.asarray(groups.reshape(2, 9)), QUERIES)
    np.testing.assert_array_equal(own, groups.transpose(0, 2, 1))


@pytest.mark.parametrize("kind", [Summary, EntrySummary, None])
def test_tokens_one_by_one_are_those_of_the_whole_history(kind):
    along = tokens_along(jnp.asarray(MADE), OUTCOMES, QUERIES, kind)
    token, summary = first_token(OUTCOMES[0], QUERIES, kind)
    for t, query in enumerate([*MADE, None]):
        jax.tree.map(
            lambda got, want, t=t: np.testing.assert_allclose(got, want[t], atol=1e-6),
            token,
            along,
        )
        if query is not None:
            token, summary = token_after(
                jnp.asarray(query), OUTCOMES[t + 1], QUERIES, summary
            )
