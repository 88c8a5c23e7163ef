from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from icpe.core.errors import (
    InvalidParameterError,
    OperatingPointError,
    UnsupportedError,
)
from icpe.evaluate.limits import instance_limits, is_every_task, limits
from icpe.families import (
    BernoulliBandit,
    BinarySearch,
    DeterministicBandit,
    FeedbackGraph,
    GaussianBandit,
    MagicAction,
    MagicChain,
    MagicRoom,
    NoisyBinarySearch,
    ShiftedGaussianBandit,
    TwoPullBandit,
)
from support.toy_tasks import TwoDoors


class PricedPeek(TwoDoors):
    """Two doors that give the likelihood of what one sees."""

    def log_likelihood(self, hypothesis, query, outcome):
        right = (outcome[0] > 0) == (hypothesis == 1)
        seen = jnp.where(right, self.reliability, 1.0 - self.reliability)
        peeked = jnp.where(outcome[0] == 0, -jnp.inf, jnp.log(seen))
        knocked = jnp.where(outcome[0] == 0, 0.0, -jnp.inf)
        return jnp.where(query == 0, peeked, knocked)


KL = 0.8 * np.log(9)
"""kl(0.1, 0.9)."""


def found(family, error_prob=None, **options) -> dict[str, Any]:
    """The limits of a family, of which a test knows that they are numbers."""
    return dict(limits(family, error_prob, **options))


def test_binary_search_has_its_exact_optimum():
    assert limits(BinarySearch(size=8)) == {"mean_queries": 2.125, "max_queries": 3}
    almost = found(BinarySearch(size=8), 0.01)
    assert 2.0 < almost["bayes_mean_queries"] < 2.125


def test_all_revealed_arms_must_be_tried():
    known = limits(DeterministicBandit(num_arms=7))
    assert known == {"mean_queries": 7.0, "max_queries": 7}
    some = DeterministicBandit(num_arms=7, vary_arms=True, fewest_arms=4)
    assert limits(some) == {"mean_queries": 5.5, "max_queries": 7}


@pytest.mark.parametrize("family", [TwoDoors(), MagicRoom(), MagicChain(noise=0.1)])
def test_a_family_without_limits_has_none(family):
    assert limits(family, 0.1) == {"mean_queries": None, "max_queries": None}


@pytest.mark.parametrize("error_prob", [0.0, 1.0, float("nan")])
def test_an_impossible_error_probability_is_refused(error_prob):
    with pytest.raises(OperatingPointError, match="error_prob must lie"):
        limits(BinarySearch(), error_prob)


def test_two_gaussian_arms_have_the_mean_of_the_closed_form():
    """T* = 8 noise^2 / gap^2, and the gap is 0.4 more than that of two uniforms."""
    family = GaussianBandit(num_arms=2, max_mean=2.4)
    known = found(family, 0.1)
    mean = integrate.quad(lambda d: 2 / (0.4 + d) ** 2 * (2 - d) / 2, 0, 2)[0]
    error = known["characteristic_time_standard_error"]
    # Five standard errors: false alarm 6e-7.
    assert known["characteristic_time_mean"] == pytest.approx(mean, abs=5 * error)
    assert error < 0.05 * mean
    assert known["correct_on_every_task_mean_queries"] == pytest.approx(
        KL * known["characteristic_time_mean"], rel=1e-5
    )
    median = 2 - np.sqrt(2)  # of |u - v| on [0, 2]
    assert known["characteristic_time_median"] == pytest.approx(
        2 / (0.4 + median) ** 2, rel=0.25
    )
    # Two arms: 2 noise^2 kl / max(0.4^2, gap^2) is the lower side, kl / 2 gap^2.
    lower = known["correct_on_every_task_known_gap_lower"]
    assert lower == pytest.approx(
        known["correct_on_every_task_mean_queries"] / 4, rel=1e-4
    )
    assert lower < known["correct_on_every_task_known_gap_upper"]


def test_seeds_draw_other_tasks_and_arms_that_are_not_there_do_not_count():
    fixed = GaussianBandit(num_arms=2, max_mean=2.4)
    padded = GaussianBandit(num_arms=4, max_mean=2.4, vary_arms=True, most_arms=2)
    one, other = (found(family) for family in (fixed, padded))
    error = 5 * np.hypot(
        *(x["characteristic_time_standard_error"] for x in (one, other))
    )
    assert one["characteristic_time_mean"] == pytest.approx(
        other["characteristic_time_mean"], abs=error
    )
    assert found(fixed, seed=1) != one == found(fixed, seed=0)


@pytest.mark.parametrize(
    "family",
    [
        GaussianBandit(num_arms=2, min_gap=0.0),
        ShiftedGaussianBandit(num_arms=2, min_gap=0.0, shift_kl=0.01),
        BernoulliBandit(num_arms=2),
    ],
)
def test_a_mean_that_is_infinite_is_left_out(family):
    known = found(family, 0.1)
    assert known["characteristic_time_mean"] is None
    assert known["correct_on_every_task_standard_error"] is None
    assert np.isfinite(known["correct_on_every_task_median_queries"])


