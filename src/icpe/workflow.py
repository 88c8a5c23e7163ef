"""Train an explorer, or take a rule, and measure it; saving is left to the caller."""

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.random as jr
import numpy as np

from icpe.artifact import Artifact, provenance
from icpe.artifact.saved_rule import SavedRule
from icpe.core import distributed
from icpe.core.conformance import check_family
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.host import explained
from icpe.core.likelihood import belief_for
from icpe.core.progress import AbstractProgress
from icpe.core.training_paths import checkpoint_path as checkpoint_path
from icpe.core.training_paths import metrics_path as metrics_path
from icpe.evaluate.against_rule import best_rule, gain_over_rule
from icpe.evaluate.benchmark import evaluate
from icpe.evaluate.calibrate import calibrate, check_can_be_calibrated
from icpe.evaluate.guard import FEWEST_EPISODES, measure_guard
from icpe.evaluate.judge import judge
from icpe.evaluate.settle import settle
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families.registry import describe
from icpe.learn.config import TrainConfig
from icpe.learn.fit import (
    FitOptions,
    FitResult,
    Situation,
    TrainingInterrupted,
    Verdict,
    fit,
    fit_side_by_side,
)
from icpe.learn.learners import AnyConfig
from icpe.learn.paper.config import PaperConfig
from icpe.learn.survey import machine_here

_NUM_JUDGED = 4
_JUDGE_STREAM = 0x1D6E
_FEWEST_JUDGMENTS = 20
_FEWEST_IF_EXACT = 5
"""Judgments without the luck of answers, of networks that start as a good rule; on a
CPU, whose short trainings have no more than 15."""
_FEWEST_TO_GO_ON = 8
_HARDLY = 5e-4
_CLEARLY = 0.01
_LONGEST = 3
_LONGER = 2
_GUARD_EPISODES = 2048


class Trained(NamedTuple):
    """An artifact, and why its training ended early (None if it did not).

    That is "time limit", since Ctrl-C raises.
    """

    artifact: Artifact
    stopped: str | None


@explained()
def train(
    family: AbstractTaskFamily,
    config: AnyConfig,
    options: FitOptions | None = None,
    *,
    start_from: Artifact | None = None,
    calibration_episodes: int = 4096,
    ends_early: bool = True,
    progress: AbstractProgress | None = None,
) -> Trained:
    """Trains an explorer and measures its operating table.

    While it trains, the explorer that would ship is judged on fresh episodes now and
    then; when its values have stopped improving, the end is brought forward.

    An explorer whose training ended early is not calibrated. One of the paper's
    learner has no table; it is evaluated at the request it was trained for.

    Args:
        family: the family to train for.
        config: what is trained, and by which learner.
        options: how the training is run.
        start_from: an explorer to fine-tune; its networks must fit.
        calibration_episodes: episodes for each row of the operating table, or for the
            evaluation.
        ends_early: bring the end forward when judged values have stopped improving.
        progress: receives training and calibration.

    Raises:
        UnsupportedError: the networks to start from do not fit, or the paper's learner
            is to start from networks.
        ConformanceError: the family breaks its contract.
        TrainingDivergedError: a loss became NaN or infinite.
        CheckpointError: the checkpoint to resume from is damaged or another one's.
        TrainingInterrupted: a `KeyboardInterrupt`; Ctrl-C ended the training, and the
            checkpoint, if there is one, is written.
    """
    check_can_be_calibrated(family)
    if distributed.is_first():
        check_family(family, beliefs=not _is_shipped(family))
    nets, earlier = None, {}
    if isinstance(config, PaperConfig) and start_from is not None:
        raise UnsupportedError(
            "The paper's learner trains from scratch; leave out the explorer to start "
            "from."
        )
    if start_from is not None:
        nets = start_from.universal_nets
        earlier = {"started_from": start_from.provenance}
    judging = None
    if isinstance(config, TrainConfig):
        judging = Judging(family, config, ends_early=ends_early)
    result = fit(
        family, config, options, start_from=nets, judge=judging, progress=progress
    )
    _check_not_interrupted(result, options)
    return _finished(family, config, result, earlier, calibration_episodes, progress)


