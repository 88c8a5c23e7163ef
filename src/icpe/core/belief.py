"""Exact beliefs: what a history says about the hypotheses.

A belief keeps sufficient statistics only, so that an update is cheap, and computes
the posterior when it is asked for.
"""

import abc
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PyTree


class TaskClasses(NamedTuple):
    """Finitely many classes of tasks, in each of which outcomes are independent.

    Attributes:
        log_prior: log-probability of each class.
        log_likelihood: log-probability of each outcome of each query in each class.
        hypotheses: the true hypothesis of each class; several may share one.
        outcomes: what the outcomes are.
    """

    log_prior: Float[Array, "classes"]
    log_likelihood: Float[Array, "classes queries outcomes"]
    hypotheses: Int[Array, "classes"]
    outcomes: Float[Array, "outcomes entries"]


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

    def classes(self) -> TaskClasses | None:
        """What it reckons with, where that is a table of few outcomes."""
        return None


class Outlook(NamedTuple):
    """What is believed, and what each query is expected to do about it.

    Attributes:
        log_posterior: log-probability of each hypothesis.
        information: expected fall of its entropy, in nats, by each query.
        right_after: probability of being right when stopping after one answer to each
            query, None where it is not known.
    """

    log_posterior: Float[Array, "hypotheses"]
    information: Float[Array, "queries"]
    right_after: Float[Array, "queries"] | None


class AbstractPredictiveBelief(AbstractBelief):
    """An exact belief that also knows what each query is expected to tell."""

    @abc.abstractmethod
    def information_gains(self, state: PyTree) -> Float[Array, "queries"]:
        """Expected fall of the posterior's entropy, in nats, by each query."""

    def outlook(self, state: PyTree) -> Outlook:
        """All at once, which may be cheaper than one after the other."""
        gains = self.information_gains(state)
        return Outlook(self.log_posterior(state), gains, None)
