"""What tests of items share: a response model, and the belief about the ability."""

import abc

import numpy as np
from jaxtyping import Float

from icpe.core.family import AbstractTaskFamily
from icpe.families.finite import FiniteModelBelief
from icpe.theory.finite_model import finite_model
from icpe.theory.item_response import Items, Quadrature, answer_probabilities


class AbstractItemTest(AbstractTaskFamily):
    """A family whose queries are items, and whose hypotheses are bands of ability.

    Answers are independent given the ability. Methods of adaptive testing serve it.
    """

    @abc.abstractmethod
    def items(self) -> Items:
        """The items."""

    @abc.abstractmethod
    def cut_scores(self) -> Float[np.ndarray, "cuts"]:
        """The abilities that divide the bands."""

    @abc.abstractmethod
    def quadrature(self) -> Quadrature:
        """The abilities in cells."""

    def exact_belief(self) -> FiniteModelBelief:
        """By quadrature over the ability."""
        cells = self.quadrature()
        chances = answer_probabilities(self.items(), cells.nodes)
        chances = chances / chances.sum(axis=2, keepdims=True)
        return FiniteModelBelief(finite_model(cells.mass, chances, cells.bands))
