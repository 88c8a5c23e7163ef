"""Replay of whole episodes, stored compactly."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import PRNGKey
from icpe.core.episode import StopReason, asked_along
from icpe.core.history import History
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.play.rollout import Transcript


class Experience(eqx.Module):
    """Episodes as the losses need them, along a leading axis.

    Networks are not stored: posteriors, values and targets are recomputed at each
    update, so old episodes never carry old opinions.
    """

    queries: Int[Array, "*episodes steps"]
    outcomes: Float[Array, "*episodes steps+1 outcome"]
    length: Int[Array, "*episodes"]
    terminated: Bool[Array, "*episodes"]
    hypothesis: Int[Array, "*episodes"]
    price: Float[Array, "*episodes"]
    max_queries: Int[Array, "*episodes"]
    query_masks: Bool[Array, "*episodes steps+1 queries"] | None

    @staticmethod
    def of(
        transcript: Transcript, points: OperatingPoint, num_queries: int
    ) -> "Experience":
        """The experience in a transcript and what was asked of its episodes."""
        history, ending = transcript.history, transcript.ending
        return Experience(
            queries=history.queries.astype(_integer_type(num_queries)),
            outcomes=history.outcomes,
            length=history.length,
            terminated=ending.stop_reason == StopReason.TERMINATED,
            hypothesis=ending.hypothesis.astype(jnp.int32),
            price=points.price,
            max_queries=points.max_queries,
            query_masks=transcript.query_masks,
        )

    @staticmethod
    def like(spec: TaskSpec) -> "Experience":
        """An empty episode of a family."""
        positions = spec.horizon + 1
        nothing = jnp.zeros((), jnp.int32)
        masks = None
        if spec.masks_queries:
            masks = jnp.zeros((positions, spec.num_queries), bool)
        return Experience(
            queries=jnp.zeros(spec.horizon, _integer_type(spec.num_queries)),
            outcomes=jnp.zeros((positions, spec.outcome_size)),
            length=nothing,
            terminated=jnp.asarray(False),
            hypothesis=nothing,
            price=jnp.zeros(()),
            max_queries=nothing,
            query_masks=masks,
        )

    def crop(self, num_steps: int) -> "Experience":
        """The first steps of each episode; what came later is left to the values."""
        masks = self.query_masks
        return Experience(
            queries=self.queries[..., :num_steps],
            outcomes=self.outcomes[..., : num_steps + 1, :],
            length=jnp.minimum(self.length, num_steps),
            terminated=self.terminated & (self.length <= num_steps),
            hypothesis=self.hypothesis,
            price=self.price,
            max_queries=self.max_queries,
            query_masks=None if masks is None else masks[..., : num_steps + 1, :],
        )

    def allowed(self, spec: TaskSpec) -> Bool[Array, "positions queries"] | None:
        """What may be asked at each position of one episode; None: every query."""
        masks = self.query_masks
        if not spec.ask_once:
            return masks
        asked = asked_along(self.queries.astype(jnp.int32), spec.num_queries)
        return ~asked if masks is None else masks & ~asked

    @property
    def history(self) -> History:
        """The queries and outcomes."""
        return History(self.queries.astype(jnp.int32), self.outcomes, self.length)


class Replay(eqx.Module):
    """A ring of episodes; `added` counts all that were ever put in."""

    episodes: Experience
    added: Int[Array, ""]

    @staticmethod
    def empty(like: Experience, capacity: int) -> "Replay":
        """Room for `capacity` episodes shaped like the given one."""
        episodes = jax.tree.map(
            lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), like
        )
        return Replay(episodes, jnp.zeros((), jnp.int32))

    @property
    def capacity(self) -> int:
        """How many episodes fit."""
        return self.episodes.length.shape[0]

    def add(self, batch: Experience) -> "Replay":
        """Overwrites the oldest episodes; the capacity is a multiple of the batch."""
        size = batch.length.shape[0]
        slot = self.added % self.capacity
        episodes = jax.tree.map(
            lambda ring, new: lax.dynamic_update_slice_in_dim(ring, new, slot, 0),
            self.episodes,
            batch,
        )
        return Replay(episodes, self.added + size)

    def sample(
        self, size: int, num_steps: int | None = None, *, key: PRNGKey
    ) -> Experience:
        """Uniform draws with replacement from what has been added.

        With a number of steps, only so many of the first ones of each.
        """
        filled = jnp.minimum(self.added, self.capacity)
        index = jr.randint(key, (size,), 0, filled)
        found = jax.tree.map(lambda ring: ring[index], self.episodes)
        return found if num_steps is None else found.crop(num_steps)


def _integer_type(num_queries: int):
    """The smallest signed type that holds every query and `STOP`."""
    return jnp.int16 if num_queries <= jnp.iinfo(jnp.int16).max else jnp.int32
