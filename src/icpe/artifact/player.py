"""Who plays, and at which operating point a request is served."""

import dataclasses

import numpy as np
from jaxtyping import Array, Float

from icpe.artifact.certificate import Certificate
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint

_ROUNDING = 1e-6
"""Of a posterior, which compiled programs compare in single precision."""


@dataclasses.dataclass(frozen=True)
class Player:
    """An explorer, and the operating point at which it serves a request.

    The certificate is the one that covers the request on the family played, if any.
    Where a belief is promised, `doubt` is one minus the least that the posterior of
    the answer must be for a session to be decided.
    """

    explorer: AbstractExplorer
    operating_point: OperatingPoint
    certificate: Certificate | None = None
    doubt: float | None = None

    @property
    def certified(self) -> bool:
        """Whether a certificate covers the request."""
        return self.certificate is not None

    def is_decided(
        self, posterior: Float[np.ndarray | Array, "*batch hypotheses"]
    ) -> np.ndarray:
        """Whether the belief at the end is what was asked for, if one was."""
        largest = np.max(np.asarray(posterior), axis=-1)
        if self.doubt is None:
            return np.ones(largest.shape, bool)
        return np.asarray(largest >= 1.0 - self.doubt - _ROUNDING)
