"""Where the episodes of certificates are played, so that anyone can play them again.

Tests and bounds have sets of episodes of their own. The episodes of a set have the
same keys at every price: what differs is the price alone. The tests may depend on one
another, so this costs nothing.
"""

import math
from collections.abc import Iterator
from typing import Literal

import jax
import jax.random as jr
import numpy as np

from icpe.artifact import Artifact
from icpe.artifact.certificate import digest
from icpe.artifact.player import Player
from icpe.core.arrays import PRNGKey
from icpe.core.fingerprint import fingerprint
from icpe.core.progress import AbstractProgress, NoProgress
from icpe.core.request import OperatingPoint, Promise
from icpe.evaluate.climb import Block
from icpe.evaluate.promises import Counting
from icpe.play.rollout import Ending, default_chunk_size, rollout_chunks

Set = Literal["test", "bound"]

_STREAM = 0x0CE47
"""Folded into the seed, so that certificates share no episodes with anything else."""
_SETS = {"test": 0, "bound": 1}
_SETS_OF_ATTEMPTS = {"test": 2, "bound": 3}
_BLOCKS = 16
"""About so many times is a price looked at until its limit, at least."""
_SMALLEST_BLOCK = 64


class Stage:
    """Plays the episodes of one certificate.

    Args:
        artifact: the explorer.
        seed: of the episodes; a hash of weights and family if None.
        attempt: each attempt by betting has sets of its own, so that its ladder is
            fixed before any of them, and that the number cannot be another; None for
            budgets and for tests in a fixed sequence.
        counting: what is counted; right answers of all episodes if None.
        progress: notified of every chunk of episodes.
    """

    def __init__(
        self,
        artifact: Artifact,
        seed: int | None,
        *,
        attempt: int | None = None,
        counting: Counting | None = None,
        progress: AbstractProgress | None = None,
    ):
        self.artifact = artifact
        self.counting = counting or Counting(Promise.AVERAGE, artifact.family.spec)
        self.weights = artifact.weights_hash
        self.fingerprint = fingerprint(artifact.family)
        self.default_seed = int(digest([self.weights, self.fingerprint])[:8], 16)
        self.seed = self.default_seed if seed is None else seed
        self.attempt = attempt
        self._progress = progress or NoProgress()
        self._by_belief = self.counting.promise is Promise.BELIEF
        self._explorer = artifact.explorer
        if self._by_belief:
            self._explorer = artifact.by_belief(0.5).explorer

    def player(self, point: OperatingPoint) -> Player:
        """Who plays at an operating point, and when a session is decided there."""
        doubt = None
        if self._by_belief:
            doubt = float(point.error_prob) or float(point.price)
        return Player(self._explorer, point, doubt=doubt)

    def key(self, name: Set) -> PRNGKey:
        """The key of a set of episodes."""
        stream = jr.fold_in(jr.key(self.seed), _STREAM)
        if self.attempt is None:
            return jr.fold_in(stream, _SETS[name])
        return jr.fold_in(jr.fold_in(stream, _SETS_OF_ATTEMPTS[name]), self.attempt)

    def play(
        self, name: Set, point: OperatingPoint, episodes: int, block: int | None = None
    ) -> Ending:
        """Plays the first episodes of a set, in chunks of a size if one is given."""
        endings = list(self._endings(name, point, 0, episodes, block))
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *endings)

    def test_counts(
        self, point: OperatingPoint, first: int, last: int, block: int | None
    ) -> Iterator[Block]:
        """What each block of test episodes in a range adds to the counts."""
        player = self.player(point)
        for ending in self._endings("test", point, first, last, block):
            yield self.counting.block(ending, player)

    def block(self, point: OperatingPoint, limit: int) -> int:
        """Episodes between two looks at a price that is tested until a limit."""
        largest = default_chunk_size(self._explorer, self.artifact.family, point)
        wanted = max(_SMALLEST_BLOCK, limit // _BLOCKS)
        return min(largest, 2 ** int(math.log2(wanted)))

    def _endings(
        self, name: Set, point: OperatingPoint, first: int, last: int, block: int | None
    ) -> Iterator[Ending]:
        price = float(point.price)
        at = f"price {price:.4g}" if price else f"budget {int(point.max_queries)}"
        if self._by_belief:
            at = f"doubt {self.player(point).doubt:.4g}"
        self._progress.start(f"{name} at {at}", last - first)
        try:
            for chunk in rollout_chunks(
                self._explorer,
                self.artifact.family,
                point,
                last - first,
                key=self.key(name),
                keep_posterior=self._by_belief,
                chunk_size=block,
                start=first,
            ):
                yield chunk.ending
                self._progress.advance(len(chunk.ending.num_queries))
        finally:
            self._progress.finish()


def num_correct(ending: Ending) -> int:
    """Number of right answers."""
    return int(np.sum(ending.correct))
