import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.errors import UnsupportedError
from icpe.explorers.classical.served import arms_of, has_arms
from icpe.families import (
    BernoulliBandit,
    BinarySearch,
    FeedbackGraph,
    GaussianBandit,
    ShiftedGaussianBandit,
)
from icpe.families.bandit.arms import BernoulliArms, GaussianArms, GraphArms

DELTA = jnp.float32(0.1)


def seen_after(arms, told):
    seen = arms.nothing(jnp.float32)
    for query, outcome in told:
        seen = arms.see(seen, jnp.int32(query), jnp.asarray(outcome, jnp.float32))
    return seen


def test_rewards_are_counted_arm_by_arm():
    seen = seen_after(GaussianArms(3, 0.5), [(0, [1.0]), (2, [0.5]), (0, [2.0])])
    np.testing.assert_allclose(seen.counts, [2, 0, 1])
    np.testing.assert_allclose(seen.means, [1.5, 0.5, 0.5])
    np.testing.assert_array_equal(seen.pulls, [2, 0, 1])
    assert int(seen.leader) == 0


def test_an_arm_that_was_never_seen_does_not_lead():
    seen = seen_after(GaussianArms(3, 0.5), [(1, [-1.0])])
    assert int(seen.leader) == 1


def test_gaussian_evidence_is_the_likelihood_ratio_of_each_pair():
    arms = GaussianArms(3, 0.5)
    told = [(0, [1.0]), (0, [1.2]), (1, [0.4]), (2, [0.0]), (2, [0.6]), (2, [0.3])]
    evidence = np.asarray(arms.evidence(seen_after(arms, told)))
    assert evidence[0] == np.inf
    for rival, (count, mean) in {1: (1, 0.4), 2: (3, 0.3)}.items():
        rewards = {0: (2, 1.1), rival: (count, mean)}
        # Both arms at their common mean against both at their own.
        pooled = (2 * 1.1 + count * mean) / (2 + count)
        ratio = sum(n * (m - pooled) ** 2 / (2 * 0.25) for n, m in rewards.values())
        assert evidence[rival] == pytest.approx(ratio, rel=1e-5)


def test_visitors_of_a_batch_count_one_by_one():
    arms = BernoulliArms(2, 10)
    seen = seen_after(arms, [(0, [8.0]), (1, [3.0])])
    np.testing.assert_allclose(seen.means, [0.8, 0.3], rtol=1e-6)
    assert float(arms.time(seen)) == 20
    np.testing.assert_array_equal(seen.pulls, [1, 1])

    def log_likelihood(successes, rate):
        return successes * np.log(rate) + (10 - successes) * np.log(1 - rate)

    truth = log_likelihood(8, 0.8) + log_likelihood(3, 0.3)
    truth -= log_likelihood(8, 0.55) + log_likelihood(3, 0.55)
    assert float(arms.evidence(seen)[1]) == pytest.approx(truth, rel=1e-5)
    assert float(arms.valid_threshold(seen, DELTA)) == pytest.approx(np.log(400))


def test_a_graph_counts_what_was_revealed_and_time_in_queries():
    arms = arms_of(FeedbackGraph(num_arms=3))
    assert isinstance(arms, GraphArms)
    seen = seen_after(arms, [(0, [0.5, 0.0, 0.7, 1, 0, 1]), (1, [0.0] * 6)])
    np.testing.assert_allclose(seen.counts, [1, 0, 1])
    np.testing.assert_array_equal(seen.pulls, [1, 1, 0])
    assert float(arms.time(seen)) == 2
    assert int(seen.leader) == 2


def test_families_have_the_arms_of_their_law():
    assert arms_of(ShiftedGaussianBandit(num_arms=4)) == GaussianArms(4, 0.5)
    assert arms_of(BernoulliBandit(batch_size=7)) == BernoulliArms(5, 7)


def test_other_families_are_refused():
    assert not has_arms(BinarySearch())
    with pytest.raises(UnsupportedError, match="leave vary_arms out"):
        arms_of(GaussianBandit(vary_arms=True))
