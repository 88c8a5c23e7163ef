"""Where on a line is a source, by noisy measurements of a signal that decays?"""

import jax.numpy as jnp
import jax.random as jr
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec


class SourceOnALine(AbstractTaskFamily):
    """A source in one of the cells of a line; a query measures in one of them.

    A measurement at distance d is 1 / (1 + d / reach) and Gaussian noise. The source is
    in any cell with equal probability.
    """

    num_cells: int = parameter(64, "how many cells the line has", at_least=2)
    reach: float = parameter(
        4.0, "distance at which the signal has halved", positive=True
    )
    noise: float = parameter(0.15, "standard deviation of a measurement", positive=True)
    horizon: int = parameter(60, "most measurements", at_least=1)

    @property
    def spec(self) -> TaskSpec:
        """Queries and hypotheses are the cells."""
        names = tuple(f"cell {i}" for i in range(self.num_cells))
        return TaskSpec(
            num_queries=self.num_cells,
            num_hypotheses=self.num_cells,
            outcome_size=1,
            horizon=self.horizon,
            query_names=names,
            hypothesis_names=names,
            outcome_names=("signal",),
            question="Measure in {query}: how strong is the signal?",
            reveals=False,
            may_end=False,
        )

    def sample_task(self, *, key: PRNGKey) -> Int[Array, ""]:
        return jr.randint(key, (), 0, self.num_cells)

    def reset(self, task: Int[Array, ""], *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Int[Array, ""], *, key: PRNGKey
    ) -> StepResult:
        signal = self._signal(query, task) + self.noise * jr.normal(key)
        return plain_step(self.spec, signal[None])

    def hypothesis(self, task: Int[Array, ""]) -> Index:
        return task

    def log_likelihood(
        self, hypothesis: Index, query: Index, outcome: Float[Array, "outcome"]
    ) -> Scalar:
        return norm.logpdf(outcome[0], self._signal(query, hypothesis), self.noise)

    def _signal(self, query: Index, source: Index) -> Scalar:
        distance = jnp.abs(query - source).astype(jnp.float32)
        return 1.0 / (1.0 + distance / self.reach)
