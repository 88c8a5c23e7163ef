"""Classical methods where the number of arms could vary, and is one number."""

import dataclasses
import functools as ft
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, PyTree
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.families.bandit.varying import ArmNumbers, numbers_of_arms

Factory = Callable[..., AbstractExplorer]


class FirstArms(AbstractExplorer):
    """A method made for K arms, where there are more queries and K may be made.

    It plays as it does on the family of K arms: it sees neither the other arms nor
    the number that the first outcome reveals.
    """

    inner: AbstractExplorer
    spec: TaskSpec = eqx.field(static=True)

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> PyTree:
        """Begins as on the family of K arms."""
        first_outcome = first_outcome[: self.spec.outcome_size]
        return self.inner.init(self.spec, operating_point, first_outcome)

    def ask(
        self, state: PyTree, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        return self.inner.ask(state, query_mask[: self.spec.num_queries], key=key)

    def tell(
        self, state: PyTree, query: Index, outcome: Float[Array, "outcome"]
    ) -> PyTree:
        return self.inner.tell(state, query, outcome[: self.spec.outcome_size])

    def recommend(self, state: PyTree) -> Index:
        return self.inner.recommend(state)

    def log_posterior(self, state: PyTree) -> None:
        """None: classical methods of arms have no belief."""
        return None


def with_its_arms(family: AbstractTaskFamily) -> AbstractTaskFamily | None:
    """The same family with a fixed number of arms.

    None where the number is fixed already, or varies indeed.
    """
    if not isinstance(family, ArmNumbers) or not family.vary_arms:
        return None
    numbers = numbers_of_arms(family)
    if len(numbers) > 1:
        return None
    fixed: Any = family
    return dataclasses.replace(fixed, num_arms=numbers[0], vary_arms=False)


def on_first_arms(factory: Factory) -> Factory:
    """The same method, also where `fewest_arms` and `most_arms` are one number."""

    @ft.wraps(factory)
    def make(family: AbstractTaskFamily, **given: Any) -> AbstractExplorer:
        fixed = with_its_arms(family)
        if fixed is None:
            return factory(family, **given)
        return FirstArms(factory(fixed, **given), fixed.spec)

    return make