def test_nothing_is_needed_from_one_half_on():
    known = found(GaussianBandit(num_arms=2, max_mean=2.4), 0.6)
    assert known["correct_on_every_task_mean_queries"] == 0.0
    assert known["correct_on_every_task_known_gap_upper"] == 0.0


def test_a_batch_of_visitors_is_one_query():
    one, four = (
        found(BernoulliBandit(num_arms=2, min_gap=0.1, batch_size=size))
        for size in (1, 4)
    )
    assert four["characteristic_time_mean"] == pytest.approx(
        one["characteristic_time_mean"] / 4
    )


@pytest.mark.slow
def test_the_graph_of_single_arms_has_the_closed_form_of_equal_gaps():
    """One best of three: T* = 2 noise^2 (1 + sqrt(2))^2 / gap^2, in every task."""
    matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    known = found(
        FeedbackGraph(kind="matrix", num_arms=3, matrix=matrix, prior="one-best")
    )
    truth = 2 * 0.2**2 * (1 + np.sqrt(2)) ** 2 / 0.5**2
    assert known["characteristic_time_mean"] == pytest.approx(truth, rel=1e-3)
    assert known["characteristic_time_median"] == pytest.approx(truth, rel=1e-3)
    assert known["characteristic_time_standard_error"] == 0.0


def test_the_magic_chain_has_both_optima():
    known = found(MagicChain(num_arms=10, num_magic=4), 0.01)
    assert known["mean_queries"] == pytest.approx(3.971, abs=1e-3)
    assert known["paper_expression"] == pytest.approx(3.476, abs=1e-3)
    assert known["bayes_mean_queries"] == pytest.approx(3.71, abs=0.01)
    assert known["max_queries"] is None
    mixed = found(MagicChain(vary_magic=True, fewest_magic=4, most_magic=5))
    assert mixed["mean_queries"] == pytest.approx((3.971 + 4.071) / 2, abs=1e-3)
    assert "bayes_mean_queries" not in mixed


def test_the_two_pull_bandit_needs_two_or_very_many():
    known = found(TwoPullBandit(num_arms=7), 0.1)
    assert (known["mean_queries"], known["max_queries"]) == (2.0, 2)
    assert known["without_arm_zero_mean_queries"] > 30


def test_noisy_search_needs_no_less_than_its_bound():
    family = NoisyBinarySearch(size=3, noise=0.1)
    known = found(family, 0.2)
    assert 0.5 < known["fano_mean_queries"] <= known["bayes_mean_queries"]
    # One guess in the middle of three is answered right with probability 0.9.
    assert found(family, 0.1)["bayes_mean_queries"] == pytest.approx(1.0, abs=1e-6)
    assert found(NoisyBinarySearch(size=8, noise=0.0))["mean_queries"] == 2.125
    assert found(family, 0.9)["fano_mean_queries"] == 0.0


def test_only_bounds_of_every_task_are_marked_so():
    names = set(found(GaussianBandit(num_arms=2, max_mean=2.4), 0.1))
    marked = {name for name in names if is_every_task(name)}
    assert names - marked == {"mean_queries", "max_queries"}


@pytest.mark.slow
def test_the_magic_action_has_the_mean_of_its_theorem():
    """7.97 at magic noise 0.7 and error probability 0.1, from another program."""
    known = found(MagicAction(num_arms=5, magic_noise=0.7), 0.1)
    error = known["correct_on_every_task_standard_error"]
    # The other value has about the same error: 5 standard errors, false alarm 6e-7.
    assert known["correct_on_every_task_mean_queries"] == pytest.approx(
        7.97, abs=5 * np.sqrt(2) * error
    )
    assert error < 0.4
    clear = found(MagicAction(magic_noise=0.0))
    assert (clear["mean_queries"], clear["max_queries"]) == (1.0, 1)
    noisy = found(MagicAction(vary_noise=True, lowest_noise=1.0))
    assert (noisy["mean_queries"], noisy["max_queries"]) == (4.0, 4)


def test_the_optimum_at_a_price_is_that_of_all_histories():
    family = NoisyBinarySearch(size=4, noise=0.2, horizon=3)
    price = 0.05
    truth = np.sign(np.arange(4)[:, None] - np.arange(4)) + 1
    table = np.where(truth[:, :, None] == np.arange(3), 0.8, 0.1)

    def best(joint, left):
        """(value, accuracy, queries), nothing merged and nothing pruned."""
        options = [(joint.max(), joint.max(), 0.0)]
        for query in range(4 if left else 0):
            after = [best(joint * table[:, query, o], left - 1) for o in range(3)]
            value, right, made = np.sum(after, axis=0)
            options.append((value - price * joint.sum(), right, made + joint.sum()))
        return max(options)

    _, accuracy, queries = best(np.full(4, 0.25), 3)
    known = found(family, price=price)
    assert known["bayes_accuracy"] == pytest.approx(accuracy, abs=1e-6)
    assert known["bayes_mean_queries"] == pytest.approx(queries, abs=1e-6)


