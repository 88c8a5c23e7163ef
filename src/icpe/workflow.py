"""Train, calibrate and save in one call."""

import dataclasses
from pathlib import Path

from icpe.artifact import Artifact, provenance
from icpe.evaluate.calibrate import calibrate
from icpe.learn.config import TrainConfig
from icpe.learn.fit import FitOptions, fit
from icpe.progress import AbstractProgress
from icpe.tasks.base import AbstractTaskFamily


def train(
    family: AbstractTaskFamily,
    config: TrainConfig,
    options: FitOptions | None = None,
    *,
    start_from: Artifact | None = None,
    calibration_episodes: int = 4096,
    progress: AbstractProgress | None = None,
) -> tuple[Artifact, str | None]:
    """Trains an explorer and measures its operating table.

    Returns:
        The artifact, and why training ended early (None if it did not). An explorer
        whose training ended early is not calibrated.
    """
    nets = None if start_from is None else start_from.nets
    result = fit(family, config, options, start_from=nets, progress=progress)
    artifact = Artifact(
        nets=result.nets,
        family=family,
        training=dataclasses.asdict(config),
        provenance=provenance(iterations=result.iterations, seconds=result.seconds),
    )
    if result.stopped is not None:
        return artifact, result.stopped
    table = calibrate(
        artifact,
        episodes=calibration_episodes,
        seed=config.seed,
        progress=progress,
    )
    return dataclasses.replace(artifact, table=table), None


def checkpoint_path(out: Path) -> Path:
    """Where the checkpoints of a training that ends in `out` are kept."""
    return out.with_name(out.name + ".checkpoint")


def metrics_path(out: Path) -> Path:
    """Where the metrics of a training that ends in `out` are kept."""
    return out.with_name(out.name + ".metrics.jsonl")
