"""Networks that start from exact tables know when to stop before any training."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.evaluate.judge import judge
from icpe.evaluate.thresholds import play_thresholds
from icpe.explorers.neural.config import PriceRange
from icpe.explorers.registry import make_explorer
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.families import AdaptiveTest, from_likelihoods
from icpe.families.finite import bayes_optimum
from icpe.learn import pilot
from icpe.learn import worth as module
from icpe.learn.learner import UniversalLearner
from icpe.learn.learners import make_learner
from icpe.learn.recipe import recipe
from icpe.learn.survey import survey
from icpe.nets.worth_head import WorthHead

EPISODES = 4096


def coins(cost):
    """Which of three coins is it? There is one query, so that stopping is all."""
    heads = np.array([0.2, 0.5, 0.8])
    table = np.stack([1 - heads, heads], axis=1)[:, None]
    return from_likelihoods(table, costs=[cost], once=False, horizon=10)


def untrained(family):
    learner = make_learner(family.with_data(), recipe("cpu", family))
    assert isinstance(learner, UniversalLearner)
    return learner.explorer(learner.init(key=jr.key(0)))


def test_the_first_networks_stop_about_as_well_as_the_optimum():
    """The optimum is by dynamic programming; a threshold of the posterior is not it.

    Values have a standard error of about 0.002 on these episodes.
    """
    cost, family = 50.0, coins(50.0)
    explorer = untrained(family)
    greedy = make_explorer("information-gain", family)
    assert isinstance(greedy, BeliefExplorer)
    rule = play_thresholds(greedy, family, EPISODES, key=jr.key(7))
    rows = np.arange(EPISODES)
    for each in (0.04, 0.01):
        price = each / cost
        found = judge(explorer, family, (price,), EPISODES, key=jr.key(7))
        value = found.sureness[0] - price * found.mean_cost[0]
        best = bayes_optimum(family, price=price).limits
        accuracy, paid = best["bayes_accuracy"], best["bayes_mean_cost"]
        assert accuracy is not None and paid is not None
        optimum = accuracy - price * paid
        assert abs(optimum - value) < 0.01
        by_threshold = max(
            rule.sure[rows, stop].mean() - price * rule.paid[rows, stop].mean()
            for stop in map(rule.stops, np.linspace(0.4, 0.999, 200))
        )
        assert value > by_threshold - 0.004


def test_values_go_back_from_where_the_rule_stops():
    """Stops at position 2 of 3: a query before that pays for those up to there."""
    sure = jnp.array([[0.4, 0.5, 0.7, 0.9]])
    paid = jnp.array([[0.1, 0.1, 0.1, 0.0]])
    stops = jnp.array([[False, False, True, True]])
    after = module._value_after(sure, paid, stops)
    np.testing.assert_allclose(after[0, :3], [0.6, 0.7, 0.9], rtol=1e-6)


def test_the_lowest_price_is_what_the_last_queries_are_worth():
    """0.007 of belief for 14 more queries, and nothing at all for one threshold."""
    sureness, cost = np.array([0.5, 0.88, 0.887, 0.89]), np.array([0.0, 26, 40, 60])
    assert pilot._last_slope(sureness, cost, 0.89) == pytest.approx(0.007 / 14)
    assert pilot._last_slope(np.ones(2), np.array([3.0, 3.0]), 1.0) == np.inf


def test_a_short_fit_does_not_fall_to_where_asking_is_never_worth_anything():
    """Four equal bands: one answer adds 0.18 to a belief of 0.25. With a full step size
    at once, the heads of short fits gave nothing to any query."""
    family = AdaptiveTest(num_items=20, num_bands=4, horizon=8, draw=3)
    found = survey(family, "cpu")
    assert found.given is not None and found.greedy is not None
    prices = (0.02, 0.14)
    for updates in (150, 300):
        head = module.fit_worth(
            family.spec, found.given, found.greedy, PriceRange(*prices), updates
        )
        (value, _), (cost, _) = module.values_of_stops(
            head, family.spec, found.given, found.greedy, prices
        )
        assert cost >= 1.0
        assert value > 0.25 + 0.1


def test_what_stops_are_worth_counts_every_query_before_them():
    """A head that never stops pays for the horizon; one that always does, nothing."""
    family, price = coins(1.0), 0.001
    found = survey(family.with_data(), "cpu")
    assert found.given is not None and found.greedy is not None
    given, history, spec = found.given, found.greedy, family.spec
    head = WorthHead(spec.num_hypotheses, key=jr.key(0))
    assert head.out.bias is not None
    posterior = np.exp(np.asarray(pilot.posteriors(given, history)).max(axis=-1))
    for logit, stop in ((20.0, 10), (-20.0, 0)):
        bias = jnp.full_like(head.out.bias, logit)
        fixed = eqx.tree_at(lambda it: it.out.bias, head, bias)
        values, costs = module.values_of_stops(fixed, spec, given, history, (price,))
        assert costs == [stop]
        expected = posterior[:, stop].mean() - price * stop
        assert values[0] == pytest.approx(expected, abs=1e-5)
