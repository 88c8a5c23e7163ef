"""Test the prices of a ladder by betting, each until it passes or is given up.

At each price the wealth of `theory.betting` against "the accuracy is at most
1 - error_prob" is watched after every block of episodes. It may be watched for every
error probability, stopped for any reason and gone on with later, as long as the
episodes that were played stay counted.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from icpe.evaluate.ladder import HOPELESS, LIMIT_FACTOR, chance_of_passing
from icpe.theory.betting import fewest_successes

Counts = tuple[tuple[int, int], ...]
"""Right answers and episodes of each bet, where they are not simply all of them."""


class Block(NamedTuple):
    """Right answers among some episodes; see `Rung`."""

    successes: int
    episodes: int
    counts: Counts | None = None


Player = Callable[[float, int, int], Iterator[Block | tuple[int, int]]]
"""Plays episodes first, .., last - 1 at a price, and yields what came of them."""


class Rung(NamedTuple):
    """All episodes at a price so far, and whether they show the error probability.

    Where `counts` are given, bets are about these, and all of them must be won: the
    decided sessions, or those in which each hypothesis was true.
    """

    price: float
    successes: int
    episodes: int
    passed: bool = False
    counts: Counts | None = None

    @property
    def bets(self) -> Counts:
        """Right answers and episodes of each bet."""
        return self.counts or ((self.successes, self.episodes),)

    def plus(self, block: Block) -> "Rung":
        """With the episodes of one more block."""
        counts = self.counts
        if block.counts is not None:
            before = counts or ((0, 0),) * len(block.counts)
            counts = tuple(
                (right + more, number + others)
                for (right, number), (more, others) in zip(
                    before, block.counts, strict=True
                )
            )
        return Rung(
            self.price,
            self.successes + block.successes,
            self.episodes + block.episodes,
            counts=counts,
        )


class Climb(NamedTuple):
    """The whole ladder after the tests, and the price they lead to.

    If nothing is certified, `price` is the closest: the first.
    """

    rungs: tuple[Rung, ...]
    certified: bool
    price: float


def climb(
    rungs: Sequence[Rung],
    play: Player,
    *,
    error_prob: float,
    level: float,
    limit: int,
) -> Climb:
    """Goes on with the tests of a ladder, from below, until one does not pass.

    A price is certified falsely, its accuracy being at most 1 - error_prob, with
    probability at most `level`, over all calls that go on with the same episodes.

    Args:
        rungs: the prices in their order, with the episodes of earlier calls.
        play: plays further episodes.
        error_prob: the error probability to be certified.
        level: of the test of each price.
        limit: the most episodes at each price, those of earlier calls included.
    """
    tested = [
        rung._replace(passed=has_passed(rung, error_prob=error_prob, level=level))
        for rung in rungs
    ]
    for i, rung in enumerate(tested):
        if not rung.passed:
            tested[i] = _go_on(rung, play, error_prob, level, limit)
        if not tested[i].passed:
            break
    passed = [rung for rung in tested if rung.passed]
    best = passed[-1] if passed else tested[0]
    return Climb(tuple(tested), certified=bool(passed), price=best.price)


def has_passed(rung: Rung, *, error_prob: float, level: float) -> bool:
    """Whether the wealth of every bet at a price is at least 1 / level.

    That all of several bets are won shows all of several statements at the level of
    one: if any of them is false, its own bet is won with no more probability.
    """
    return all(
        right >= fewest_successes(number, probability=1.0 - error_prob, level=level)
        for right, number in rung.bets
    )


def _go_on(
    rung: Rung, play: Player, error_prob: float, level: float, limit: int
) -> Rung:
    if rung.episodes >= limit or _is_hopeless(rung, error_prob, level, limit):
        return rung
    for block in play(rung.price, rung.episodes, limit):
        rung = rung.plus(block if isinstance(block, Block) else Block(*block))
        if has_passed(rung, error_prob=error_prob, level=level):
            return rung._replace(passed=True)
        if _is_hopeless(rung, error_prob, level, limit):
            break
    return rung


def _is_hopeless(rung: Rung, error_prob: float, level: float, limit: int) -> bool:
    """Whether the price will hardly pass until the limit.

    To stop for that reason cannot make a false certificate more likely. Nothing is
    given up before as many episodes as an exact test would have had.
    """
    if rung.episodes < limit / LIMIT_FACTOR:
        return False  # too few to predict from
    return any(
        _chance(right, number, round(number * limit / rung.episodes), error_prob, level)
        < HOPELESS
        for right, number in rung.bets
    )


def _chance(
    right: int, number: int, limit: int, error_prob: float, level: float
) -> float:
    """That a bet is won when it has been about so many episodes."""
    critical = fewest_successes(limit, probability=1.0 - error_prob, level=level)
    return float(
        chance_of_passing(
            np.asarray(right), np.asarray(number), critical - right, limit - number
        )
    )
