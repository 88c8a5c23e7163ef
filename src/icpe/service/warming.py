"""Compiles models before they are needed, in a process of its own.

What is compiled goes into the folder of compiled programs, from which all workers, and
those that replace them, load a program in a fraction of the time. So no worker holds
models that nobody uses.
"""

import contextlib
import mmap
import struct
from pathlib import Path

import jax
import numpy as np

from icpe.core.errors import IcpeError
from icpe.core.request import Request
from icpe.deploy.session_rules import SessionRules
from icpe.deploy.session_state import complete
from icpe.deploy.setup import Setup
from icpe.play.together import CAPACITIES, Step, TogetherSteps
from icpe.service.models import Model, Models

_COUNTS = struct.Struct("=iii")


class Warming:
    """How far it is, for all processes that are forked from this one."""

    def __init__(self):
        self._shared = mmap.mmap(-1, _COUNTS.size)

    @property
    def progress(self) -> tuple[int, int]:
        """How many models have been compiled, and how many there are."""
        done, total, _ = _COUNTS.unpack(self._shared[:])
        return done, total

    @property
    def ended(self) -> bool:
        """Whether nothing more is compiled, or ever was."""
        return bool(_COUNTS.unpack(self._shared[:])[2])

    def advance(self, done: int, total: int) -> None:
        """Says how far it is."""
        self._shared[:] = _COUNTS.pack(done, total, 0)

    def end(self) -> None:
        """Says that there is nothing to wait for."""
        self._shared[:] = _COUNTS.pack(*self.progress, 1)


def warm_models(folder: Path, warming: Warming) -> None:
    """Compiles what the usual sessions of all models in a folder need.

    Without a folder for compiled programs that would be for nothing.
    """
    if not jax.config.jax_compilation_cache_dir:  # pyright: ignore
        return
    names = Models(folder).names()
    for i, name in enumerate(names):
        warming.advance(i, len(names))
        # Whoever asks for a model that fails is told what is wrong with it.
        with contextlib.suppress(IcpeError):
            _warm(Models(folder).get(name))
        jax.clear_caches()


def _warm(model: Model) -> None:
    """Takes the first steps of a session, alone and with others."""
    spec = model.artifact.family.spec
    rules = SessionRules(_usual_setup(model))
    turn = complete(rules.begin(), rules.live).state.turn
    outcome = np.zeros(spec.outcome_size, np.float32)
    every = np.ones(spec.num_queries, bool)
    step = Step(rules.row, jax.device_get(turn), 0, outcome, every, False)
    live = rules.live
    together = TogetherSteps(live.explorer, live.spec, live.operating_point.regime)
    for capacity in CAPACITIES:
        together([step] * capacity)


def _usual_setup(model: Model) -> Setup:
    spec = model.artifact.family.spec
    first = np.zeros(spec.outcome_size)
    try:
        return model.setup(
            Request(error_prob=model.usual_error_prob), first_outcome=first
        )
    except IcpeError:
        return model.setup(Request(budget=spec.horizon), first_outcome=first)
