"""The training of several seeds at once."""

import dataclasses
from collections.abc import Sequence

import equinox as eqx
import jax

from icpe.core.errors import InvalidParameterError
from icpe.core.family import AbstractTaskFamily
from icpe.core.progress import AbstractProgress
from icpe.learn.config import TrainConfig
from icpe.learn.fit import FitOptions, FitResult, device_mesh, fit_learner
from icpe.learn.side_by_side import SideBySide
from icpe.learn.universal import UniversalLearner


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
        progress: hears about every chunk.

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
    learner = UniversalLearner(family, config, device_mesh(config))
    together = SideBySide(learner, tuple(seeds))
    result = fit_learner(together, options, progress=progress)
    arrays, static = eqx.partition(result.nets, eqx.is_array)
    rows = [jax.tree.map(lambda leaf, i=i: leaf[i], arrays) for i in range(len(seeds))]
    return [dataclasses.replace(result, nets=eqx.combine(r, static)) for r in rows]
