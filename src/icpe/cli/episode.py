"""One episode, step by step, against the simulator or against a person.

The rules are those of `icpe.play.rollout`, and a simulated world uses its keys: with
the same seed, `run_episode` shows exactly episode `number` of `evaluate`.
"""

import abc
import dataclasses
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import PRNGKey, PyTree
from icpe.core.episode import STOP, StopReason
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, StepResult, TaskSpec
from icpe.core.request import OperatingPoint, Regime


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
class Turn:
    """One query and its outcome; `belief` is None if the explorer has none."""

    number: int
    query: int
    outcome: Float[np.ndarray, "outcome"]
    belief: Float[np.ndarray, "hypotheses"] | None


@dataclasses.dataclass(frozen=True)
class EpisodeEnd:
    """How an episode ended; `recommendation` is None after a contradiction."""

    recommendation: int | None
    stop_reason: StopReason
    turns: tuple[Turn, ...]


def run_episode(
    explorer: AbstractExplorer,
    spec: TaskSpec,
    operating_point: OperatingPoint,
    world: AbstractWorld,
    *,
    key: PRNGKey,
    on_turn: Callable[[Turn], None],
    contradict: Callable[[Sequence[Turn]], bool] = lambda turns: False,
) -> EpisodeEnd:
    """Runs one episode and shows every turn as soon as it is over.

    Args:
        explorer: who asks.
        spec: of the family the explorer serves.
        operating_point: what is asked of the explorer.
        world: who answers.
        key: the explorer's own randomness.
        on_turn: called after every outcome.
        contradict: whether the outcomes so far cannot come from any task.
    """
    result = world.begin()
    state = _init(explorer, spec, operating_point, result.outcome)
    turns: list[Turn] = []
    reason = StopReason.RUNNING
    if result.terminated:
        reason = StopReason.TERMINATED
    while reason is StopReason.RUNNING:
        step = len(turns)
        if not result.query_mask.any():
            reason = StopReason.NO_QUERY
            break
        query = int(_ask(explorer, state, result.query_mask, jr.fold_in(key, step)))
        if query == STOP:
            reason = StopReason.EXPLORER
            break
        result = world.answer(query, step)
        told = _tell(explorer, state, jnp.asarray(query, jnp.int32), result.outcome)
        state = told.state
        turn = Turn(step + 1, query, np.asarray(result.outcome), _array(told.belief))
        turns.append(turn)
        if contradict(turns):
            return EpisodeEnd(None, reason, tuple(turns))
        on_turn(turn)
        reason = _reason_after(operating_point, spec, turn.number, result)
    recommendation = int(eqx.filter_jit(explorer.recommend)(state))
    return EpisodeEnd(recommendation, reason, tuple(turns))


def _reason_after(
    operating_point: OperatingPoint, spec: TaskSpec, made: int, result: StepResult
) -> StopReason:
    if result.terminated:
        return StopReason.TERMINATED
    cap = int(operating_point.max_queries)
    if made < cap:
        return StopReason.RUNNING
    asked_for = cap < spec.horizon or operating_point.regime is Regime.BUDGET
    return StopReason.BUDGET if asked_for else StopReason.HORIZON


class _Told(eqx.Module):
    state: PyTree
    belief: Float[Array, "hypotheses"] | None


@eqx.filter_jit
def _init(explorer, spec, operating_point, first_outcome) -> PyTree:
    return explorer.init(spec, operating_point, first_outcome)


@eqx.filter_jit
def _ask(explorer, state, query_mask: Bool[Array, "queries"], key):
    return explorer.ask(state, query_mask, key=key)


@eqx.filter_jit
def _tell(explorer, state, query, outcome) -> _Told:
    state = explorer.tell(state, query, outcome)
    log_posterior = explorer.log_posterior(state)
    return _Told(state, None if log_posterior is None else jnp.exp(log_posterior))


def _array(belief: jax.Array | None) -> np.ndarray | None:
    return None if belief is None else np.asarray(belief)
