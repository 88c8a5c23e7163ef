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

from icpe.core.arrays import Flag, PRNGKey
from icpe.core.episode import STOP
from icpe.core.history import History
from icpe.core.spec import TaskSpec
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


def sample_transitions(
    replay: Replay, spec: TaskSpec, size: int, *, key: PRNGKey
) -> Transition:
    """Uniform draws, with replacement, from all transitions of all episodes kept."""
    filled = jnp.arange(replay.capacity) < jnp.minimum(replay.added, replay.capacity)
    counts = jnp.where(filled, num_transitions(replay.episodes, spec), 0)
    ends = jnp.cumsum(counts)
    draw = jr.randint(key, (size,), 0, jnp.maximum(ends[-1], 1))
    episode = jnp.searchsorted(ends, draw, side="right", method="scan_unrolled")
    episode = jnp.minimum(episode, replay.capacity - 1)
    step = draw - (ends - counts)[episode]
    chosen = jax.tree.map(lambda ring: ring[episode], replay.episodes)
    return jax.vmap(transition_at, in_axes=(0, 0, None))(chosen, step, spec)


def num_transitions(episodes: Experience, spec: TaskSpec) -> Int[Array, "episodes"]:
    """Queries made, and one more where the explorer stopped by itself."""
    stopped = jax.vmap(_stopped, in_axes=(0, None))(episodes, spec)
    return episodes.length + stopped.astype(episodes.length.dtype)


def transition_at(
    episode: Experience, step: Int[Array, ""], spec: TaskSpec
) -> Transition:
    """The transition at one step of one episode."""
    made = step < episode.length
    action = jnp.where(made, episode.queries[step].astype(jnp.int32), STOP)
    after = step + made.astype(step.dtype)
    masks = episode.allowed(spec)
    return Transition(
        before=prefix(episode, step),
        action=action,
        after=prefix(episode, after),
        terminal=made & (after == episode.length) & ~_stopped(episode, spec),
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


def _stopped(episode: Experience, spec: TaskSpec) -> Flag:
    """Whether the explorer stopped: nothing else had ended the episode."""
    stopped = ~episode.terminated & (episode.length < episode.max_queries)
    masks = episode.allowed(spec)
    return stopped if masks is None else stopped & jnp.any(masks[episode.length])
