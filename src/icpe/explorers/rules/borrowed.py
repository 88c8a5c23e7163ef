"""Rules that act on the belief of another explorer, such as a trained one.

I-DPT and I-IDS of the paper. They show what a learned query net adds to a learned
belief. With an exact belief they err with probability at most delta on average over the
prior, with a learned one as far as the belief can be trusted.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float
from scipy.special import ndtri

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.belief import AbstractBelief
from icpe.core.errors import UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import OperatingPoint
from icpe.core.simulate import first_answers
from icpe.core.spec import TaskSpec
from icpe.explorers.registry import families_that
from icpe.explorers.rules.belief_explorer import (
    AbstractScore,
    BeliefExplorer,
    Situation,
)
from icpe.explorers.rules.scores import MostProbableScore
from icpe.families.registry import family_name
from icpe.theory.divergences import entropy

NUM_OUTCOMES = 30
_NUM_TASKS = 2048


class BorrowedBelief(AbstractBelief):
    """The belief of an explorer, which is told of a budget and never asked."""

    inner: AbstractExplorer
    spec: TaskSpec = eqx.field(static=True)

    def init(self, first_outcome: Float[Array, "outcome"]) -> PyTree:
        point = OperatingPoint.at(self.spec.horizon, budget=self.spec.horizon)
        return self.inner.init(self.spec, point, first_outcome)

    def update(
        self, state: PyTree, query: Index, outcome: Float[Array, "outcome"]
    ) -> PyTree:
        return self.inner.tell(state, query, outcome)

    def log_posterior(self, state: PyTree) -> Float[Array, "hypotheses"]:
        """What the explorer believes.

        Raises:
            UnsupportedError: it has no belief.
        """
        log_posterior = self.inner.log_posterior(state)
        if log_posterior is None:
            raise UnsupportedError(
                f"{type(self.inner).__name__} has no belief to act on; take a trained "
                "explorer, or one with an exact posterior."
            )
        return log_posterior


def make_posterior_greedy(
    inner: AbstractExplorer, family: AbstractTaskFamily
) -> BeliefExplorer:
    """I-DPT: asks about the hypothesis that the explorer inside thinks most probable.

    The decision-pretrained transformer of Lee et al. 2023, acting greedily by the
    inference net of a trained explorer (appendix "I-DPT" of the paper).

    Raises:
        UnsupportedError: the queries of the family are not its hypotheses.
    """
    if not family.spec.asks_about_hypotheses:
        able = families_that(lambda family: family.spec.asks_about_hypotheses)
        raise UnsupportedError(
            f"Explorer 'i-dpt' asks about the most probable hypothesis, but the "
            f"queries of {family_name(family)!r} are not its hypotheses; it can serve "
            f"{', '.join(able)}."
        )
    belief = BorrowedBelief(inner, family.spec)
    return BeliefExplorer("i-dpt", belief, MostProbableScore())


class GaussianOutcomes(eqx.Module):
    """A Gaussian model of the first outcome entry of each query.

    The mean of query a is N(mean[a], spread[a]^2) and its outcomes vary around it with
    standard deviation noise[a].
    """

    mean: Float[Array, "queries"]
    spread: Float[Array, "queries"]
    noise: Float[Array, "queries"]

    def predict(
        self, counts: Float[Array, "queries"], sums: Float[Array, "queries"]
    ) -> Float[Array, "queries outcomes"]:
        """Equally likely next outcomes of each query, quantiles of its prediction."""
        prior, likelihood = 1.0 / self.spread**2, 1.0 / self.noise**2
        precision = prior + counts * likelihood
        center = (prior * self.mean + likelihood * sums) / precision
        width = jnp.sqrt(1.0 / precision + self.noise**2)
        quantiles = ndtri((np.arange(NUM_OUTCOMES) + 0.5) / NUM_OUTCOMES)
        nodes = jnp.asarray(quantiles, center.dtype)
        return center[:, None] + width[:, None] * nodes[None]


class OutcomeSums(eqx.Module):
    """How often each query was made, and the sum of its first outcome entries."""

    counts: Float[Array, "queries"]
    sums: Float[Array, "queries"]


class ImaginedEntropyScore(AbstractScore):
    """The least expected entropy of the belief after each query.

    I-IDS of the paper (appendix "I-IDS"): the mean over 30 outcomes, quantiles of a
    Gaussian prediction of the query's next outcome given those so far. The explorer
    behind the belief is told each imagined outcome in turn. One step ahead (Russo and
    Van Roy 2018).
    """

    outcomes: GaussianOutcomes
    outcome_size: int = eqx.field(static=True, default=1)

    def remember(self, spec: TaskSpec, dtype) -> OutcomeSums:
        nothing = jnp.zeros(spec.num_queries, dtype)
        return OutcomeSums(nothing, nothing)

    def update(
        self, memory: OutcomeSums, query: Index, outcome: Float[Array, "outcome"]
    ) -> OutcomeSums:
        made = (jnp.arange(memory.counts.shape[0]) == query).astype(memory.sums.dtype)
        return OutcomeSums(memory.counts + made, memory.sums + made * outcome[0])

    def __call__(self, now: Situation, *, key: PRNGKey) -> Float[Array, "queries"]:
        """Minus the mean entropy after each query.

        One imagined outcome at a time, so that memory does not grow with their number.
        """
        outcomes = self.outcomes.predict(now.memory.counts, now.memory.sums)
        num_queries = outcomes.shape[0]
        queries = jnp.repeat(jnp.arange(num_queries, dtype=jnp.int32), NUM_OUTCOMES)

        def entropy_after(imagined) -> Scalar:
            query, value = imagined
            outcome = jnp.zeros(self.outcome_size, value.dtype).at[0].set(value)
            told = now.belief.update(now.statistics, query, outcome)
            return entropy(jnp.exp(now.belief.log_posterior(told)))

        entropies = lax.map(entropy_after, (queries, outcomes.reshape(-1)))
        return -jnp.mean(entropies.reshape(num_queries, NUM_OUTCOMES), axis=1)


def make_posterior_information(
    inner: AbstractExplorer, family: AbstractTaskFamily
) -> BeliefExplorer:
    """I-IDS: asks what lowers the entropy of the belief of the explorer inside most.

    The Gaussian model of outcomes is fitted to the family by simulation: mean and
    spread of each query over tasks, and its noise within a task.

    Raises:
        UnsupportedError: outcomes are more than one number, or it may not stop.
    """
    if not has_one_number(family):
        raise UnsupportedError(
            f"Explorer 'i-ids' predicts outcomes of one number, and those of "
            f"{family_name(family)!r} are more; it can serve "
            f"{', '.join(families_that(has_one_number))}."
        )
    score = ImaginedEntropyScore(
        fit_gaussian_outcomes(family), family.spec.outcome_size
    )
    return BeliefExplorer("i-ids", BorrowedBelief(inner, family.spec), score)


def has_one_number(family: AbstractTaskFamily) -> bool:
    """Whether an outcome is one number, beside what is only shown at reset."""
    spec = family.spec
    return spec.can_stop and spec.outcome_size <= 2 and spec.num_queries > 1


def fit_gaussian_outcomes(family: AbstractTaskFamily) -> GaussianOutcomes:
    """Mean, spread over tasks and noise of the first outcome of each query."""
    answers = first_answers(family, _NUM_TASKS, repeats=2)
    pairs = np.asarray(answers.outcomes[..., 0], float)
    mean = pairs.mean((0, 1))
    noise = np.sqrt(np.mean((pairs[:, 0] - pairs[:, 1]) ** 2, axis=0) / 2)
    centered = pairs - mean
    spread = np.sqrt(np.maximum(np.mean(centered[:, 0] * centered[:, 1], axis=0), 0.0))
    least = 1e-3 * max(float(pairs.std()), 1e-6)
    return GaussianOutcomes(
        jnp.asarray(mean, jnp.float32),
        jnp.asarray(np.maximum(spread, least), jnp.float32),
        jnp.asarray(np.maximum(noise, least), jnp.float32),
    )
