"""The file of a trained explorer and everything that is in it."""

from icpe.artifact.artifact import Artifact as Artifact
from icpe.artifact.artifact import provenance as provenance
