import itertools

import numpy as np
import pytest

from icpe.theory.magic_chain import magic_chain_zero_error
from icpe.theory.magic_chain_frontier import (
    STOP,
    magic_chain_frontier,
    magic_chain_solver,
)
from icpe.theory.magic_chain_knowledge import Knowledge

PRICES = np.geomspace(1e-3, 0.3, 40)


def value(frontier):
    return frontier.accuracy - frontier.prices * frontier.mean_cost


def test_four_arms_and_two_magic_ones_follow_the_formula():
    # Stop at once: 1/3. Follow the chain: 1 - 2c. Pull a fresh arm: with probability
    # 1/3 it names the best; else, at value v, stopping gives v, and a second fresh arm
    # settles everything: -c + 1/3 + (2/3) E[max(v, 1-c)].
    prices = np.array([0.02, 0.1, 0.25, 0.4, 0.7])
    got = magic_chain_frontier(4, 2, prices, num_values=2001)
    sure = np.maximum(1 - prices, 0.0)
    fresh = -prices + 1 / 3 + 2 / 3 * (sure**2 + (1 - sure**2) / 2)
    expected = np.maximum.reduce([1 - 2 * prices, np.full(5, 1 / 3), fresh])
    np.testing.assert_allclose(value(got), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("num_magic", "expected"),
    [(4, 3.71), (5, 3.82), (6, 4.05), (7, 4.33), (8, 4.59), (9, 4.89)],
)
def test_pulls_at_accuracy_099_with_ten_arms(num_magic, expected):
    got = magic_chain_frontier(10, num_magic, PRICES).mean_cost_at(0.99)
    assert got == pytest.approx(expected, rel=0.02)


def test_one_and_two_magic_arms_are_followed_to_the_end():
    for num_magic in (1, 2):
        got = magic_chain_frontier(10, num_magic, PRICES[:5])
        np.testing.assert_allclose(got.accuracy, 1.0, rtol=1e-12)
        np.testing.assert_allclose(got.mean_cost, num_magic, rtol=1e-12)


def test_values_help_a_little_even_without_errors():
    # Values say which arm the chain is likely to end in, so the optimum may be lower
    # than when they are ignored, and no price buys more than certainty.
    for num_magic in (4, 6):
        frontier = magic_chain_frontier(10, num_magic, np.array([1e-7]))
        ignored = magic_chain_zero_error(10, num_magic)
        assert frontier.accuracy[0] == pytest.approx(1.0, abs=1e-6)
        assert 0.98 * ignored < frontier.mean_cost[0] <= ignored + 1e-9


def test_a_larger_price_buys_fewer_pulls_and_less_accuracy():
    frontier = magic_chain_frontier(8, 4, PRICES)
    assert np.all(np.diff(frontier.mean_cost) <= 1e-12)
    assert np.all(np.diff(frontier.accuracy) <= 1e-12)


def test_the_grid_of_values_is_fine_enough():
    coarse = magic_chain_frontier(10, 5, PRICES[::8], num_values=201)
    fine = magic_chain_frontier(10, 5, PRICES[::8], num_values=1001)
    np.testing.assert_allclose(value(coarse), value(fine), atol=2e-5)


class Game:
    """One explicit task, and what a player has seen of it."""

    def __init__(self, num_arms, num_magic, rng):
        hidden = [int(arm) for arm in 1 + rng.permutation(num_arms - 1)]
        self.num_arms, self.num_magic = num_arms, num_magic
        self.values = {arm: rng.uniform() for arm in hidden[num_magic - 1 :]}
        self.best = max(self.values, key=lambda arm: self.values[arm])
        magic = [0, *hidden[: num_magic - 1]]
        self.names = dict(itertools.pairwise([*magic, self.best]))
        self.links, self.seen = {}, {}

    @property
    def num_pulls(self):
        return len(self.links) + len(self.seen)

    @property
    def largest(self):
        return max(self.seen.values(), default=0.0)

    def fragments(self):
        """(tip, links) of the fragment of arm 0, and of the others by length."""
        found = []
        heads = [arm for arm in self.links if arm not in self.links.values()]
        for head in [0, *(arm for arm in heads if arm != 0)]:
            arm, length = head, 0
            while arm in self.links:
                arm, length = self.links[arm], length + 1
            found.append((arm, length))
        return found[0], sorted(found[1:], key=lambda pair: pair[1])

    def known(self):
        (_, first), others = self.fragments()
        return Knowledge(first, tuple(length for _, length in others), len(self.seen))

    def pull(self, choice):
        """Pulls: a fresh arm if there is one, arm 0's tip, one tip of each length."""
        (tip, _), others = self.fragments()
        tips = {length: arm for arm, length in reversed(others)}
        named = {*self.links, *self.links.values(), *self.seen, 0}
        fresh = [arm for arm in range(self.num_arms) if arm not in named]
        arm = [*fresh[:1], tip, *(tips[length] for length in sorted(tips))][choice]
        if arm in self.names:
            self.links[arm] = self.names[arm]
        else:
            self.seen[arm] = self.values[arm]

    def posterior(self):
        """Probability of each best arm, by going through all orders of magic arms."""
        weights = np.zeros(self.num_arms)
        arms = range(1, self.num_arms)
        for order in itertools.permutations(arms, self.num_magic - 1):
            magic = (0, *order)
            unseen = [a for a in arms if a not in magic and a not in self.seen]
            if set(self.seen) & set(magic) or not set(self.links) <= set(magic):
                continue
            top = self.largest ** len(unseen)
            ends = dict.fromkeys(unseen, (1 - top) / max(len(unseen), 1))
            if self.seen:
                ends[max(self.seen, key=lambda arm: self.seen[arm])] = top
            for end, weight in ends.items():
                names = dict(itertools.pairwise((*magic, end)))
                if all(names[arm] == name for arm, name in self.links.items()):
                    weights[end] += weight
        return weights / weights.sum()


@pytest.mark.slow
def test_playing_by_the_tables_attains_what_they_promise():
    size, price, num_values, num_games = (6, 4), np.array([0.05]), 401, 4000
    solve = magic_chain_solver(*size, price, num_values)
    promised = magic_chain_frontier(*size, price, num_values)
    rng = np.random.default_rng(0)
    pulls, correct = [], []
    for _ in range(num_games):
        game = Game(*size, rng)
        belief = game.posterior()
        while belief.max() < 1 - 1e-12:
            column = round(game.largest * (num_values - 1))
            choice = int(solve(game.known()).choice[0, column])
            if choice == STOP:
                break
            game.pull(choice)
            belief = game.posterior()
        pulls.append(game.num_pulls)
        correct.append(np.argmax(belief) == game.best)
    # Five standard errors each: false alarm below 2e-6.
    for got, mean in ((pulls, promised.mean_cost), (correct, promised.accuracy)):
        error = np.std(got) / np.sqrt(num_games)
        assert 0 < abs(np.mean(got) - mean[0]) < 5 * error
