"""A rule for the best of several settings under a guard, for sessions in any units."""

import dataclasses
import functools as ft

import numpy as np

from icpe.artifact import Artifact
from icpe.artifact.guard import Guard, Limits
from icpe.artifact.outcome_law import NumberLaw
from icpe.families import BestOfK
from support.exports import ruled


@ft.cache
def guarded_settings() -> Artifact:
    """Up to four settings; of three, outcomes lie about 4 around the first one."""
    family = BestOfK(most_settings=4, horizon=8)
    contexts = np.array([[0, 2, 0], [0, 3, 0], [0, 4, 0]], np.float32)
    shape = (len(contexts), 2, 3)
    between = np.full(shape, 4.0, np.float32)
    between[[0, 2]] *= 100.0
    chance = np.zeros((*shape, 2), np.float32)
    chance[..., 0, :] = 0.01, 0.99
    chance[..., 1:, :] = 1.0, 0.0
    law = NumberLaw(
        mean=np.zeros(shape, np.float32),
        between=between,
        within=np.full(shape, 2.25, np.float32),
        words=np.zeros((1, 3), np.float32),
        chance=chance,
        contexts=contexts,
    )
    guard = Guard(law, Limits(12.0, 20.0), {})
    return dataclasses.replace(ruled(family, "top-two"), guard=guard)
