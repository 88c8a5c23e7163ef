"""Trained explorers that cells need: described, trained once, kept in a folder."""

import dataclasses
import hashlib
import json
import math
import re
import time
from pathlib import Path
from typing import Any, Literal

import jax

from icpe.artifact import Artifact
from icpe.core.errors import IcpeError
from icpe.core.family import AbstractTaskFamily
from icpe.core.progress import AbstractProgress
from icpe.evaluate.calibrate import calibrate
from icpe.evaluate.report import family_record
from icpe.learn.config import TrainConfig
from icpe.learn.fit import FitOptions
from icpe.learn.learners import AnyConfig
from icpe.learn.paper.presets import paper_preset
from icpe.learn.recipe import Machine, preset
from icpe.workflow import (
    checkpoint_path,
    metrics_path,
    train,
    train_side_by_side,
)

Learner = Literal["universal", "dqn"]


class OutOfTimeError(IcpeError, RuntimeError):
    """A training did not end within the time given; it goes on the next time."""


@dataclasses.dataclass(frozen=True)
class Model:
    """What is trained. Equal models are trained once, whoever needs them.

    Attributes:
        family: the family it is trained for.
        seed: seed of the training.
        learner: the universal one, or plain DQN on environment rewards, which is the
            paper's baseline for deterministic bandits.
        config: the whole configuration; the preset of the machine if None.
        calibration_episodes: for each row of the operating table.
        seeds: those that are trained with it in one program on a GPU.
    """

    family: AbstractTaskFamily
    seed: int = 0
    learner: Learner = "universal"
    config: TrainConfig | None = None
    calibration_episodes: int = 8192
    seeds: tuple[int, ...] = ()

    @property
    def file_name(self) -> str:
        """A name for people, with a digest of everything that matters."""
        described: dict[str, Any] = {"family": family_record(self.family)}
        described |= {"learner": self.learner, "episodes": self.calibration_episodes}
        if self.config is not None:
            described["config"] = dataclasses.asdict(self.config)
        name = described["family"]["name"]
        size = next(iter(described["family"]["parameters"].values()))
        words = f"{name}-{size}-{self.learner}-{_digest(described)}-seed={self.seed}"
        return re.sub(r"[^\w.=-]+", "-", words) + ".safetensors"

    def configuration(self, machine: Machine) -> AnyConfig:
        """The whole configuration of the training on a machine."""
        if self.config is not None:
            return dataclasses.replace(self.config, seed=self.seed)
        if self.learner == "dqn":
            return dataclasses.replace(
                paper_preset(machine, self.family),
                budget=self.family.spec.horizon,
                reward="environment",
                seed=self.seed,
            )
        return dataclasses.replace(preset(machine, self.family), seed=self.seed)


@dataclasses.dataclass(frozen=True)
class Bench:
    """Where trained explorers come from: a folder, which is filled as needed.

    Attributes:
        folder: where they are kept.
        machine: whose presets are used; chosen by the device if None.
        deadline: when trainings stop with a checkpoint, by `time.monotonic`.
        progress: notified of trainings and evaluations.
    """

    folder: Path
    machine: Machine | None = None
    deadline: float = math.inf
    progress: AbstractProgress | None = None

    def artifact(self, model: Model) -> Artifact:
        """The trained explorer: from its file, or trained now, or further.

        Raises:
            OutOfTimeError: the deadline came first; the checkpoint is kept.
            TrainingDivergedError: a loss became NaN or infinite.
        """
        path = self.folder / model.file_name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            on_cpu = jax.default_backend() == "cpu"
            self._train(model, self.machine or ("cpu" if on_cpu else "gpu"))
        return Artifact.load(path, model.family)

    def _train(self, model: Model, machine: Machine) -> None:
        """Fills in the file of a model, and of those that are trained with it."""
        seeds = [model.seed]
        if machine == "gpu" and model.learner == "universal":
            seeds += [s for s in model.seeds if not self._path(model, s).exists()]
        seeds = sorted(set(seeds))
        paths = [self._path(model, seed) for seed in seeds]
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise OutOfTimeError(f"There is no time left to train {paths[0].stem}.")
        config = dataclasses.replace(model, seed=seeds[0]).configuration(machine)
        name = paths[0].stem + "".join(f"-and-{seed}" for seed in seeds[1:])
        kept = paths[0].with_name(name + paths[0].suffix)
        checkpoint = checkpoint_path(kept)
        options = FitOptions(
            checkpoint=checkpoint,
            light_checkpoint=True,
            resume=checkpoint.exists(),
            time_limit=left,
            metrics=metrics_path(kept),
        )
        measured: dict[str, Any] = {
            "calibration_episodes": model.calibration_episodes,
            "progress": self.progress,
        }
        if len(seeds) == 1:
            found = [train(model.family, config, options, **measured)]
        else:
            assert isinstance(config, TrainConfig)
            found = train_side_by_side(model.family, config, seeds, options, **measured)
        if found[0].stopped is not None:
            done = found[0].artifact.provenance["iterations"]
            raise OutOfTimeError(
                f"The training of {kept.stem} ran out of time after {done} of "
                f"{config.num_iterations} iterations; run the study again to continue."
            )
        for path, one in zip(paths, found, strict=True):
            one.artifact.save(path)
        checkpoint.unlink(missing_ok=True)

    def _path(self, model: Model, seed: int) -> Path:
        return self.folder / dataclasses.replace(model, seed=seed).file_name

    def calibrated(self, model: Model, part: AbstractTaskFamily) -> Artifact:
        """The trained explorer with an operating table for a part of its family.

        The part has the specification of the whole, such as one number of arms where
        the model serves many. Kept beside the model's own file.

        Raises:
            OutOfTimeError: the deadline came first; the checkpoint is kept.
            TrainingDivergedError: a loss became NaN or infinite.
        """
        whole = self.folder / model.file_name
        digest = _digest(family_record(part))
        path = whole.with_name(f"{whole.stem}-on-{digest}{whole.suffix}")
        if path.exists():
            return Artifact.load(path, part)
        artifact = dataclasses.replace(self.artifact(model), family=part, table=None)
        table = calibrate(
            artifact,
            episodes=model.calibration_episodes,
            seed=model.seed,
            progress=self.progress,
        )
        artifact = dataclasses.replace(artifact, table=table)
        artifact.save(path)
        return artifact


def _digest(described: dict[str, Any]) -> str:
    text = json.dumps(described, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
