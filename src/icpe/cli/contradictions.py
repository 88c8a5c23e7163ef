"""Answers that no task of a family could have given.

Only a person can give them, so that only the command line asks.
"""

from collections.abc import Callable, Sequence

import jax.numpy as jnp

from icpe.cli.episode import Turn
from icpe.families import AbstractTaskFamily, BinarySearch, DeterministicBandit
from icpe.theory.binary_search import version_space


def contradict(family: AbstractTaskFamily, turns: Sequence[Turn]) -> bool:
    """Whether the outcomes so far fit no task of the family.

    False for families whose noise makes every answer possible.
    """
    check = _CHECKS.get(type(family))
    return bool(turns) and check is not None and check(family, turns)


def _search(family: BinarySearch, turns: Sequence[Turn]) -> bool:
    queries = jnp.asarray([turn.query for turn in turns], jnp.int32)
    outcomes = jnp.asarray([turn.outcome[0] for turn in turns], jnp.float32)
    return int(version_space(queries, outcomes, family.size).num_candidates) == 0


def _deterministic(family: DeterministicBandit, turns: Sequence[Turn]) -> bool:
    rewards: dict[int, float] = {}
    return any(
        rewards.setdefault(turn.query, float(turn.outcome[0])) != float(turn.outcome[0])
        or not 0 <= turn.outcome[0] <= 1
        for turn in turns
    )


_CHECKS: dict[type, Callable] = {
    BinarySearch: _search,
    DeterministicBandit: _deterministic,
}
