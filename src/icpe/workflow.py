"""Train, calibrate and save in one call."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

from icpe.artifact import Artifact, provenance
from icpe.evaluate.calibrate import calibrate
from icpe.evaluate.training_rule import TrainingRule
from icpe.learn.config import TrainConfig
from icpe.learn.fit import FitOptions, fit
from icpe.learn.transfer import transfer
from icpe.progress import AbstractProgress
from icpe.tasks.base import AbstractTaskFamily


class Trained(NamedTuple):
    """An artifact, and why its training ended early (None if it did not)."""

    artifact: Artifact
    stopped: str | None


def train(
    family: AbstractTaskFamily,
    config: TrainConfig,
    options: FitOptions | None = None,
    *,
    start_from: Artifact | None = None,
    rule: TrainingRule | None = None,
    calibration_episodes: int = 4096,
    progress: AbstractProgress | None = None,
) -> Trained:
    """Trains an explorer and measures its operating table.

    An explorer whose training ended early is not calibrated.

    Args:
        family: the family to train for.
        config: what is trained.
        options: how the training is run.
        start_from: an explorer to fine-tune; its networks must fit.
        rule: completes the training as soon as it sees enough evidence.
        calibration_episodes: episodes for each row of the operating table.
        progress: hears about training and calibration.

    Raises:
        UnsupportedError: the networks to start from do not fit.
        TrainingDivergedError: a loss became NaN or infinite.
        CheckpointError: the checkpoint to resume from is damaged or another one's.
    """
    nets, earlier = None, {}
    if start_from is not None:
        nets = transfer(start_from.nets, family.spec, config)
        earlier = {"started_from": start_from.provenance}
    result = fit(
        family, config, options, start_from=nets, is_enough=rule, progress=progress
    )
    if rule is not None:
        earlier = {**earlier, "training_rule": rule.record()}
    artifact = Artifact(
        nets=result.nets,
        family=family,
        training=dataclasses.asdict(config),
        provenance=provenance(
            iterations=result.iterations, seconds=result.seconds, **earlier
        ),
    )
    if result.stopped is not None:
        return Trained(artifact, result.stopped)
    table = calibrate(
        artifact,
        episodes=calibration_episodes,
        seed=config.seed,
        progress=progress,
    )
    return Trained(dataclasses.replace(artifact, table=table), None)


def checkpoint_path(out: Path) -> Path:
    """Where the checkpoints of a training that ends in `out` are kept."""
    return out.with_name(out.name + ".checkpoint")


def metrics_path(out: Path) -> Path:
    """Where the metrics of a training that ends in `out` are kept."""
    return out.with_name(out.name + ".metrics.jsonl")
