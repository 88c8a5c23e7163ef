"""The posterior of the magic chain, against all chains listed one by one."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.theory.magic_chain_posterior import ChainRecord, chain_log_weights

SIZE = 5


def chains(num_magic):
    """Every order of the magic arms with every best arm, all equally likely."""
    for rest in itertools.permutations(range(1, SIZE), num_magic - 1):
        for best in set(range(1, SIZE)) - set(rest):
            yield (0, *rest), best


def chance_of_values(best, magic, seen):
    """P(best leads | values seen): the unseen are uniform and independent."""
    others = [arm for arm in range(SIZE) if arm not in magic and arm not in seen]
    if best in seen:
        leads = all(seen[best] >= value for value in seen.values())
        return seen[best] ** len(others) if leads else 0.0
    largest = max(seen.values(), default=0.0)
    return (1 - largest ** len(others)) / len(others)


def plain_weights(num_magic, said):
    """By enumeration; `said` maps pulled arms to ("names", arm) or ("value", x)."""
    weights = np.zeros(SIZE)
    for magic, best in chains(num_magic):
        truth = dict(zip(magic, (*magic[1:], best), strict=True))
        seen = {arm: x for arm, (kind, x) in said.items() if kind == "value"}
        named = {arm: x for arm, (kind, x) in said.items() if kind == "names"}
        agrees = all(truth.get(arm) == name for arm, name in named.items())
        if agrees and not set(seen) & set(magic):
            weights[best] += chance_of_values(best, magic, seen)
    return weights


@jax.jit
def exact_weights(record, num_magic):
    return jnp.exp(chain_log_weights(record, num_magic))


def record_of(said):
    record = ChainRecord.empty(SIZE)
    for arm, (kind, x) in said.items():
        if kind == "names":
            record = record.with_name(jnp.asarray(arm), jnp.asarray(x))
        else:
            record = record.with_value(jnp.asarray(arm), jnp.asarray(x))
    return record


@pytest.mark.parametrize("num_magic", [1, 2, 3, 4])
def test_weights_agree_with_all_chains_listed(num_magic):
    rng = np.random.default_rng(num_magic)
    ratios = []
    for _ in range(60):
        magic = (0, *(1 + rng.permutation(SIZE - 1)[: num_magic - 1]))
        values = rng.uniform(size=SIZE)
        best = max(set(range(SIZE)) - set(magic), key=lambda arm: values[arm])
        truth = dict(zip(magic, (*magic[1:], best), strict=True))
        pulled = rng.permutation(SIZE)[: rng.integers(SIZE + 1)]
        said = {
            int(arm): ("names", truth[arm])
            if arm in truth
            else ("value", float(np.float32(values[arm])))
            for arm in pulled
        }
        expected = plain_weights(num_magic, said)
        got = np.asarray(exact_weights(record_of(said), jnp.asarray(num_magic)))
        np.testing.assert_allclose(
            got / got.sum(), expected / expected.sum(), atol=2e-5
        )
        ratios.append(got.sum() / expected.sum())
    # The sum is the density of the record, up to one constant for all records.
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-3)
