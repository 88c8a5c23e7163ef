"""Exact beliefs: what a history says about the hypotheses, for known families.

A belief keeps sufficient statistics only, so that an update is cheap, and computes
the posterior when it is asked for. This module holds the contract and the register;
the beliefs themselves are in the modules `*_beliefs`.
"""

import abc
from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PyTree
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.families.registry import family_name, family_names, get_factory


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


class AbstractPredictiveBelief(AbstractBelief):
    """An exact belief that also knows what each query is expected to tell."""

    @abc.abstractmethod
    def information_gains(self, state: PyTree) -> Float[Array, "queries"]:
        """Expected fall of the posterior's entropy, in nats, by each query."""


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


_FACTORIES: dict[type[AbstractTaskFamily], Callable[[Any], AbstractBelief]] = {}
