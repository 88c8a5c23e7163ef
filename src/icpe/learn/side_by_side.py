"""Trainings that differ by their seed alone, side by side in one program.

A small training leaves most of a GPU idle; several of them take hardly longer.
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax.sharding import Mesh

from icpe.core.arrays import PRNGKey, PyTree
from icpe.core.errors import InvalidParameterError
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.learn.config import TrainConfig
from icpe.learn.crew import Crew
from icpe.learn.learner import LearnerState, Metrics, UniversalLearner


class SideBySide(eqx.Module):
    """A universal learner for several seeds.

    Its states are those of the learner with a leading axis for the seeds, but for
    counts and tables, which all seeds share. Metrics are averaged over the seeds.
    """

    learner: UniversalLearner
    seeds: tuple[int, ...] = eqx.field(static=True)

    metrics_type: ClassVar[type] = Metrics

    @property
    def family(self) -> AbstractTaskFamily:
        """What is trained for."""
        return self.learner.family

    @property
    def config(self) -> TrainConfig:
        """The configuration, with the first seed."""
        return self.learner.config

    @property
    def mesh(self) -> Mesh | None:
        """The devices over which episodes are laid out."""
        return self.learner.mesh

    @property
    def crew(self) -> Crew:
        """The devices that share the episodes, each of which runs `step`."""
        return self.learner.crew

    def init(self, *, key: PRNGKey, nets: ExplorerNets | None = None) -> LearnerState:
        """The fresh states of the seeds, each as if it were alone; `key` is not used.

        Raises:
            InvalidParameterError: networks to fine-tune were given.
        """
        if nets is not None:
            raise InvalidParameterError("Side by side, seeds start with fresh nets.")
        keys = jnp.stack([jr.key(seed) for seed in self.seeds])
        states = eqx.filter_vmap(lambda key: self.learner.init(key=key))(keys)
        first = jax.tree.map(lambda leaf: leaf[0], _shared(states))
        return eqx.tree_at(_shared, states, first, is_leaf=lambda node: node is None)

    def step(self, state: LearnerState) -> tuple[LearnerState, Metrics]:
        """One iteration of every seed."""
        arrays, static = eqx.partition(state, eqx.is_array)

        def step(arrays: PyTree) -> tuple[PyTree, Metrics]:
            state, metrics = self.learner.step(eqx.combine(arrays, static))
            return eqx.filter(state, eqx.is_array), metrics

        axes = eqx.tree_at(
            _shared,
            jax.tree.map(lambda _: 0, arrays),
            (None,) * 5,
            is_leaf=lambda node: node is None,
        )
        step = jax.vmap(step, in_axes=(axes,), out_axes=(axes, 0))
        arrays, metrics = step(arrays)
        return eqx.combine(arrays, static), jax.tree.map(jnp.mean, metrics)

    def explorer(self, state: LearnerState) -> NeuralExplorer:
        """The explorers that ship, as one with a leading axis."""
        return self.learner.explorer(state)


def _counts(state: LearnerState):
    return state.iteration, state.finish, state.judged, state.replay.added


def _shared(state: LearnerState):
    """What all seeds have in common: counts and tables."""
    return (*_counts(state), state.predictions)
