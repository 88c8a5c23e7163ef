"""One episode, step by step, against the simulator or against a person.

A simulated world uses the keys of a rollout: with the same seed, `run_episode` shows
exactly episode `number` of `evaluate`.
"""

import abc
import dataclasses
from collections.abc import Callable, Sequence

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Float

from icpe.artifact.guard import Guard
from icpe.artifact.serving import Player
from icpe.core.arrays import PRNGKey
from icpe.core.episode import StopReason
from icpe.core.family import AbstractTaskFamily, StepResult
from icpe.core.history import History
from icpe.play.live import LiveEpisode, reason_of


class AbstractWorld(abc.ABC):
    """Whoever answers the queries of one episode."""

    @abc.abstractmethod
    def begin(self) -> StepResult:
        """Starts the episode."""

    @abc.abstractmethod
    def answer(self, query: int, step: int) -> StepResult:
        """Answers the query made at this step, counted from 0."""


class SimulatedWorld(AbstractWorld):
    """A task drawn from a family; `truth` is its hypothesis."""

    def __init__(self, family: AbstractTaskFamily, *, key: PRNGKey):
        family = family.with_data()
        task_key, self._world_key, self.explorer_key = jr.split(key, 3)
        self._task = eqx.filter_jit(family.sample_task)(key=task_key)
        self._reset = eqx.filter_jit(family.reset)
        self._step = eqx.filter_jit(family.step)
        self.truth = int(family.hypothesis(self._task))

    def begin(self) -> StepResult:
        """Resets the task."""
        result = self._reset(self._task, key=jr.fold_in(self._world_key, 0))
        self._state = result.state
        return result

    def answer(self, query: int, step: int) -> StepResult:
        """Lets the family answer."""
        result = self._step(
            self._state,
            jnp.asarray(query, jnp.int32),
            self._task,
            key=jr.fold_in(self._world_key, step + 1),
        )
        self._state = result.state
        return result


def episode_key(seed: int, number: int) -> PRNGKey:
    """The key of an episode of `evaluate` with this seed."""
    return jr.fold_in(jr.key(seed), number)


@dataclasses.dataclass(frozen=True)
class Exchange:
    """One query and its outcome; `belief` is None if the explorer has none."""

    number: int
    query: int
    outcome: Float[np.ndarray, "outcome"]
    belief: Float[np.ndarray, "hypotheses"] | None


@dataclasses.dataclass(frozen=True)
class EpisodeEnd:
    """How an episode ended; `recommendation` is None after a contradiction.

    `undecided` says that a belief was asked for and not reached, `strange` why the
    outcomes are none of the family's, in words.
    """

    recommendation: int | None
    stop_reason: StopReason
    exchanges: tuple[Exchange, ...]
    undecided: bool = False
    strange: str | None = None


def run_episode(
    player: Player,
    family: AbstractTaskFamily,
    world: AbstractWorld,
    *,
    key: PRNGKey,
    on_exchange: Callable[[Exchange, History], None],
    notices_contradictions: bool = False,
    guard: Guard | None = None,
) -> EpisodeEnd:
    """Runs one episode and shows every exchange as soon as it is over.

    Args:
        player: who asks, and what is asked of it.
        family: the family that is played.
        world: who answers.
        key: the explorer's own randomness.
        on_exchange: called after every outcome, with the history so far.
        notices_contradictions: end where no task can have given the outcomes, which
            only a person may do.
        guard: watches whether outcomes look like those of the family.
    """
    live = LiveEpisode(player.explorer, player.operating_point, key, family.spec)
    result = world.begin()
    turn = live.begin(result.outcome, result.query_mask, bool(result.terminated))
    outcomes, exchanges = [np.asarray(result.outcome)], []
    answers = family.answers()
    watch = None if guard is None else guard.start(family.spec, outcomes[0])
    strange: str | None = None
    while (reason := reason_of(turn)) is StopReason.RUNNING:
        query = int(turn.query)
        result = world.answer(query, len(exchanges))
        if watch is not None and turn.posterior is not None:
            outcome = np.asarray(result.outcome)
            watch = watch.after(np.asarray(turn.posterior), query, outcome)
            strange = strange or watch.alarm
        if answers is not None:
            strange = strange or answers.why_strange(query, np.asarray(result.outcome))
        turn = live.advance(
            turn, query, result.outcome, result.query_mask, bool(result.terminated)
        )
        outcomes.append(np.asarray(result.outcome))
        belief = None if turn.posterior is None else np.asarray(turn.posterior)
        number = len(exchanges) + 1
        exchanges.append(Exchange(number, query, outcomes[-1], belief))
        history = _history(exchanges, outcomes)
        if notices_contradictions and family.contradicts(history):
            return EpisodeEnd(None, reason, tuple(exchanges), strange=strange)
        on_exchange(exchanges[-1], history)
    undecided = turn.posterior is not None and not player.is_decided(turn.posterior)
    return EpisodeEnd(
        int(turn.recommendation), reason, tuple(exchanges), bool(undecided), strange
    )


def _history(exchanges: Sequence[Exchange], outcomes: Sequence[np.ndarray]) -> History:
    return History(
        queries=jnp.asarray([exchange.query for exchange in exchanges], jnp.int32),
        outcomes=jnp.asarray(np.stack(outcomes)),
        length=jnp.asarray(len(exchanges), jnp.int32),
    )
