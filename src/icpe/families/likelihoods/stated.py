"""What a table of probabilities says, before it becomes a family."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from icpe.families.likelihoods.names import Names

TOLERANCE = 2e-3
"""Rounded probabilities may miss a sum of 1 by this much; they are rescaled."""


class Stated(NamedTuple):
    """What a file or an array says."""

    title: str
    table: Float[np.ndarray, "hypotheses queries outcomes"]
    names: Names
    prior: Any = None
    costs: Any = None
