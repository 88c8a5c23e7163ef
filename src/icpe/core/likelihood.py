"""The exact belief of a family that gives the likelihood of its outcomes."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from icpe.core.arrays import Index
from icpe.core.belief import AbstractBelief, AbstractPredictiveBelief, Outlook
from icpe.core.errors import UnsupportedError
from icpe.core.expected_gains import OutcomeTable, Weights
from icpe.core.family import AbstractTaskFamily
from icpe.core.outcome_cells import table_of_cells
from icpe.core.simulate import FirstAnswers, first_answers

_NUM_TASKS = 256
MOST_OUTCOMES = 64
"""Distinct outcomes up to which they are enumerated."""
_GRID_SIZES = (64, 256)
_WIDENINGS = (1.5, 2.5, 5.0)
_SUM_TOLERANCE = 0.01
_LARGEST_TABLE = 2**24
_NUM_CELLS = (128, 64, 32)


def belief_for(family: AbstractTaskFamily) -> AbstractBelief:
    """The exact belief of a family: its own, or by its `log_likelihood`.

    Raises:
        UnsupportedError: the family knows neither, or is too large for the latter.
    """
    belief = family.exact_belief()
    if belief is not None:
        return belief
    if has_likelihood(family):
        return likelihood_belief(family)
    raise UnsupportedError(
        f"Family {type(family).__name__!r} has no exact belief, so there is no rule "
        "for it; train an explorer, or give a family of your own "
        "log_likelihood(hypothesis, query, outcome) or exact_belief()."
    )


def has_belief(family: AbstractTaskFamily) -> bool:
    """Whether `belief_for` finds a belief.

    Raises:
        UnsupportedError: the family has one, but not with these parameters.
    """
    return has_likelihood(family) or family.exact_belief() is not None


def has_likelihood(family: AbstractTaskFamily) -> bool:
    """Whether the family's class gives a likelihood."""
    return type(family).log_likelihood is not AbstractTaskFamily.log_likelihood


class LikelihoodBelief(AbstractPredictiveBelief):
    """Bayes' rule for outcomes that depend on hypothesis and query alone."""

    family: AbstractTaskFamily
    outcomes: OutcomeTable

    def init(self, first_outcome: Float[Array, "outcome"]) -> Weights:
        return jax.nn.log_softmax(self.family.log_prior())

    def update(
        self, state: Weights, query: Index, outcome: Float[Array, "outcome"]
    ) -> Weights:
        """Bayes' rule; outcomes that contradict one another lead back to the prior."""
        new = state + _likelihoods(self.family, query, outcome)
        possible = jnp.any(jnp.isfinite(new))
        return jax.nn.log_softmax(jnp.where(possible, new, self.init(outcome)))

    def log_posterior(self, state: Weights) -> Weights:
        return state

    def information_gains(self, state: Weights) -> Float[Array, "queries"]:
        """Over all outcomes where they are few, else over cells of them."""
        return jnp.maximum(self.outcomes.gains(jnp.exp(state)), 0.0)

    def outlook(self, state: Weights) -> Outlook:
        after = self.outcomes.right_after(jnp.exp(state))
        return Outlook(state, self.information_gains(state), after)

    def coarser(self) -> "LikelihoodBelief | None":
        """The same posterior, with cheaper expectations; None where there are none."""
        outcomes = self.outcomes.coarser()
        return None if outcomes is None else LikelihoodBelief(self.family, outcomes)


def likelihood_belief(family: AbstractTaskFamily) -> LikelihoodBelief:
    """The belief of a family with a likelihood; simulates some tasks.

    Raises:
        UnsupportedError: it would take too much memory to say what queries will tell.
    """
    table = resolved_outcomes(family)
    return LikelihoodBelief(family, _in_cells(family) if table is None else table)


def resolved_outcomes(family: AbstractTaskFamily) -> OutcomeTable | None:
    """A table that tells all that outcomes do, or 0.99 of it on a fine grid.

    None where they are neither few nor one number that a grid resolves.
    """
    answers = first_answers(family, _NUM_TASKS)
    table = _enumerated(family, answers)
    if table is None and family.spec.outcome_size == 1:
        table = _on_a_grid(family, answers)
    return table


def bare_belief(family: AbstractTaskFamily) -> LikelihoodBelief:
    """The same without what queries are expected to tell, which takes no time."""
    spec = family.spec
    none = jnp.zeros((spec.num_hypotheses, spec.num_queries, 0))
    return LikelihoodBelief(family, OutcomeTable(none))