@pytest.mark.parametrize("price", [0.02, 0.3])
def test_a_family_with_a_likelihood_has_its_optimum(price):
    family = PricedPeek(reliability=0.8)
    known = found(family, price=price)
    value = known["bayes_accuracy"] - price * known["bayes_mean_queries"]
    assert value == pytest.approx(family.optimal_value(price=price), abs=1e-6)
    assert "bayes_accuracy" not in found(family)


def test_a_price_and_an_error_probability_are_two_requests():
    with pytest.raises(OperatingPointError, match="are two requests; give one"):
        limits(BinarySearch(), 0.1, price=0.1)
    with pytest.raises(InvalidParameterError, match="price must be a positive"):
        limits(BinarySearch(), price=0.0)


@pytest.mark.parametrize("num_arms", [2, 5])
def test_equal_gaps_have_the_closed_form(num_arms):
    """T* = 2 noise^2 (1 + sqrt(K - 1))^2 / gap^2 (Garivier and Kaufmann 2016)."""
    family = GaussianBandit(num_arms=num_arms, noise=0.3)
    means = [0.6] + [0.4] * (num_arms - 1)
    known = instance_limits(family, means, 0.1)
    root = np.sqrt(num_arms - 1)
    time = 2 * 0.3**2 * (1 + root) ** 2 / 0.2**2
    assert known.characteristic_time == pytest.approx(time, rel=1e-9)
    assert known.correct_on_every_task_mean_queries == pytest.approx(KL * time)
    assert known.optimal_proportions[0] == pytest.approx(1 / (1 + root))
    assert sum(known.optimal_proportions) == pytest.approx(1.0)
    assert known.best == 0


def test_the_proportions_of_four_arms_attain_their_time_and_no_others_do_better():
    means = np.array([1.0, 0.85, 0.8, 0.7])
    known = instance_limits(GaussianBandit(num_arms=4), means.tolist(), 0.1)

    def information(w):
        shared = w[0] * w[1:] / (w[0] + w[1:])
        return (shared * (1.0 - means[1:]) ** 2 / (2 * 0.25)).min()

    best = information(np.array(known.optimal_proportions))
    assert 1 / best == pytest.approx(known.characteristic_time, rel=1e-6)
    others = np.random.default_rng(0).dirichlet(np.ones(4) * 3, 2000)
    assert max(map(information, others)) <= best * (1 + 1e-9)


def test_a_bandit_with_batches_needs_fewer_queries_and_a_graph_of_loops_is_a_bandit():
    rates = [0.3, 0.2, 0.25]
    one, four = (
        instance_limits(BernoulliBandit(num_arms=3, batch_size=size), rates, 0.05)
        for size in (1, 4)
    )
    assert one.characteristic_time == pytest.approx(4 * four.characteristic_time)
    assert one.optimal_proportions == pytest.approx(four.optimal_proportions)
    loops = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    graph = FeedbackGraph(kind="matrix", num_arms=3, matrix=loops, noise=0.5)
    plain = instance_limits(GaussianBandit(num_arms=3), [0.9, 0.5, 0.4], 0.1)
    seen = instance_limits(graph, [0.9, 0.5, 0.4], 0.1)
    assert seen.characteristic_time == pytest.approx(
        plain.characteristic_time, rel=1e-6
    )
    assert seen.optimal_proportions == pytest.approx(
        plain.optimal_proportions, abs=1e-4
    )


@pytest.mark.parametrize(
    ("family", "means", "sentence"),
    [
        (GaussianBandit(num_arms=3), [1.0, 0.4], "must be 3 numbers, one for each arm"),
        (GaussianBandit(num_arms=2), [5.0, 0.4], "between 0 and max_mean = 0.8; got 5"),
        (GaussianBandit(num_arms=2), [0.4, 0.4], "arms 0 and 1 both have 0.4"),
        (ShiftedGaussianBandit(num_arms=2), [-1.0, 0.4], "max_mean = 0.8; got -1"),
        (BernoulliBandit(num_arms=2), [1.0, 0.4], "strictly between 0 and 1; got 1."),
        (FeedbackGraph(num_arms=3), [1.5, 0.4, 0.2], "between 0.0 and 1.0; got 1.5"),
    ],
)
def test_means_that_do_not_fit_are_refused(family, means, sentence):
    with pytest.raises(InvalidParameterError, match=sentence):
        instance_limits(family, means, 0.1)


def test_any_number_of_arms_that_the_family_may_have_will_do():
    family = GaussianBandit(num_arms=5, vary_arms=True, fewest_arms=3)
    assert instance_limits(family, [1.0, 0.5, 0.2], 0.1).characteristic_time > 0
    with pytest.raises(InvalidParameterError, match="must be 3 to 5 numbers"):
        instance_limits(family, [0.4, 0.2], 0.1)


def test_families_without_arms_have_no_characteristic_time_of_means():
    with pytest.raises(UnsupportedError, match="those of bernoulli-bandit, feedback"):
        instance_limits(MagicAction(), [1.0, 0.5], 0.1)
