"""I-IDS: ask what lowers the entropy of another explorer's belief most."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float
from scipy.special import ndtri

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.errors import UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, TaskSpec
from icpe.core.request import OperatingPoint
from icpe.explorers.rules.posterior_greedy import belief_of, families_that, init_belief
from icpe.explorers.rules.stopping import is_confident, stop_if, stop_threshold
from icpe.families.registry import family_name
from icpe.theory.divergences import entropy

NUM_OUTCOMES = 30
_NUM_TASKS = 2048


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


class InformationState(eqx.Module):
    """The state of the explorer whose belief is used, and the outcomes so far."""

    inner: PyTree
    counts: Float[Array, "queries"]
    sums: Float[Array, "queries"]
    threshold: Scalar | None


class PosteriorInformationExplorer(AbstractExplorer):
    """Information-directed sampling for identification on top of any belief.

    I-IDS of the paper (appendix "I-IDS"): the expected fall of the belief's entropy by
    each query is the mean over 30 outcomes, quantiles of a Gaussian prediction of the
    query's next outcome given those so far; the query with the largest is made, and it
    stops when some hypothesis has probability 1 - delta. The belief is that of the
    explorer inside, such as a trained one, which is told each imagined outcome in turn
    (30 steps of its networks per query and decision). No guarantee beyond that of the
    belief; it looks one step ahead (Russo and Van Roy 2018).
    """

    inner: AbstractExplorer
    outcomes: GaussianOutcomes
    outcome_size: int = eqx.field(static=True, default=1)

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> InformationState:
        """Serves an error probability or a budget."""
        threshold = stop_threshold("i-ids", spec, operating_point)
        nothing = jnp.zeros(spec.num_queries, first_outcome.dtype)
        inner = init_belief(self.inner, spec, operating_point, first_outcome)
        return InformationState(inner, nothing, nothing, threshold)

    def ask(
        self,
        state: InformationState,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        """The allowed query with the least expected entropy after it."""
        left = self.expected_entropies(state)
        stop = ~jnp.any(query_mask)
        if state.threshold is not None:
            stop = stop | is_confident(self.log_posterior(state), state.threshold)
        return stop_if(stop, jnp.argmin(jnp.where(query_mask, left, jnp.inf)))

    def tell(
        self, state: InformationState, query: Index, outcome: Float[Array, "outcome"]
    ) -> InformationState:
        """Updates the belief and the prediction."""
        made = (jnp.arange(state.counts.shape[0]) == query).astype(state.sums.dtype)
        return InformationState(
            self.inner.tell(state.inner, query, outcome),
            state.counts + made,
            state.sums + made * outcome[0],
            state.threshold,
        )

    def recommend(self, state: InformationState) -> Index:
        """The most probable hypothesis."""
        return jnp.argmax(self.log_posterior(state))

    def log_posterior(self, state: InformationState) -> Float[Array, "hypotheses"]:
        """The belief of the explorer inside."""
        return belief_of(self.inner, state.inner)

    def expected_entropies(self, state: InformationState) -> Float[Array, "queries"]:
        """Mean entropy of the belief after each query.

        One imagined outcome at a time, so that memory does not grow with their number.
        """
        outcomes = self.outcomes.predict(state.counts, state.sums)
        num_queries = outcomes.shape[0]
        queries = jnp.repeat(jnp.arange(num_queries, dtype=jnp.int32), NUM_OUTCOMES)

        def entropy_after(imagined) -> Scalar:
            query, value = imagined
            outcome = jnp.zeros(self.outcome_size, value.dtype).at[0].set(value)
            told = self.inner.tell(state.inner, query, outcome)
            return entropy(jnp.exp(belief_of(self.inner, told)))

        entropies = lax.map(entropy_after, (queries, outcomes.reshape(-1)))
        return jnp.mean(entropies.reshape(num_queries, NUM_OUTCOMES), axis=1)


def make_posterior_information(
    inner: AbstractExplorer, family: AbstractTaskFamily
) -> PosteriorInformationExplorer:
    """I-IDS by the belief of an explorer of this family.

    The Gaussian model of outcomes is fitted to the family by simulation: mean and
    spread of each query over tasks, and its noise within a task.

    Raises:
        UnsupportedError: outcomes are more than one number, or it may not stop.
    """
    spec = family.spec
    if not has_one_number(spec):
        able = families_that(has_one_number)
        raise UnsupportedError(
            f"Explorer 'i-ids' predicts outcomes of one number, and those of "
            f"{family_name(family)!r} are more; it can serve {', '.join(able)}."
        )
    outcomes = fit_gaussian_outcomes(family)
    return PosteriorInformationExplorer(inner, outcomes, spec.outcome_size)


def has_one_number(spec: TaskSpec) -> bool:
    """Whether an outcome is one number, beside what is only shown at reset."""
    return spec.can_stop and spec.outcome_size <= 2 and spec.num_queries > 1


def fit_gaussian_outcomes(family: AbstractTaskFamily) -> GaussianOutcomes:
    """Mean, spread over tasks and noise of the first outcome of each query."""

    @jax.jit
    def draw(key: PRNGKey) -> Float[Array, "2 queries"]:
        task_key, reset_key, step_key = jr.split(key, 3)
        task = family.sample_task(key=task_key)
        state = family.reset(task, key=reset_key).state
        queries = jnp.arange(family.spec.num_queries)
        keys = jr.split(step_key, (2, family.spec.num_queries))
        step = jax.vmap(lambda q, k: family.step(state, q, task, key=k).outcome[0])
        return jax.vmap(step, in_axes=(None, 0))(queries, keys)

    keys = jr.split(jr.key(0), _NUM_TASKS)
    pairs = np.asarray(jax.vmap(draw)(keys), float)
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
