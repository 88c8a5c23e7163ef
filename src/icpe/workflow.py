"""Train an explorer and measure it, in one call; saving is left to the caller."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from icpe.artifact import Artifact, provenance
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.progress import AbstractProgress
from icpe.evaluate.benchmark import evaluate
from icpe.evaluate.calibrate import calibrate
from icpe.learn.config import TrainConfig
from icpe.learn.fit import FitOptions, FitResult, fit, fit_side_by_side
from icpe.learn.learners import AnyConfig
from icpe.learn.paper.config import PaperConfig
from icpe.learn.transfer import transfer


class Trained(NamedTuple):
    """An artifact, and why its training ended early (None if it did not)."""

    artifact: Artifact
    stopped: str | None


def train(
    family: AbstractTaskFamily,
    config: AnyConfig,
    options: FitOptions | None = None,
    *,
    start_from: Artifact | None = None,
    calibration_episodes: int = 4096,
    progress: AbstractProgress | None = None,
) -> Trained:
    """Trains an explorer and measures its operating table.

    An explorer whose training ended early is not calibrated. One of the paper's
    learner has no table; it is evaluated at the request it was trained for.

    Args:
        family: the family to train for.
        config: what is trained, and by which learner.
        options: how the training is run.
        start_from: an explorer to fine-tune; its networks must fit.
        calibration_episodes: episodes for each row of the operating table, or for the
            evaluation.
        progress: hears about training and calibration.

    Raises:
        UnsupportedError: the networks to start from do not fit, or the paper's learner
            is to start from networks.
        TrainingDivergedError: a loss became NaN or infinite.
        CheckpointError: the checkpoint to resume from is damaged or another one's.
    """
    nets, earlier = None, {}
    if isinstance(config, PaperConfig) and start_from is not None:
        raise UnsupportedError(
            "The paper's learner trains from scratch; leave out the explorer to start "
            "from."
        )
    if start_from is not None:
        assert isinstance(config, TrainConfig)
        nets = transfer(start_from.universal_nets, family.spec, config)
        earlier = {"started_from": start_from.provenance}
    result = fit(family, config, options, start_from=nets, progress=progress)
    return _finished(family, config, result, earlier, calibration_episodes, progress)


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
    """
    results = fit_side_by_side(family, config, seeds, options, progress=progress)
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


def _finished(
    family: AbstractTaskFamily,
    config: AnyConfig,
    result: FitResult,
    remarks: dict[str, Any],
    calibration_episodes: int,
    progress: AbstractProgress | None,
) -> Trained:
    """The artifact of a training, measured if the training is complete."""
    artifact = Artifact(
        nets=result.nets,
        family=family,
        training=dataclasses.asdict(config),
        provenance=provenance(
            iterations=result.iterations, seconds=result.seconds, **remarks
        ),
    )
    if result.stopped is not None:
        return Trained(artifact, result.stopped)
    if isinstance(config, PaperConfig):
        measured = _evaluated(artifact, config, calibration_episodes, progress)
        return Trained(measured, None)
    table = calibrate(
        artifact,
        episodes=calibration_episodes,
        seed=config.seed,
        progress=progress,
    )
    return Trained(dataclasses.replace(artifact, table=table), None)


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


def checkpoint_path(out: Path) -> Path:
    """Where the checkpoints of a training that ends in `out` are kept."""
    return out.with_name(out.name + ".checkpoint")


def metrics_path(out: Path) -> Path:
    """Where the metrics of a training that ends in `out` are kept."""
    return out.with_name(out.name + ".metrics.jsonl")
