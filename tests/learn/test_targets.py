"""Losses and targets against plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.spec import TaskSpec
from icpe.explorers.neural.networks import Estimates
from icpe.learn.replay import Experience
from icpe.learn.targets import gain_targets, inference_loss, query_loss

STEPS, QUERIES, HYPOTHESES = 6, 3, 2
CASES = 200
COSTS = (1.0, 2.0, 0.5)


def spec(*, can_stop=True, masks_queries=False):
    return TaskSpec(
        num_queries=QUERIES,
        num_hypotheses=HYPOTHESES,
        outcome_size=1,
        horizon=STEPS,
        costs=COSTS,
        can_stop=can_stop,
        masks_queries=masks_queries,
    )


def random_estimates(rng):
    # Rounded, so that greedy queries and ties of gain with 0 are common.
    gain = rng.integers(-2, 3, (STEPS + 1, QUERIES)) / 10 + 0.001 * rng.random(
        (STEPS + 1, QUERIES)
    )
    posterior = rng.dirichlet(np.ones(HYPOTHESES), STEPS + 1)
    doubt = 0.1 * (rng.random((STEPS + 1, QUERIES)) < 0.3)
    return Estimates(
        jnp.asarray(np.log(posterior), jnp.float32),
        jnp.asarray(gain, jnp.float32),
        preference=jnp.asarray(gain - doubt, jnp.float32),
    )


def random_experience(rng, online, masked):
    """An episode that is often greedy, with any end."""
    max_queries = int(rng.integers(1, STEPS + 1))
    length = int(rng.integers(0, max_queries + 1))
    masks = rng.random((STEPS + 1, QUERIES)) < 0.6 if masked else None
    queries = np.full(STEPS, -1)
    for t in range(length):
        if masks is not None and not masks[t].any():
            masks[t, rng.integers(QUERIES)] = True
        allowed = np.arange(QUERIES) if masks is None else np.flatnonzero(masks[t])
        greedy = allowed[np.argmax(np.asarray(online.preference)[t, allowed])]
        queries[t] = greedy if rng.random() < 0.7 else rng.choice(allowed)
    return Experience(
        queries=jnp.asarray(queries, jnp.int16),
        outcomes=jnp.zeros((STEPS + 1, 1)),
        length=jnp.asarray(length, jnp.int32),
        terminated=jnp.asarray(length > 0 and rng.random() < 0.3),
        hypothesis=jnp.asarray(rng.integers(HYPOTHESES), jnp.int32),
        price=jnp.asarray(rng.choice([0.0, 0.02, 0.1]), jnp.float32),
        max_queries=jnp.asarray(max_queries, jnp.int32),
        query_masks=None if masks is None else jnp.asarray(masks),
    )


class Reference:
    """Watkins lambda-returns by recursion, one position at a time."""

    def __init__(self, online, target, experience, spec, trace_decay):
        self.online = np.asarray(online.preference)
        self.target = np.asarray(target.gain)
        self.stop = np.exp(np.asarray(target.log_posterior)).max(1)
        self.e, self.spec, self.decay = experience, spec, trace_decay
        self.price = float(experience.price)
        self.length = int(experience.length)

    def allowed(self, t):
        masks = self.e.query_masks
        return [
            a for a in range(QUERIES) if masks is None or bool(np.asarray(masks)[t, a])
        ]

    def greedy(self, t):
        """The online network's choice, None where stopping is the choice."""
        allowed = self.allowed(t)
        if t >= int(self.e.max_queries) or not allowed:
            return None
        query = max(allowed, key=lambda a: self.online[t, a])
        no_gain = self.target[t, query] <= 0 and self.price > 0
        return None if self.spec.can_stop and no_gain else query

    def value(self, t):
        query = self.greedy(t)
        return self.stop[t] + (0.0 if query is None else self.target[t, query])

    def taken(self, t):
        return int(self.e.queries[t])

    def shortfall(self, t):
        """How far the query taken is below the online network's choice."""
        best = max(self.allowed(t), key=lambda a: self.online[t, a])
        return max(0.0, self.target[t, best] - self.target[t, self.taken(t)])

    def returns(self, t):
        paid = self.price * COSTS[self.taken(t)]
        if bool(self.e.terminated) and t + 1 == self.length:
            return self.stop[t + 1] - paid
        follows = t + 1 < self.length and self.taken(t + 1) == self.greedy(t + 1)
        decay = self.decay if follows else 0.0
        later = self.returns(t + 1) if follows else 0.0
        return (1 - decay) * self.value(t + 1) + decay * later - paid


