"""The paper's experiments and a few of our own, cell by cell; speed and a race."""

from typing import TYPE_CHECKING

from icpe.core.lazy import submodules_of

if not TYPE_CHECKING:
    __getattr__ = submodules_of(__name__)
