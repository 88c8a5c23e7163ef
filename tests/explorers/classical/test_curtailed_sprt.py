"""Curtailment against a brute force over all that the rest of a test may bring."""

import itertools

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

from icpe.core.request import OperatingPoint
from icpe.evaluate.benchmark import evaluate
from icpe.explorers import make_explorer
from icpe.explorers.classical.adaptive_tests import SprtExplorer
from icpe.families import from_item_bank

NUM_ITEMS, HORIZON, CUTS, SIDE = 16, 12, (-0.5, 0.6), 0.25


@pytest.fixture(scope="module")
def bank():
    random = np.random.default_rng(4)
    slopes = np.exp(0.3 * random.normal(size=NUM_ITEMS))
    return pd.DataFrame(
        {
            "item": [f"item {i}" for i in range(NUM_ITEMS)],
            "a": slopes,
            "b": random.normal(size=NUM_ITEMS),
        }
    )


@pytest.fixture(scope="module")
def family(bank):
    return from_item_bank(bank, CUTS, max_items=HORIZON)


def right(bank, ability):
    """P(right) of each item, by the formula of the model."""
    return 1 / (1 + np.exp(-bank.a.to_numpy() * (ability - bank.b.to_numpy())))


def steps(bank):
    """What a wrong and a right answer to each item add to the ratio at each cut."""
    rows = []
    for cut in CUTS:
        above, below = right(bank, cut + SIDE), right(bank, cut - SIDE)
        rows.append(
            np.stack([np.log((1 - above) / (1 - below)), np.log(above / below)], axis=1)
        )
    return np.array(rows)


def stays(bank, ratios, left, answers):
    """The probability that each ratio keeps its sign, over all answers to come.

    The ability is as uncertain as its posterior, on a grid of its own.
    """
    grid = np.linspace(-5, 5, 81)
    rights = np.stack([right(bank, ability) for ability in grid])
    weights = np.exp(-(grid**2) / 2)
    for item, answer in answers:
        weights = weights * (rights[:, item] if answer else 1 - rights[:, item])
    moves, total = steps(bank), np.zeros(len(CUTS))
    for answers_left in itertools.product((0, 1), repeat=len(left)):
        chances, end = weights / weights.sum(), ratios.copy()
        for item, answer in zip(left, answers_left, strict=True):
            chances = chances * (rights[:, item] if answer else 1 - rights[:, item])
            end += moves[:, item, answer]
        total += chances.sum() * (np.sign(end) == np.sign(ratios))
    return total


def after(family, explorer, answers):
    point = OperatingPoint.at(HORIZON, error_prob=0.1)
    state = explorer.init(family.spec, point, jnp.zeros(1))
    for item, answer in answers:
        state = explorer.tell(state, jnp.asarray(item), jnp.full(1, float(answer)))
    return state


def test_the_outcome_counts_as_settled_where_brute_force_says_so(family, bank):
    """The sum of what is to come is taken as normal, which is near but not exact."""
    random = np.random.default_rng(0)
    moves, decided = steps(bank), []
    for number in (2, 4, 5, 6, 8) * 4:
        items = random.permutation(NUM_ITEMS)[:number]
        leans = random.random() < 0.5
        answers = [(item, int(leans ^ (random.random() < 0.15))) for item in items]
        ratios = np.sum([moves[:, item, answer] for item, answer in answers], axis=0)
        for gamma in (0.8, 0.95):
            explorer = make_explorer("curtailed-sprt", family, gamma=gamma)
            assert isinstance(explorer, SprtExplorer)
            now, found = after(family, explorer, answers)
            np.testing.assert_allclose(found, ratios, atol=1e-4)
            allowed = np.ones(NUM_ITEMS, bool)
            allowed[items] = False
            worth = np.asarray(explorer.score.of(now.log_weights))
            order = [it for it in np.argsort(-worth, kind="stable") if allowed[it]]
            chance = stays(bank, ratios, order[: HORIZON - number], answers)
            settled = np.asarray(
                explorer._settled(now, found, jnp.asarray(allowed)), bool
            )
            clear = np.abs(chance - gamma) > 0.04
            np.testing.assert_array_equal(settled[clear], (chance >= gamma)[clear])
            decided += settled[clear].tolist()
    assert 10 < sum(decided) < len(decided) - 10  # both answers were tried


def test_it_ends_no_later_than_the_plain_test(family):
    """Wherever Wald's test ends, the curtailed one has ended too."""
    random, mask = np.random.default_rng(1), jnp.ones(NUM_ITEMS, bool)
    plain = make_explorer("sprt", family)
    curtailed = make_explorer("curtailed-sprt", family)
    key = jr.key(0)
    for number in (1, 3, 6, 9):
        items = random.permutation(NUM_ITEMS)[:number]
        answers = [(item, 1) for item in items]
        stops = [
            int(it.ask(after(family, it, answers), mask, key=key)) < 0
            for it in (plain, curtailed)
        ]
        assert stops[1] or not stops[0]


def test_it_saves_items_and_keeps_the_accuracy():
    """Against Wald's own test; one answer settles nothing. False alarm: below 1e-6."""
    random = np.random.default_rng(0)
    bank = pd.DataFrame(
        {
            "item": [f"item {i}" for i in range(40)],
            "a": np.exp(0.3 * random.normal(size=40)),
            "b": random.normal(size=40),
        }
    )
    family, episodes = from_item_bank(bank, [0.0], max_items=20), 2000
    names = ("sprt", "curtailed-sprt")
    plain, curtailed = evaluate(
        {name: make_explorer(name, family) for name in names},
        family,
        error_prob=0.1,
        episodes=episodes,
        seed=3,
    )
    assert 4 < curtailed.mean_queries < 0.75 * plain.mean_queries
    assert curtailed.accuracy > plain.accuracy - 0.05  # five standard errors below