@pytest.mark.parametrize("masked", [False, True], ids=["free", "masks"])
@pytest.mark.parametrize("can_stop", [True, False], ids=["can stop", "cannot"])
def test_targets_are_watkins_returns_less_stopping_and_shortfall(masked, can_stop):
    rng = np.random.default_rng(0)
    task = spec(can_stop=can_stop, masks_queries=masked)
    online = [random_estimates(rng) for _ in range(CASES)]
    target = [random_estimates(rng) for _ in range(CASES)]
    episodes = [random_experience(rng, it, masked) for it in online]
    stack = lambda trees: jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)  # noqa: E731
    targets = jax.jit(
        jax.vmap(
            lambda o, t, e: (
                gain_targets(
                    o, t, e, task, trace_decay=0.8, advantage_learning=0.7
                ).gain
            )
        )
    )(stack(online), stack(target), stack(episodes))
    followed, fell_short = 0, 0
    for i in range(CASES):
        slow = Reference(online[i], target[i], episodes[i], task, 0.8)
        for t in range(slow.length):
            expected = slow.returns(t) - slow.stop[t] - 0.7 * slow.shortfall(t)
            fell_short += slow.shortfall(t) > 0
            assert targets[i, t] == pytest.approx(expected, abs=1e-5)
            followed += t + 1 < slow.length and slow.taken(t + 1) == slow.greedy(t + 1)
    assert followed > CASES / 2, "hardly any trace was followed"
    assert fell_short > CASES / 20, "hardly any query was worse than the best"


def make_experience(queries, length, hypothesis=0):
    padded = np.full(STEPS, -1)
    padded[: len(queries)] = queries
    return Experience(
        queries=jnp.asarray(padded, jnp.int16),
        outcomes=jnp.zeros((STEPS + 1, 1)),
        length=jnp.asarray(length, jnp.int32),
        terminated=jnp.asarray(False),
        hypothesis=jnp.asarray(hypothesis, jnp.int32),
        price=jnp.asarray(0.1),
        max_queries=jnp.asarray(STEPS, jnp.int32),
        query_masks=None,
    )


def estimates(gain, unit=None):
    """Of which the query loss sees the gain and the unit alone."""
    return Estimates(
        jnp.zeros((STEPS + 1, HYPOTHESES)),
        jnp.asarray(gain, jnp.float32),
        None if unit is None else jnp.asarray(unit, jnp.float32),
    )


def test_the_inference_loss_is_the_log_loss_at_every_position_reached():
    posterior = np.full((STEPS + 1, HYPOTHESES), np.nan)
    posterior[:3] = [[0.5, 0.5], [0.25, 0.75], [0.1, 0.9]]
    posterior[3:] = 1e-6  # padding, which must not count
    loss = inference_loss(
        jnp.log(jnp.asarray(posterior, jnp.float32)), make_experience([0, 1], 2, 1)
    )
    expected = -(np.log(0.5) + np.log(0.75) + np.log(0.9))
    assert loss.total == pytest.approx(expected, rel=1e-5)
    assert loss.weight == 3


def test_the_query_loss_is_the_squared_error_at_every_query_made():
    gain = np.zeros((STEPS + 1, QUERIES))
    gain[0], gain[1] = [0.5, 9.0, 9.0], [9.0, 9.0, -0.25]
    gain[2:] = 77.0  # after the end, which must not count
    targets = jnp.asarray([0.1, 0.25, 5.0, 5.0, 5.0, 5.0])
    sure = jnp.full(STEPS + 1, 0.98)
    loss = query_loss(estimates(gain), targets, sure, make_experience([0, 2], 2))
    assert loss.total / loss.weight == pytest.approx((0.4**2 + 0.5**2) / 2, rel=1e-5)


TARGETS = jnp.asarray([1.0, 2.0, 0.0, 0.0, 0.0, 0.0])
STOP = jnp.asarray([0.48, 0.98, 0.5, 0.5, 0.5, 0.5, 0.5])


def test_errors_weigh_more_where_the_posterior_is_nearly_sure():
    gain = np.zeros((STEPS + 1, QUERIES))
    loss = query_loss(estimates(gain), TARGETS, STOP, make_experience([0, 2], 2))
    # Errors 1 and 4, error probabilities 0.52 and 0.02 with a floor of 0.02.
    assert loss.total == pytest.approx(1 / 0.54 + 4 / 0.04, rel=1e-4)
    assert loss.weight == pytest.approx(1 / 0.54 + 1 / 0.04, rel=1e-4)


def test_where_costs_have_a_unit_errors_are_divided_by_the_noise_of_a_return():
    unit = np.full(STEPS + 1, np.nan)
    unit[:2] = [0.01, 0.02]
    unit[2:] = 5.0  # after the end, which must not count
    said = estimates(np.zeros((STEPS + 1, QUERIES)), unit)
    loss = query_loss(said, TARGETS, STOP, make_experience([0, 2], 2))
    # Standard deviations: 0.3 of the error probability, 4 units of cost.
    noise = [(0.3 * 0.52) ** 2 + 0.04**2, (0.3 * 0.02) ** 2 + 0.08**2]
    expected = 1 / (noise[0] + 1e-5) + 4 / (noise[1] + 1e-5)
    assert loss.total == pytest.approx(expected, rel=1e-4)
    assert loss.weight == 2


def test_an_episode_without_queries_has_no_query_loss():
    loss = query_loss(
        estimates(np.ones((STEPS + 1, QUERIES))),
        jnp.ones(STEPS),
        jnp.full(STEPS + 1, 0.5),
        make_experience([], 0),
    )
    assert (loss.total, loss.weight) == (0.0, 0.0)
