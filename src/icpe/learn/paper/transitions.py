"""Transitions between partial trajectories, drawn from a replay of episodes.

The paper's buffer holds (D_n, a, D_{n+1}, d, H*) with D_n a padded prefix of a
trajectory. All of them are prefixes of the episodes kept, so only these are stored and
a prefix is cut out when it is drawn.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import PRNGKey
from icpe.core.episode import STOP
from icpe.core.history import History
from icpe.learn.replay import Experience, Replay


class Transition(eqx.Module):
    """A transition z = (D_n, a, D_{n+1}, d, H*), or a batch of them.

    `action` is `STOP` where the explorer stopped; then D_{n+1} is D_n. `terminal` is
    d for a query: the episode ended with D_{n+1} without a wish to stop. `query_mask`
    holds the queries allowed in D_{n+1}, None for families that never mask.
    """

    before: History
    action: Int[Array, "*batch"]
    after: History
    terminal: Bool[Array, "*batch"]
    hypothesis: Int[Array, "*batch"]
    query_mask: Bool[Array, "*batch queries"] | None

    @property
    def stopped(self) -> Bool[Array, "*batch"]:
        """Whether the action is to stop."""
        return self.action == STOP

    @property
    def last_outcome(self) -> Float[Array, "*batch outcome"]:
        """The newest outcome in D_{n+1}."""
        return jnp.take_along_axis(
            self.after.outcomes, self.after.length[..., None, None], axis=-2
        )[..., 0, :]


def sample_transitions(replay: Replay, size: int, *, key: PRNGKey) -> Transition:
    """Uniform draws, with replacement, from all transitions of all episodes kept."""
    filled = jnp.arange(replay.capacity) < jnp.minimum(replay.added, replay.capacity)
    counts = jnp.where(filled, num_transitions(replay.episodes), 0)
    ends = jnp.cumsum(counts)
    draw = jr.randint(key, (size,), 0, jnp.maximum(ends[-1], 1))
    episode = jnp.searchsorted(ends, draw, side="right", method="scan_unrolled")
    episode = jnp.minimum(episode, replay.capacity - 1)
    step = draw - (ends - counts)[episode]
    chosen = jax.tree.map(lambda ring: ring[episode], replay.episodes)
    return jax.vmap(transition_at)(chosen, step)


def num_transitions(episodes: Experience) -> Int[Array, "*episodes"]:
    """Queries made, and one more where the explorer stopped by itself."""
    return episodes.length + _stopped(episodes).astype(episodes.length.dtype)


def transition_at(episode: Experience, step: Int[Array, ""]) -> Transition:
    """The transition at one step of one episode."""
    made = step < episode.length
    action = jnp.where(made, episode.queries[step].astype(jnp.int32), STOP)
    after = step + made.astype(step.dtype)
    masks = episode.query_masks
    return Transition(
        before=prefix(episode, step),
        action=action,
        after=prefix(episode, after),
        terminal=made & (after == episode.length) & ~_stopped(episode),
        hypothesis=episode.hypothesis,
        query_mask=None if masks is None else masks[after],
    )


def prefix(episode: Experience, length: Int[Array, ""]) -> History:
    """The first queries of an episode and their outcomes, padded with nothing."""
    steps = jnp.arange(episode.queries.shape[0])
    positions = jnp.arange(episode.outcomes.shape[0])
    return History(
        queries=jnp.where(steps < length, episode.queries.astype(jnp.int32), STOP),
        outcomes=jnp.where((positions <= length)[:, None], episode.outcomes, 0.0),
        length=length,
    )


def _stopped(episodes: Experience) -> Bool[Array, "*episodes"]:
    """Whether the explorer stopped: nothing else had ended the episode."""
    stopped = ~episodes.terminated & (episodes.length < episodes.max_queries)
    masks = episodes.query_masks
    if masks is None:
        return stopped
    at_end = jnp.take_along_axis(masks, episodes.length[..., None, None], axis=-2)
    return stopped & jnp.any(at_end[..., 0, :], axis=-1)
