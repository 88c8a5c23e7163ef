"""Exact beliefs: what a history says about the hypotheses, for known families.

A belief keeps sufficient statistics only, so that an update is cheap, and computes
the posterior when it is asked for.
"""

import abc
from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from icpe.exceptions import UnsupportedError
from icpe.tasks.bandits import DeterministicBandit, GaussianBandit
from icpe.tasks.base import AbstractTaskFamily
from icpe.tasks.registry import family_name, family_names, get_factory
from icpe.tasks.search import BinarySearch
from icpe.theory.binary_search import VersionSpace, interval_log_posterior
from icpe.theory.deterministic import revealed_best_log_posterior
from icpe.theory.gaussian_gap import best_arm_log_posterior, nodes_needed
from icpe.types import Index, PyTree


class AbstractBelief(eqx.Module):
    """The exact posterior of a family, for one history; methods are vmapped.

    It conditions on the outcomes of the queries made, whoever chose them and why.
    """

    @abc.abstractmethod
    def init(self, first_outcome: Float[Array, "outcome"]) -> PyTree:
        """The statistics before the first query."""

    @abc.abstractmethod
    def update(
        self, state: PyTree, query: Index, outcome: Float[Array, "outcome"]
    ) -> PyTree:
        """The statistics after one more outcome."""

    @abc.abstractmethod
    def log_posterior(self, state: PyTree) -> Float[Array, "hypotheses"]:
        """Log-probability of each hypothesis; -inf for the impossible."""


class RewardSums(eqx.Module):
    """Pulls of each arm and the sum of its rewards."""

    counts: Int[Array, "arms"]
    sums: Float[Array, "arms"]


class GaussianGapBelief(AbstractBelief):
    """Which Gaussian arm is best, given the minimum gap."""

    num_arms: int = eqx.field(static=True)
    min_gap: float = eqx.field(static=True)
    noise: float = eqx.field(static=True)
    mean_range: float = eqx.field(static=True)
    max_pulls: int = eqx.field(static=True)

    def init(self, first_outcome: Float[Array, "outcome"]) -> RewardSums:
        """No pulls yet."""
        return RewardSums(
            jnp.zeros(self.num_arms, jnp.int32),
            jnp.zeros(self.num_arms, first_outcome.dtype),
        )

    def update(
        self, state: RewardSums, query: Index, outcome: Float[Array, "outcome"]
    ) -> RewardSums:
        """Counts one pull."""
        pulled = jnp.arange(self.num_arms) == query
        return RewardSums(
            state.counts + pulled.astype(jnp.int32),
            state.sums + jnp.where(pulled, outcome[0], 0.0),
        )

    def log_posterior(self, state: RewardSums) -> Float[Array, "hypotheses"]:
        """By one-dimensional quadrature."""
        return best_arm_log_posterior(
            state.counts,
            state.sums,
            min_gap=self.min_gap,
            noise=self.noise,
            mean_range=self.mean_range,
            num_nodes=nodes_needed(self.min_gap, self.noise, self.max_pulls),
        )


class RevealedMeans(eqx.Module):
    """The arms whose mean is known, and their means."""

    tried: Bool[Array, "arms"]
    values: Float[Array, "arms"]


class RevealedMeansBelief(AbstractBelief):
    """Which arm is best when one pull reveals its mean."""

    num_arms: int = eqx.field(static=True)

    def init(self, first_outcome: Float[Array, "outcome"]) -> RevealedMeans:
        """Nothing revealed yet."""
        return RevealedMeans(
            jnp.zeros(self.num_arms, bool),
            jnp.zeros(self.num_arms, first_outcome.dtype),
        )

    def update(
        self, state: RevealedMeans, query: Index, outcome: Float[Array, "outcome"]
    ) -> RevealedMeans:
        """Reveals one mean."""
        pulled = jnp.arange(self.num_arms) == query
        return RevealedMeans(
            state.tried | pulled, jnp.where(pulled, outcome[0], state.values)
        )

    def log_posterior(self, state: RevealedMeans) -> Float[Array, "hypotheses"]:
        """In closed form."""
        return revealed_best_log_posterior(state.tried, state.values)


class VersionSpaceBelief(AbstractBelief):
    """Which numbers agree with all comparisons so far."""

    size: int = eqx.field(static=True)

    def init(self, first_outcome: Float[Array, "outcome"]) -> VersionSpace:
        """Every number is possible."""
        return VersionSpace.full(self.size)

    def update(
        self, state: VersionSpace, query: Index, outcome: Float[Array, "outcome"]
    ) -> VersionSpace:
        """Cuts the interval."""
        return state.narrow(query, outcome[0])

    def log_posterior(self, state: VersionSpace) -> Float[Array, "hypotheses"]:
        """Uniform over the interval."""
        return interval_log_posterior(state, self.size)


def belief_for(family: AbstractTaskFamily) -> AbstractBelief:
    """The exact belief of a family.

    Raises:
        UnsupportedError: no exact belief is known for this family.
    """
    factory = _FACTORIES.get(type(family))
    if factory is None:
        raise UnsupportedError(
            f"Family {family_name(family)!r} has no exact belief; the families that "
            f"have one are {', '.join(class_names(families_with_belief()))}, and "
            "register_belief adds one."
        )
    return factory(family)


def register_belief(
    family_class: type[AbstractTaskFamily], factory: Callable[[Any], AbstractBelief]
) -> None:
    """Makes `factory(family)` the exact belief of all families of a class."""
    _FACTORIES[family_class] = factory


def families_with_belief() -> tuple[type[AbstractTaskFamily], ...]:
    """The classes of families that have an exact belief."""
    return tuple(_FACTORIES)


def class_names(classes: Iterable[type[AbstractTaskFamily]]) -> tuple[str, ...]:
    """The registered names of classes of families, else their own names; sorted."""
    registered = {get_factory(name): name for name in family_names()}
    return tuple(sorted(registered.get(cls, cls.__name__) for cls in classes))


_FACTORIES: dict[type[AbstractTaskFamily], Callable[[Any], AbstractBelief]] = {
    BinarySearch: lambda family: VersionSpaceBelief(family.size),
    DeterministicBandit: lambda family: RevealedMeansBelief(family.num_arms),
    GaussianBandit: lambda family: GaussianGapBelief(
        num_arms=family.num_arms,
        min_gap=family.min_gap,
        noise=family.noise,
        mean_range=family.mean_range,
        max_pulls=family.horizon,
    ),
}