class Judging:
    """Judges the explorer that would ship, on fresh episodes at a few prices.

    When the values of the last fifth of judgments are hardly better than those in the
    middle, training goes into its last part, in which the step size falls; while they
    are clearly better, that part is put off, up to twice as long. Where the posterior
    is exact, it says how accurate answers are better than the answers do, and on a CPU
    fewer judgments are waited for. Training for one error probability goes on until
    that is served, up to three times as long. What it decides depends on the training
    alone, not on the clock.

    Args:
        family: where the episodes come from.
        config: of the training.
        ends_early: whether the end may be moved.
    """

    def __init__(
        self, family: AbstractTaskFamily, config: TrainConfig, *, ends_early: bool
    ):
        self._family, self._config, self._ends_early = family, config, ends_early

    def __call__(self, at: Situation, nets: ExplorerNets) -> Verdict | None:
        every = self._config.judge_every
        if at.done != self._config.log_every and at.done % every:
            return None
        prices = np.geomspace(nets.prices.low, nets.prices.high, _NUM_JUDGED + 2)[:-1]
        tables = nets.predictions if nets.config.reads_worth else None
        is_exact = tables is not None
        if is_exact:  # as it will be when training has ended
            nets = nets.with_predictions(tables.with_correction(0.0))
        judgment = judge(
            NeuralExplorer(nets.for_play()),
            self._family,
            tuple(map(float, prices)),
            self._config.batch_size,
            key=jr.fold_in(jr.key(self._config.seed), _JUDGE_STREAM),
        )
        wanted = 1.0 - (self._config.error_prob or 0.05)
        values = judgment.expected_values if is_exact else judgment.values
        value = float(np.mean(values))
        note = judgment.sentence(wanted, self._config.batch_size)
        verdict = Verdict(note, judgment.record(), value)
        if self._config.error_prob and max(judgment.accuracy) < wanted:
            longest = _LONGEST * self._config.num_iterations
            if at.done >= 0.9 * at.finish and at.finish < longest:
                verdict = verdict._replace(
                    finish=min(longest, round(1.3 * at.finish)),
                    why=f"longer: an accuracy of {wanted:g} is not reached yet",
                )
            return verdict
        share = 1.0 - self._config.decay_fraction
        soon = math.ceil(at.done / share)
        is_short = is_exact and machine_here() == "cpu"
        fewest = _FEWEST_IF_EXACT if is_short else _FEWEST_JUDGMENTS
        is_plateau = has_stopped_improving((*at.judged, value), fewest)
        if self._ends_early and is_plateau and soon < at.finish:
            reason = "judged values had stopped improving"
            why = "shorter: no longer improving"
            return verdict._replace(finish=soon, reason=reason, why=why)
        begins_now = at.finish <= soon < at.finish + every / share
        if self._ends_early and begins_now and is_still_improving((*at.judged, value)):
            later = math.ceil((at.done + every) / share)
            most = _LONGER * self._config.num_iterations
            finish = max(at.finish, min(later, most))
            why = "longer: still improving" if finish > at.finish else ""
            return verdict._replace(finish=finish, why=why)
        return verdict


def _is_shipped(family: AbstractTaskFamily) -> bool:
    """Whether the family's law is of this package, whose tests have checked it."""
    return type(family).__module__.startswith(f"{__package__}.")


def has_stopped_improving(
    values: Sequence[float], fewest: int = _FEWEST_JUDGMENTS
) -> bool:
    """Whether the last fifth of the values is hardly better than the middle fifth."""
    return len(values) >= fewest and _improvement(values) < _HARDLY


def is_still_improving(values: Sequence[float]) -> bool:
    """Whether the last fifth of the values is clearly better than the middle fifth."""
    return len(values) >= _FEWEST_TO_GO_ON and _improvement(values) > _CLEARLY


