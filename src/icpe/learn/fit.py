"""The training loop: compiled chunks of iterations inside ordinary Python."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core import distributed
from icpe.core.checks import check_at_least
from icpe.core.errors import InvalidParameterError, TrainingDivergedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.host import SimulatorError, explained
from icpe.core.locks import locked
from icpe.core.progress import AbstractProgress, NoProgress
from icpe.core.signals import PendingStops
from icpe.explorers.neural.networks import ExplorerNets
from icpe.learn.agreement import check_agreement, seeds_of
from icpe.learn.checkpoint import load_checkpoint, save_checkpoint
from icpe.learn.config import TrainConfig
from icpe.learn.layout import (
    device_mesh,
    first_made,
    from_first,
    gathered,
    here,
    placed,
    replicated,
    run_chunk,
    with_array,
)
from icpe.learn.learner import LearnerState, UniversalLearner
from icpe.learn.learners import (
    AnyConfig,
    AnyLearner,
    AnyMetrics,
    AnyNets,
    AnyState,
    make_learner,
)
from icpe.learn.log import MetricsLog
from icpe.learn.side_by_side import SideBySide
from icpe.learn.transfer import transfer


@dataclasses.dataclass(frozen=True)
class FitOptions:
    """How a training is run, as opposed to what is trained.

    Attributes:
        checkpoint: file for checkpoints, also of the end; None keeps none.
        checkpoint_seconds: time between two checkpoints; 0 makes one after every chunk.
        light_checkpoint: leave the replay out of checkpoints, and refill it.
        resume: go on from the checkpoint.
        time_limit: stop with a checkpoint after so many seconds of this run.
        metrics: file for metrics as JSON lines; None writes none.
    """

    checkpoint: Path | None = None
    checkpoint_seconds: float = 60.0
    light_checkpoint: bool = False
    resume: bool = False
    time_limit: float = math.inf
    metrics: Path | None = None

    def __post_init__(self):
        for name in ("checkpoint", "metrics"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, Path(given))
        check_at_least("checkpoint_seconds", self.checkpoint_seconds, 0.0)


class Verdict(NamedTuple):
    """What a judge says of networks in training.

    Attributes:
        note: for people, beside the progress.
        record: for the log of metrics.
        value: how good they are, in one number.
        is_enough: training is complete.
        finish: bring the end forward, or put it off, to this iteration.
        reason: why it ends there, in words, if it does.
        why: why the end was moved, for people, beside the progress from then on.
    """

    note: str = ""
    record: Mapping[str, Any] | None = None
    value: float | None = None
    is_enough: bool = False
    finish: int | None = None
    reason: str = ""
    why: str = ""


class Situation(NamedTuple):
    """How far a training is: iterations done, the last one, and values so far."""

    done: int
    finish: int
    judged: tuple[float, ...] = ()


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a training early; the message says how to go on.

    Attributes:
        iterations: iterations done, earlier runs included.
    """

    def __init__(self, iterations: int, checkpoint: Path | None):
        self.iterations = iterations
        kept = (
            "no checkpoint was asked for, so nothing is kept; give "
            "FitOptions(checkpoint=FILE) to keep one."
        )
        if checkpoint is not None:
            kept = (
                f"the checkpoint {str(checkpoint)!r} has them, and the same training "
                f"goes on with FitOptions(checkpoint={str(checkpoint)!r}, resume=True)."
            )
        super().__init__(f"Training stopped after {iterations} iterations; {kept}")


Judge = Callable[[Situation, Any], Verdict | None]
"""Called after every chunk with the networks that would ship, which it must not keep;
None if it has nothing to say."""


@dataclasses.dataclass(frozen=True)
class FitResult:
    """What a training came to.

    Attributes:
        nets: the networks that ship, of the universal learner the Polyak-averaged.
        iterations: iterations done, earlier runs included.
        seconds: time they took, compilation included.
        stopped: why it ended before it was complete: "interrupted" or "time limit";
            None if it did not.
        ended: why it was complete.
    """

    nets: AnyNets
    iterations: int
    seconds: float
    stopped: str | None
    ended: str = "all iterations were made"


def fit(
    family: AbstractTaskFamily,
    config: AnyConfig,
    options: FitOptions | None = None,
    *,
    start_from: AnyNets | None = None,
    judge: Judge | None = None,
    progress: AbstractProgress | None = None,
) -> FitResult:
    """Trains an explorer for a family.

    Args:
        family: the family.
        config: what is trained, and by which learner.
        options: how the training is run.
        start_from: networks to fine-tune instead of fresh ones.
        judge: looks at the networks after every chunk.
        progress: receives every chunk.

    Raises:
        TrainingDivergedError: a loss became NaN or infinite; the last checkpoint is
            the last good state.
        CheckpointError: the checkpoint to resume from is damaged or another one's.
    """
    learner = make_learner(family.with_data(), config, device_mesh(config))
    return fit_learner(
        learner,
        options,
        start_from=start_from,
        judge=judge,
        progress=progress,
    )


