"""What is counted, and in which ladder, for each promise that can be certified.

On average every episode counts. By belief those count whose doubt fell far enough. For
every hypothesis there is a count for each, or for each group of them.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from icpe.artifact import Artifact
from icpe.artifact.operating_table import OperatingRow
from icpe.artifact.player import Player
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.request import Promise
from icpe.core.spec import TaskSpec
from icpe.evaluate.climb import Block, Counts
from icpe.evaluate.ladder import plan_cautious_ladder, plan_ladder
from icpe.play.rollout import Ending

Groups = tuple[tuple[int, ...], ...]
_MOST_TIMES = 32
"""Times as many episodes as for the average are played for many hypotheses."""


@dataclasses.dataclass(frozen=True)
class Counting:
    """What a certificate is about.

    Attributes:
        promise: what is promised.
        spec: of the family.
        groups: with "every-hypothesis", which hypotheses count together; None if each
            by itself.
    """

    promise: Promise
    spec: TaskSpec
    groups: Groups | None = None

    @staticmethod
    def of(
        promise: str | None, spec: TaskSpec, groups: Sequence[Sequence[int]] | None
    ) -> "Counting":
        """Checks what was asked for.

        Raises:
            OperatingPointError: there is no such promise.
            InvalidParameterError: the groups do not contain every hypothesis once, or
                are given with another promise.
        """
        named = promise or Promise.AVERAGE
        if named not in tuple(Promise):
            raise OperatingPointError(
                f"promise must be one of {', '.join(Promise)}; got {promise!r}."
            )
        if groups is None:
            return Counting(Promise(named), spec)
        if named != Promise.EVERY_HYPOTHESIS:
            raise InvalidParameterError(
                "groups are for promise every-hypothesis; leave them out, or ask for "
                "that."
            )
        grouped = tuple(tuple(int(h) for h in group) for group in groups)
        if sorted(sum(grouped, ())) != list(range(spec.num_hypotheses)):
            raise InvalidParameterError(
                "groups must contain each hypothesis from 0 to "
                f"{spec.num_hypotheses - 1} exactly once; got {list(groups)}."
            )
        return Counting(Promise(named), spec, grouped)

    @property
    def recorded(self) -> str | None:
        """How a certificate names the promise."""
        return None if self.promise is Promise.AVERAGE else str(self.promise)

    @property
    def members(self) -> Groups:
        """The hypotheses of each group."""
        return self.groups or tuple((h,) for h in range(self.spec.num_hypotheses))

    @property
    def names(self) -> tuple[str, ...]:
        """The groups in words."""
        name = self.spec.hypothesis_name
        return tuple(" or ".join(map(name, group)) for group in self.members)

    @property
    def times(self) -> int:
        """Times as many episodes as for the average, if nobody says otherwise."""
        if self.promise is not Promise.EVERY_HYPOTHESIS:
            return 1
        return min(_MOST_TIMES, len(self.members))

    def plan(
        self, rows: Sequence[OperatingRow], *, error_prob: float, confidence: float
    ) -> tuple[float, ...]:
        """The ladder: prices, or doubts by belief."""
        cautious = self.promise is Promise.EVERY_HYPOTHESIS
        planned = plan_cautious_ladder if cautious else plan_ladder
        return planned(rows, error_prob=error_prob, confidence=confidence)

    def player(self, artifact: Artifact, price: float) -> Player:
        """Who plays at a rung of the ladder."""
        if self.promise is Promise.BELIEF:
            return artifact.by_belief(price)
        return Player(artifact.explorer, artifact.point_at(price))

    def block(self, ending: Ending, player: Player) -> Block:
        """What some episodes add to the counts."""
        right = np.asarray(ending.correct)
        if self.promise is Promise.BELIEF:
            decided = decided_in(ending, player)
            pair = (int((right & decided).sum()), int(decided.sum()))
            return Block(pair[0], len(right), (pair,))
        counts = None
        if self.promise is Promise.EVERY_HYPOTHESIS:
            counts = self._by_group(np.asarray(ending.hypothesis), right)
        return Block(int(right.sum()), len(right), counts)

    def _by_group(self, truth: np.ndarray, right: np.ndarray) -> Counts:
        number = self.spec.num_hypotheses
        asked = np.bincount(truth, minlength=number)
        correct = np.bincount(truth, right, minlength=number).round().astype(int)
        return tuple(
            (int(correct[list(group)].sum()), int(asked[list(group)].sum()))
            for group in self.members
        )


def decided_in(ending: Ending, player: Player) -> Bool[np.ndarray, "episodes"]:
    """Which episodes ended with as much belief as was asked for."""
    assert ending.log_posterior is not None
    return player.is_decided(np.exp(np.asarray(ending.log_posterior, float)))
