"""The optima of the toy families against an exhaustive search over all policies."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from support.toy_tasks import Corridor, Hint, Lockers, TwoBits, TwoDoors

PRICES = (0.0, 0.03, 0.2, 0.4, 0.6, 1.1)


def answers(family, tasks):
    """`outcomes[task, query]` and `ends[query]`, from the family itself."""
    spec = family.spec

    @jax.jit
    def ask(task, query):
        first = family.reset(task, key=jr.key(0))
        return family.step(first.state, query, task, key=jr.key(0))

    pairs = itertools.product(tasks, jnp.arange(spec.num_queries))
    results = [ask(*pair) for pair in pairs]
    shape = (len(tasks), spec.num_queries)
    outcomes = np.stack([result.outcome for result in results]).reshape(*shape, -1)
    ends = np.stack([result.terminated for result in results]).reshape(shape)
    return outcomes, ends[0]


def expectimax(family, tasks, price, max_queries):
    """The best P(correct) - price * cost of all policies, by enumeration.

    For families with equally probable tasks and answers without noise; a masked
    query may be made once.
    """
    spec = family.spec
    outcomes, ends = answers(family, tasks)
    truths = np.array([family.hypothesis(task) for task in tasks])
    costs = np.asarray(spec.cost_array)

    def guess(alive):
        return max(np.sum(truths[alive] == h) for h in range(spec.num_hypotheses))

    def value(alive, left, used):
        """In units of tasks: `alive` are those that agree with the history."""
        choices = [guess(alive)] if spec.can_stop or left == 0 else []
        for query in range(spec.num_queries if left else 0):
            if spec.masks_queries and query in used:
                continue
            groups = {}
            for task in alive:
                groups.setdefault(outcomes[task, query].tobytes(), []).append(task)
            after = (
                sum(map(guess, groups.values()))
                if ends[query]
                else sum(value(g, left - 1, used | {query}) for g in groups.values())
            )
            choices.append(after - price * costs[query] * len(alive))
        return max(choices) if choices else guess(alive)

    firsts = {}
    for i, task in enumerate(tasks):
        first = np.asarray(family.reset(task, key=jr.key(0)).outcome).tobytes()
        firsts.setdefault(first, []).append(i)
    total = sum(value(group, max_queries, frozenset()) for group in firsts.values())
    return total / len(tasks)


def hints(num_boxes):
    pairs = itertools.product(range(num_boxes), range(2))
    return [jnp.asarray(pair, jnp.int32) for pair in pairs]


@pytest.mark.parametrize(
    ("family", "tasks", "caps"),
    [
        (TwoDoors(), list(jnp.arange(2)), (1, 3)),
        (Lockers(size=3), list(jnp.arange(3)), (1, 2, 3)),
        (Corridor(), list(jnp.arange(2)), (1, 2, 3)),
        (Hint(num_boxes=2), hints(2), (1, 2)),
        (TwoBits(), list(jnp.arange(4)), (1, 2)),
    ],
    ids=["two-doors", "lockers", "corridor", "hint", "two-bits"],
)
def test_no_policy_beats_the_optimal_value_and_one_attains_it(family, tasks, caps):
    for price, cap in itertools.product(PRICES, caps):
        best = expectimax(family, tasks, price, cap)
        claimed = family.optimal_value(price=price, max_queries=cap)
        assert claimed == pytest.approx(best, abs=1e-6), (price, cap)


def test_without_a_cap_the_horizon_is_the_cap():
    for family in (TwoDoors(reliability=0.7), Lockers(), Corridor()):
        horizon = family.spec.horizon
        for price in PRICES:
            capped = family.optimal_value(price=price, max_queries=horizon)
            assert family.optimal_value(price=price) == capped


def test_free_peeks_are_worth_a_majority_vote():
    # P(Binomial(n, p) > n / 2) + P(= n / 2) / 2, by hand for n = 3 and p = 0.7.
    family = TwoDoors(reliability=0.7)
    majority = 0.7**3 + 3 * 0.7**2 * 0.3
    assert family.optimal_value(price=0.0, max_queries=3) == pytest.approx(majority)
    # A fourth vote can only make a tie, so it is worth nothing.
    assert family.optimal_value(price=0.0, max_queries=4) == pytest.approx(majority)


def test_one_peek_is_bought_when_it_is_worth_its_price():
    family = TwoDoors(reliability=0.7)
    assert family.optimal_value(price=0.1, max_queries=1) == pytest.approx(0.6)
    assert family.optimal_value(price=0.3, max_queries=1) == pytest.approx(0.5)


def test_a_peek_is_right_as_often_as_the_reliability_says():
    family = TwoDoors(reliability=0.7)
    keys = jr.split(jr.key(0), 4000)
    outcomes = jax.jit(
        jax.vmap(lambda key: family.step(None, jnp.asarray(0), jnp.asarray(1), key=key))
    )(keys).outcome
    # Standard error 0.0072, so 5 of them are exceeded with probability 6e-7.
    assert abs(np.mean(outcomes == 1.0) - 0.7) < 0.036


@pytest.mark.parametrize(
    "make",
    [
        lambda: TwoDoors(reliability=0.5),
        lambda: TwoDoors(horizon=0),
        lambda: Lockers(size=1),
        lambda: Corridor(horizon=0),
        lambda: Hint(num_boxes=0),
        lambda: TwoBits(both_cost=3.0),
    ],
)
def test_an_impossible_parameter_is_refused(make):
    with pytest.raises(InvalidParameterError):
        make()