def outcome_table(family: AbstractTaskFamily) -> OutcomeTable | None:
    """The probabilities of all outcomes, None where they are many or not given."""
    if not has_likelihood(family):
        return None
    return _enumerated(family, first_answers(family, _NUM_TASKS))


def _likelihoods(
    family: AbstractTaskFamily, query: Index, outcome: Float[Array, "outcome"]
) -> Weights:
    """log P(outcome | h, query) of every hypothesis."""
    hypotheses = jnp.arange(family.spec.num_hypotheses, dtype=jnp.int32)
    each = jax.vmap(lambda h: family.log_likelihood(h, query, outcome))(hypotheses)
    assert each is not None
    return each


@eqx.filter_jit
def _tabulate(
    family: AbstractTaskFamily, outcomes: Float[Array, "queries outcomes entry"]
) -> Float[Array, "hypotheses queries outcomes"]:
    queries = jnp.arange(family.spec.num_queries, dtype=jnp.int32)
    one_query = jax.vmap(_likelihoods, in_axes=(None, None, 0), out_axes=1)
    every = jax.vmap(one_query, in_axes=(None, 0, 0), out_axes=1)
    return jnp.exp(every(family, queries, outcomes))


def _enumerated(
    family: AbstractTaskFamily, answers: FirstAnswers
) -> OutcomeTable | None:
    """The table of all outcomes, None unless they are few and have probabilities."""
    spec = family.spec
    seen = np.asarray(answers.outcomes).reshape(-1, spec.outcome_size)
    named = np.array([value for _, value in spec.outcome_labels], np.float32)
    named = named.reshape(-1, seen.shape[1])
    distinct = np.unique(np.concatenate([seen, named]), axis=0)
    size = spec.num_hypotheses * spec.num_queries * len(distinct)
    if len(distinct) > MOST_OUTCOMES or size > _LARGEST_TABLE:
        return None
    table = given_probabilities(family, distinct)
    return None if table is None else OutcomeTable(table)


def given_probabilities(
    family: AbstractTaskFamily, outcomes: Float[np.ndarray, "outcomes entry"]
) -> Float[Array, "hypotheses queries outcomes"] | None:
    """The family's own probability of each outcome of every query.

    None where it does not give a likelihood, or where these are not all outcomes.
    """
    if not has_likelihood(family):
        return None
    shape = (family.spec.num_queries, *outcomes.shape)
    table = _tabulate(family, jnp.broadcast_to(jnp.asarray(outcomes), shape))
    return table if _sums_to_one(table) else None


def _on_a_grid(
    family: AbstractTaskFamily, answers: FirstAnswers
) -> OutcomeTable | None:
    """The table of one number in cells, None unless they resolve the density."""
    spec = family.spec
    seen = np.asarray(answers.outcomes).reshape(-1, spec.num_queries)
    middle = (seen.max(0) + seen.min(0)) / 2
    half = (seen.max(0) - seen.min(0)) / 2 + 1e-6
    # Few tasks do not show the whole range of every hypothesis, so it is widened.
    for widening, number in itertools.product(_WIDENINGS, _GRID_SIZES):
        if spec.num_hypotheses * spec.num_queries * number > _LARGEST_TABLE:
            continue
        width = 2 * widening * half / number
        steps = np.arange(number) + 0.5 - number / 2
        cells = middle[:, None] + width[:, None] * steps
        density = _tabulate(family, jnp.asarray(cells[..., None], jnp.float32))
        table = density * jnp.asarray(width, density.dtype)[None, :, None]
        if _sums_to_one(table):
            table = table / jnp.sum(table, axis=2, keepdims=True)
            return OutcomeTable(table, has_cells=True)
    return None


def _sums_to_one(table: Float[Array, "hypotheses queries outcomes"]) -> bool:
    sums = jnp.sum(table, axis=2)
    return bool(jnp.all(jnp.abs(sums - 1.0) <= _SUM_TOLERANCE))


def _in_cells(family: AbstractTaskFamily) -> OutcomeTable:
    """Cells of outcomes of any kind, fewer where hypotheses and queries are many.

    Raises:
        UnsupportedError: there are too many pairs.
    """
    spec = family.spec
    for number in _NUM_CELLS:
        if spec.num_hypotheses * spec.num_queries * number <= _LARGEST_TABLE:
            return table_of_cells(family, number)
    raise UnsupportedError(
        f"Family {type(family).__name__!r} has {spec.num_hypotheses} hypotheses and "
        f"{spec.num_queries} queries, too many to tabulate what each query will tell "
        "where its outcomes are neither few nor one number; train an explorer, or give "
        "the family exact_belief()."
    )
