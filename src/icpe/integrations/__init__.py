"""Data, simulators and clusters of other makers."""

from typing import TYPE_CHECKING

from icpe.core.lazy import submodules_of

if not TYPE_CHECKING:
    __getattr__ = submodules_of(__name__)
