"""The trade-off between accuracy and cost that exact dynamic programs compute."""

import dataclasses

import numpy as np
from jaxtyping import Float

from icpe.core.errors import InvalidParameterError

Numbers = Float[np.ndarray, "prices"]


@dataclasses.dataclass(frozen=True)
class Frontier:
    """Bayes optimal policies, one per price, from the cheapest to the most accurate.

    At each price c the policy maximizes P(correct) - c * E[cost]. Every point lies on
    the concave envelope of what is attainable, and drawing at random between two
    neighbors attains everything on the line between them.
    """

    prices: Numbers
    mean_cost: Numbers
    accuracy: Numbers

    def mean_cost_at(self, accuracy: float) -> float:
        """The smallest expected cost of a policy that is right with this probability.

        It is an upper estimate between two computed prices, exact in their limit.

        Raises:
            InvalidParameterError: no computed policy is that accurate.
        """
        if accuracy > self.accuracy.max():
            raise InvalidParameterError(
                f"accuracy must be at most {self.accuracy.max():.6g}, the largest on "
                f"this frontier; got {accuracy}. Compute it for smaller prices."
            )
        order = np.lexsort((self.mean_cost, self.accuracy))
        return float(np.interp(accuracy, self.accuracy[order], self.mean_cost[order]))
