"""Who plays, and at which operating point a request is served."""

import dataclasses

from icpe.artifact.certificate import Certificate
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint


@dataclasses.dataclass(frozen=True)
class Player:
    """An explorer, and the operating point at which it serves a request.

    The certificate is the one that covers the request on the family played, if any.
    """

    explorer: AbstractExplorer
    operating_point: OperatingPoint
    certificate: Certificate | None = None

    @property
    def certified(self) -> bool:
        """Whether a certificate covers the request."""
        return self.certificate is not None
