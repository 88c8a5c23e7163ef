"""A rule with an exact belief, which a file keeps in the place of networks.

It needs no training: the family gives the belief, a score chooses the queries, and it
stops when its doubt, one minus the largest posterior, has fallen far enough. That doubt
is to a rule what the price is to networks: the operating table, the ladder of a
certificate and the guard go along it.
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.arrays import PRNGKey
from icpe.core.errors import ArtifactError, InvalidParameterError, UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.programs import jit_once
from icpe.core.request import OperatingPoint
from icpe.explorers.neural.config import PriceRange
from icpe.explorers.registry import explorers_for, make_explorer
from icpe.explorers.rules.belief_explorer import (
    BeliefExplorer,
    DoubtStopping,
    PosteriorStopping,
)
from icpe.explorers.rules.scores import RandomScore
from icpe.families.registry import describe
from icpe.play.rollout import rollout

SMALLEST_DOUBT = 1e-4
_NUM_EPISODES, _NUM_QUERIES = 16, 8
_TOLERANCE = 1e-3
"""Between beliefs on other hardware; a changed belief differs by more somewhere."""


@dataclasses.dataclass(frozen=True)
class SavedRule:
    """A belief, a score, and the doubts at which it may stop.

    Attributes:
        score: the name of the rule, as in `icpe baselines`.
        explorer: the rule; the price of an operating point is its doubt.
        prices: the smallest and the largest doubt.
        beliefs: in the truth, after a few episodes with fixed keys, by which another
            belief is noticed.
    """

    score: str
    explorer: BeliefExplorer
    prices: PriceRange
    beliefs: tuple[float, ...]

    @staticmethod
    def of(family: AbstractTaskFamily, score: str) -> "SavedRule":
        """The rule of a name, for a family with an exact belief.

        Raises:
            UnknownNameError: there is no explorer of that name.
            UnsupportedError: it cannot serve the family.
            InvalidParameterError: it is not a rule with a belief.
        """
        explorer = make_explorer(score, family)
        if not is_rule(explorer):
            raise InvalidParameterError(
                f"score must be a rule that acts on an exact posterior; got {score!r}: "
                f"choose one of {', '.join(rules_for(family)) or 'none'}."
            )
        assert isinstance(explorer, BeliefExplorer)
        explorer = dataclasses.replace(explorer, stopping=DoubtStopping())
        # With a little more doubt than there can be it stops at once.
        largest = 1.0 - 0.99 / family.spec.num_hypotheses
        prices = PriceRange(SMALLEST_DOUBT, max(largest, 2 * SMALLEST_DOUBT))
        return SavedRule(score, explorer, prices, _beliefs(explorer, family))

    @staticmethod
    def from_dict(record: dict[str, Any], family: AbstractTaskFamily) -> "SavedRule":
        """The rule that a file names.

        Raises:
            ArtifactError: the belief of the family is not what it was.
        """
        rule = SavedRule.of(family, record["score"])
        before = np.asarray(record["beliefs"], float)
        now = np.asarray(rule.beliefs)
        if before.shape != now.shape or np.abs(before - now).max() > _TOLERANCE:
            raise ArtifactError(
                f"The rule {rule.score!r} was saved with another belief than "
                f"{describe(family)} has now; make the file again with icpe rule."
            )
        return dataclasses.replace(rule, beliefs=tuple(before.tolist()))

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values; the family gives the rest."""
        return {"score": self.score, "beliefs": list(self.beliefs)}


def is_rule(explorer: AbstractExplorer) -> bool:
    """Whether it has a belief of its own, and stops by a threshold of the posterior."""
    return isinstance(explorer, BeliefExplorer) and isinstance(
        explorer.stopping, PosteriorStopping
    )


def rules_for(family: AbstractTaskFamily) -> tuple[str, ...]:
    """The names of the rules that can be saved for a family, sorted."""
    found = []
    for name in explorers_for(family):
        try:
            explorer = make_explorer(name, family)
        except (UnsupportedError, InvalidParameterError):
            continue
        if is_rule(explorer):
            found.append(name)
    return tuple(found)


def _beliefs(explorer: BeliefExplorer, family: AbstractTaskFamily):
    """Of random queries, so that it does not hang on how ties are broken."""
    asking = dataclasses.replace(explorer, score=RandomScore())
    horizon = family.spec.horizon
    point = OperatingPoint.at(horizon, budget=min(_NUM_QUERIES, horizon))
    found = _play(asking, family.with_data(), point, jr.key(0))
    return tuple(round(float(p), 6) for p in np.asarray(found))


@jit_once
def _play(explorer, family, point: OperatingPoint, key: PRNGKey):
    keys = jr.split(key, _NUM_EPISODES)
    ending = rollout(explorer, family, point, keys=keys).ending
    assert ending.log_posterior is not None
    truth = ending.hypothesis[:, None]
    return jnp.exp(jnp.take_along_axis(ending.log_posterior, truth, axis=1))[:, 0]
