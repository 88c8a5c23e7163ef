"""Track-and-Stop for feedback graphs (TaS-FG), with a known or an unknown graph."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.errors import InvalidParameterError
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.classical.arms_explorer import (
    AbstractSamplingRule,
    ArmsExplorer,
    LikelihoodRatioStopping,
    Scale,
    check_scale,
)
from icpe.explorers.classical.served import arms_of
from icpe.explorers.classical.track_and_stop import mixed_with_uniform
from icpe.families.bandit.arms import GraphArms, Seen
from icpe.theory.graph_game import Game, play_graph_game

GRAPHS = ("known", "unknown")


class GraphMemory(eqx.Module):
    """Where the game stands, the sum of its proportions, and the edges that fired."""

    game: Game
    followed: Float[Array, "queries"]
    fired: Float[Array, "queries arms"]


class GraphTracking(AbstractSamplingRule):
    """Keeps the queries close to the optimal proportions for what was seen.

    While an arm was never revealed it makes the query that most probably reveals such
    arms. Then it follows the sum of the proportions (C-tracking, since the optimum of
    a graph need not be unique), each mixed with a little of the uniform law, so that
    every query is made about sqrt(t) times. An unknown graph is estimated by
    (1 + times revealed) / (2 + times asked).

    Reference: Russo, Song and Pacchiano 2025, "Pure exploration with feedback graphs",
    whose method solves for the optimum at every query and needs T* ln(1/delta)
    queries as delta falls. Here each query is followed by ten cheap steps from the
    last proportions (`icpe.theory.graph_game`) instead, which settle on the same
    proportions.
    """

    arms: GraphArms
    is_known: bool = eqx.field(static=True, default=True)

    def init(self, seen: Seen, error_prob: Scalar | None) -> GraphMemory:
        """Uniform proportions."""
        size, dtype = self.arms.num_arms, seen.sums.dtype
        return GraphMemory(
            Game.start(size, size, dtype),
            jnp.zeros(size, dtype),
            jnp.zeros((size, size), dtype),
        )

    def update(
        self,
        memory: GraphMemory,
        seen: Seen,
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> GraphMemory:
        """A few steps of the game with the new sample means."""
        revealed = self.arms.rewards(query, outcome).counts.astype(memory.fired.dtype)
        made = (jnp.arange(self.arms.num_arms) == query).astype(memory.fired.dtype)
        fired = memory.fired + made[:, None] * revealed[None]
        graph = self._graph(fired, seen)
        game = play_graph_game(memory.game, seen.means, graph, self.arms.noise)
        followed = memory.followed + mixed_with_uniform(game.proportions, seen)
        return GraphMemory(game, followed, fired)

    def preferences(
        self, memory: GraphMemory, seen: Seen, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        """How far each query is behind, or what it may reveal of unseen arms."""
        unseen = (~seen.is_seen).astype(seen.sums.dtype)
        behind = memory.followed - seen.pulls.astype(seen.sums.dtype)
        reveals = self._graph(memory.fired, seen) @ unseen
        return jnp.where(jnp.any(~seen.is_seen), reveals, behind)

    def _graph(
        self, fired: Float[Array, "queries arms"], seen: Seen
    ) -> Float[Array, "queries arms"]:
        if self.is_known:
            return jnp.asarray(self.arms.graph, seen.sums.dtype)
        asked = seen.pulls.astype(fired.dtype)[:, None]
        return (1.0 + fired) / (2.0 + asked)


def make_feedback_track_and_stop(
    family: AbstractTaskFamily,
    *,
    graph: Annotated[str, "known, or unknown: estimate what queries reveal"] = "known",
    threshold: Annotated[
        str, "heuristic: ln((1 + ln t) / delta), as in the paper; or valid"
    ] = "heuristic",
    scale: Scale = 1.0,
) -> ArmsExplorer:
    """TaS-FG for a feedback graph."""
    if graph not in GRAPHS:
        raise InvalidParameterError(
            f"graph must be one of {', '.join(GRAPHS)}; got {graph!r}."
        )
    arms = arms_of(family)
    assert isinstance(arms, GraphArms)
    return ArmsExplorer(
        "tas-fg",
        arms,
        GraphTracking(arms, graph == "known"),
        LikelihoodRatioStopping(arms, threshold, check_scale(scale)),
    )