def fit_learner(
    learner: AnyLearner,
    options: FitOptions | None = None,
    *,
    start_from: AnyNets | None = None,
    judge: Judge | None = None,
    progress: AbstractProgress | None = None,
) -> FitResult:
    """Trains with a learner that is already made; see `fit`.

    Raises:
        InUseError: another process trains with the same checkpoint or metrics.
        SimulatorError: a simulator on the host raised; the last checkpoint stands.
    """
    options = options or FitOptions()
    kept = options.checkpoint
    if not distributed.is_first():  # the first one writes for all
        options = dataclasses.replace(options, checkpoint=None, metrics=None)
        progress = None
    output = options.checkpoint or options.metrics
    with contextlib.ExitStack() as stack:
        if output is not None:
            stack.enter_context(locked(output, "a training"))
        stack.enter_context(distributed.saying_if_lost(lambda: _how_to_go_on(kept)))
        stack.enter_context(distributed.noticing_losses())
        try:
            with explained():
                check_agreement(learner, resume=options.resume)
                return _fit_learner(learner, options, start_from, judge, progress)
        except SimulatorError as error:
            raise _broken_off(error, options) from error


def _fit_learner(
    learner: AnyLearner,
    options: FitOptions,
    start_from: AnyNets | None,
    judge: Judge | None,
    progress: AbstractProgress | None,
) -> FitResult:
    progress = progress or NoProgress()
    config = learner.config
    state, earlier = _first_state(learner, options, start_from)
    on_all = replicated(learner, learner) if distributed.count() > 1 else learner
    log = None
    if options.metrics is not None:
        log = MetricsLog(options.metrics, resume_at=int(state.iteration))
    clock = _Clock(earlier, options)
    stopped, ended, why = None, "all iterations were made", ""
    finish = _finish_of(state, config)
    progress.start("training", finish)
    progress.advance(int(state.iteration))
    try:
        with PendingStops() as interrupts:
            while (done := int(state.iteration)) < finish:
                size = min(config.log_every, finish - done)
                state, metrics = run_chunk(on_all, state, size)
                done += size
                values = _values(metrics)
                interrupts.ready = True  # there is something to keep
                if not all(map(math.isfinite, values.values())):
                    raise _diverged(values, done, options)
                verdict = None
                if judge is not None:
                    at = Situation(done, finish, _judged(state))
                    verdict = judge(at, _shipped(learner, state))
                verdict = verdict or Verdict()
                if verdict.value is not None:
                    state = _with_value(learner, state, verdict.value)
                if log is not None:
                    judged = {"judged": verdict.record} if verdict.record else {}
                    log.write(done, {**values, "seconds": clock.seconds, **judged})
                why = f" ({verdict.why})" if verdict.why else why
                progress.note((verdict.note or _summary(values)) + why)
                progress.advance(size)
                if verdict.finish is not None and verdict.finish != finish:
                    finish = verdict.finish
                    state = _with_finish(learner, state, finish)
                    progress.start("training", finish)
                    progress.advance(done)
                ended = verdict.reason or ended
                stopped, is_due = _agreed(
                    interrupts.reason or clock.limit_reason, clock.checkpoint_is_due()
                )
                is_last = done >= finish or verdict.is_enough
                if stopped or is_last or is_due:
                    _save(state, learner, options, clock.seconds)
                if stopped or is_last:
                    break
        stopped = stopped or interrupts.reason  # one that came at the very end
    finally:
        progress.finish()
    nets = _shipped(learner, state)
    return FitResult(nets, int(state.iteration), clock.seconds, stopped, ended)


def _finish_of(state: AnyState, config: AnyConfig) -> int:
    """The last iteration, which a judge may have moved before a resumed training."""
    if isinstance(state, LearnerState):
        return int(state.finish)
    return config.num_iterations


def _judged(state: AnyState) -> tuple[float, ...]:
    """The values that judges have given so far."""
    if not isinstance(state, LearnerState):
        return ()
    values = np.asarray(state.judged)
    return tuple(values[np.isfinite(values)].tolist())


def _with_value(learner: AnyLearner, state: AnyState, value: float) -> AnyState:
    """One more value; the oldest go where there are too many."""
    assert isinstance(state, LearnerState)
    values = np.append(np.asarray(state.judged)[1:], np.float32(value))
    return with_array(learner, state, "judged", values)


def _with_finish(learner: AnyLearner, state: AnyState, finish: int) -> AnyState:
    assert isinstance(state, LearnerState)
    return with_array(learner, state, "finish", finish)


