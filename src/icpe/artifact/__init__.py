"""The file of a trained explorer and everything that is in it.

The names below are imported when first used: what a file says about itself is read
without jax.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from icpe.artifact.artifact import Artifact as Artifact
    from icpe.artifact.artifact import provenance as provenance


def __getattr__(name: str) -> Any:
    if name not in ("Artifact", "provenance"):
        raise AttributeError(f"module 'icpe.artifact' has no attribute {name!r}")
    from icpe.artifact import artifact

    return getattr(artifact, name)