def _improvement(values: Sequence[float]) -> float:
    """From the middle fifth to the last, or from as many as three to three.

    Of few values, from the first half to the second.
    """
    if len(values) < _FEWEST_TO_GO_ON:
        half = len(values) // 2
        return float(np.mean(values[-half:]) - np.mean(values[:half]))
    size = max(3, len(values) // 5)
    first = 2 * len(values) // 5
    return float(np.mean(values[-size:]) - np.mean(values[first : first + size]))


def train_side_by_side(
    family: AbstractTaskFamily,
    config: TrainConfig,
    seeds: Sequence[int],
    options: FitOptions | None = None,
    *,
    calibration_episodes: int = 4096,
    progress: AbstractProgress | None = None,
) -> list[Trained]:
    """Trains an explorer for each seed in one program; see `train`.

    Raises:
        InvalidParameterError: there are no seeds.
        TrainingDivergedError: a loss became NaN or infinite for some seed.
        CheckpointError: the checkpoint to resume from is damaged or another one's.
        TrainingInterrupted: Ctrl-C ended the training; see `train`.
    """
    results = fit_side_by_side(family, config, seeds, options, progress=progress)
    _check_not_interrupted(results[0], options)
    together = {"side_by_side": list(seeds)}
    return [
        _finished(
            family,
            dataclasses.replace(config, seed=seed),
            result,
            together,
            calibration_episodes,
            progress,
        )
        for seed, result in zip(seeds, results, strict=True)
    ]


def _check_not_interrupted(result: FitResult, options: FitOptions | None) -> None:
    """Raises where Ctrl-C ended a training: what is half trained is not a result."""
    if result.stopped == "interrupted":
        checkpoint = None if options is None else options.checkpoint
        raise TrainingInterrupted(result.iterations, checkpoint)


def _finished(
    family: AbstractTaskFamily,
    config: AnyConfig,
    result: FitResult,
    remarks: dict[str, Any],
    calibration_episodes: int,
    progress: AbstractProgress | None,
) -> Trained:
    """The artifact of a training, measured if the training is complete."""
    nets = result.nets
    if isinstance(nets, ExplorerNets) and result.stopped is None:
        nets = settle(nets, family, calibration_episodes, seed=config.seed)
    artifact = Artifact(
        nets=nets,
        family=family,
        training=dataclasses.asdict(config),
        provenance=provenance(
            iterations=result.iterations,
            seconds=result.seconds,
            ended=result.ended,
            **remarks,
        ),
    )
    if result.stopped is not None:
        return Trained(artifact, result.stopped)
    if isinstance(config, PaperConfig):
        made = _evaluated(artifact, config, calibration_episodes, progress)
        return Trained(made, None)
    made = measured(
        artifact, episodes=calibration_episodes, seed=config.seed, progress=progress
    )
    return Trained(made, None)


def measured(
    artifact: Artifact,
    *,
    episodes: int,
    seed: int,
    max_queries: Sequence[int] = (),
    progress: AbstractProgress | None = None,
) -> Artifact:
    """The artifact with its operating table, and with a guard if that is enough.

    Where the family was made of data there is no guard: what it draws is what was
    learned from, and looks more usual than new cases.

    Args:
        artifact: the explorer; its present table and guard are replaced.
        episodes: for each row of the table.
        seed: of the episodes.
        max_queries: caps that get priced rows of their own.
        progress: receives the calibration.
    """
    table = calibrate(
        artifact,
        episodes=episodes,
        seed=seed,
        max_queries=max_queries,
        progress=progress,
    )
    artifact = dataclasses.replace(artifact, table=table)
    if episodes < FEWEST_EPISODES or artifact.family.held_out_cases() is not None:
        return artifact
    number = min(episodes, _GUARD_EPISODES)
    guard = measure_guard(artifact, episodes=number, seed=seed)
    return dataclasses.replace(artifact, guard=guard)


def make_rule(
    family: AbstractTaskFamily,
    score: str | None = None,
    *,
    calibration_episodes: int = 4096,
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> Artifact:
    """A rule with an exact belief as an explorer of its own, without training.

    It is measured like a trained one, and can be saved, certified and served like it.

    Args:
        family: a family with an exact belief, or with a likelihood.
        score: the name of the rule, as in `icpe baselines`, such as
            "information-gain"; the cheapest at accuracy 0.9 if None.
        calibration_episodes: episodes for each row of the operating table.
        seed: of the episodes.
        progress: receives the calibration.

    Raises:
        UnsupportedError: the family has no exact belief, or the rule does not serve it.
        UnknownNameError: there is no rule of that name.
        InvalidParameterError: the explorer of that name does not act on a posterior.
        ConformanceError: the family breaks its contract.
    """
    check_can_be_calibrated(family)
    check_family(family, beliefs=not _is_shipped(family))
    began = time.perf_counter()
    if score is None:
        belief_for(family)  # or its own complaint
        score = best_rule(family, seed=seed)
    if score is None:
        raise UnsupportedError(
            f"No rule serves {describe(family)}; train an explorer with icpe train."
        )
    artifact = Artifact(
        nets=SavedRule.of(family, score),
        family=family,
        training={"learner": "rule", "score": score, "seed": seed},
        provenance={},
    )
    artifact = measured(
        artifact, episodes=calibration_episodes, seed=seed, progress=progress
    )
    seconds = round(time.perf_counter() - began, 3)
    return dataclasses.replace(artifact, provenance=provenance(seconds=seconds))


def with_gain(
    artifact: Artifact,
    *,
    episodes: int = 2048,
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> Artifact:
    """A trained explorer with what training gains over the best rule, where one is."""
    accuracy = artifact.training.get("error_prob")
    gain = gain_over_rule(
        artifact,
        accuracy=None if not accuracy else 1.0 - accuracy,
        episodes=episodes,
        seed=seed,
        progress=progress,
    )
    record = None if gain is None else gain.to_dict()
    return dataclasses.replace(artifact, against_rule=record)


def _evaluated(
    artifact: Artifact,
    config: PaperConfig,
    episodes: int,
    progress: AbstractProgress | None,
) -> Artifact:
    """The artifact with an evaluation at the one request it serves."""
    objective = config.objective
    (report,) = evaluate(
        {"paper": artifact},
        artifact.family,
        error_prob=objective.error_prob,
        budget=objective.budget,
        episodes=episodes,
        seed=config.seed,
        progress=progress,
    )
    return dataclasses.replace(artifact, evaluation=report.to_dict())