def fit_side_by_side(
    family: AbstractTaskFamily,
    config: TrainConfig,
    seeds: Sequence[int],
    options: FitOptions | None = None,
    *,
    progress: AbstractProgress | None = None,
) -> list[FitResult]:
    """Trains an explorer for each seed; see `fit`.

    Every result has the seconds that all of them took together.

    Args:
        family: the family.
        config: what is trained; its own seed is not used.
        seeds: the seeds.
        options: how the training is run, with one checkpoint for all seeds.
        progress: receives every chunk.

    Raises:
        InvalidParameterError: there are no seeds, or one of them twice.
        TrainingDivergedError: a loss became NaN or infinite for some seed.
        CheckpointError: the checkpoint to resume from is damaged or another one's.
    """
    if not seeds or len(set(seeds)) < len(seeds):
        raise InvalidParameterError(
            f"seeds must name at least one seed, and none twice; got {list(seeds)}."
        )
    config = dataclasses.replace(config, seed=seeds[0])
    learner = make_learner(family.with_data(), config, device_mesh(config))
    assert isinstance(learner, UniversalLearner)
    together = SideBySide(learner, tuple(seeds))
    result = fit_learner(together, options, progress=progress)
    assert isinstance(result.nets, ExplorerNets)
    tables = result.nets.predictions  # one for all seeds
    arrays, static = eqx.partition(result.nets.trainable(), eqx.is_array)
    rows = [jax.tree.map(lambda leaf, i=i: leaf[i], arrays) for i in range(len(seeds))]
    each = [eqx.combine(row, static).with_predictions(tables) for row in rows]
    return [dataclasses.replace(result, nets=nets) for nets in each]


def _shipped(learner: AnyLearner, state: AnyState) -> AnyNets:
    return here(cast(Any, learner).explorer(state).nets)


def _first_state(
    learner: AnyLearner, options: FitOptions, start_from: AnyNets | None
) -> tuple[AnyState, float]:
    key = jr.key(learner.config.seed)
    nets = start_from
    if nets is not None and isinstance(learner, UniversalLearner):
        assert isinstance(nets, ExplorerNets)
        nets = transfer(nets, learner.new_networks(key=key))
    # A copy, since the first chunk donates what it is given.
    nets = jax.tree.map(jnp.copy, nets)
    # Its networks are those given.
    state, seconds = first_made(cast(Any, learner).init, key=key, nets=nets), 0.0
    if options.resume and distributed.is_first():
        if options.checkpoint is None:
            raise InvalidParameterError("resume needs a checkpoint; none was given.")
        found = load_checkpoint(
            options.checkpoint,
            state,
            learner.family,
            learner.config,
            seeds=seeds_of(learner),
        )
        state, seconds = found.state, found.seconds
    return placed(learner, from_first(state)), distributed.share(seconds)


def _values(metrics: AnyMetrics) -> dict[str, float]:
    return {
        field.name: float(getattr(metrics, field.name))
        for field in dataclasses.fields(metrics)
    }


def _summary(values: dict[str, float]) -> str:
    return f"loss {values['inference_loss']:.4f}, accuracy {values['accuracy']:.3f}"


def _save(
    state: AnyState, learner: AnyLearner, options: FitOptions, seconds: float
) -> None:
    if not options.light_checkpoint:
        state = gathered(learner, state)
    if options.checkpoint is not None:
        save_checkpoint(
            options.checkpoint,
            state,
            learner.family,
            learner.config,
            seconds=seconds,
            light=options.light_checkpoint,
            seeds=seeds_of(learner),
        )


def _agreed(stopped: str | None, is_due: bool) -> tuple[str | None, bool]:
    """What all processes do: stop if one is to, and save when the first one's is due.

    Their clocks differ, and signals reach them one by one.
    """
    found = distributed.exchange((stopped, is_due))
    reasons = [reason for reason, _ in found if reason is not None]
    return (min(reasons) if reasons else None), found[0][1]


def _how_to_go_on(checkpoint: Path | None) -> str:
    if checkpoint is None or (distributed.is_first() and not checkpoint.exists()):
        return "there is no checkpoint yet, so start all of them again."
    kept = f"the last checkpoint is {checkpoint}"
    if not distributed.is_first():
        kept = f"the last checkpoint, if there is one, is {checkpoint} of process 0"
    return f"{kept}: start all of them again with resume, in any number."


def _broken_off(error: SimulatorError, options: FitOptions) -> SimulatorError:
    kept = options.checkpoint
    told = str(error).rstrip(".")
    if kept is None or not kept.exists():
        return SimulatorError(f"{told}; training stopped before its first checkpoint.")
    return SimulatorError(
        f"{told}; training stopped, and its last checkpoint, {kept}, is as it was: go "
        "on from it with resume."
    )


def _diverged(
    values: dict[str, float], iteration: int, options: FitOptions
) -> TrainingDivergedError:
    bad = next(name for name, value in values.items() if not math.isfinite(value))
    kept = options.checkpoint
    where = f"; the last good state is in {kept}" if kept and kept.exists() else ""
    return TrainingDivergedError(
        f"Training stopped: {bad} became {values[bad]} before iteration {iteration}"
        f"{where}; try a smaller learning_rate."
    )


class _Clock:
    """Seconds of training, when it is over, and when a checkpoint is due."""

    def __init__(self, earlier: float, options: FitOptions):
        self._start = self._last_checkpoint = time.monotonic()
        self._earlier = earlier
        self._options = options

    @property
    def seconds(self) -> float:
        return self._earlier + time.monotonic() - self._start

    @property
    def limit_reason(self) -> str | None:
        over = time.monotonic() - self._start >= self._options.time_limit
        return "time limit" if over else None

    def checkpoint_is_due(self) -> bool:
        now = time.monotonic()
        if now - self._last_checkpoint < self._options.checkpoint_seconds:
            return False
        self._last_checkpoint = now
        return True
