"""What is predicted of each query, and what outcomes therefore say.

A family is approximated by finitely many classes of tasks. Within a class outcomes are
independent given the query, so that evidence adds up; several classes may share a
hypothesis, where it does not fix the law by itself. The tables are counted in simulated
episodes (`icpe.learn.survey`) and never trained.

Two things follow from them. The posterior of the hypotheses is a first guess that the
inference net corrects; the expected information of each query is a first guess of the
query net. Where the classes are the hypotheses and the tables exact, the first guess is
the greedy rule with the exact posterior.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import entr, logsumexp
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index
from icpe.core.spec import TaskSpec
from icpe.nets.evidence import (
    AbstractPredictions,
    PredictionShape,
    Told,
    share_removed,
)
from icpe.nets.outcome_tables import (
    AbstractOutcomes,
    empty_table,
    kind_and_cells,
    mutual_information,
    precision_for,
)

LogWeights = Float[Array, "*batch classes"]

_LARGEST_EXACT = 2**16
"""Entries of hypotheses x queries x outcomes up to which all are looked at for every
history; beyond, information about the class stands in for that about the hypothesis."""
_BLOCK = 32
"""Hypotheses that are compared at once."""


class Predictions(AbstractPredictions):
    """Classes of tasks, equally many for each hypothesis, and their law of outcomes.

    Classes are numbered hypothesis by hypothesis; one that is not needed has no weight.
    """

    log_prior: Float[Array, "classes"]
    outcomes: AbstractOutcomes
    first: AbstractOutcomes | None
    caution: Float[Array, ""]
    correction: Float[Array, ""]
    num_hypotheses: int = eqx.field(static=True)
    costs: tuple[float, ...] = eqx.field(static=True)
    ask_once: bool = eqx.field(static=True)
    class_share: float = eqx.field(static=True, default=0.0)

    @staticmethod
    def empty(spec: TaskSpec, shape: PredictionShape) -> "Predictions":
        """Tables of these sizes that say nothing."""
        num_classes = spec.num_hypotheses * shape.num_each
        first = None
        if shape.first_kind:
            sizes = (1, spec.outcome_size, shape.first_cells, num_classes)
            first = empty_table(shape.first_kind, *sizes)
        sizes = (spec.num_queries, spec.outcome_size, shape.num_cells, num_classes)
        outcomes = empty_table(shape.kind, *sizes)
        tables = Predictions.of(spec, jnp.zeros(num_classes), outcomes, first)
        return tables.with_class_share(shape.class_share)

    @staticmethod
    def of(
        spec: TaskSpec,
        log_prior: Float[Array, "classes"],
        outcomes: AbstractOutcomes,
        first: AbstractOutcomes | None = None,
    ) -> "Predictions":
        """Tables that nothing has been settled about yet."""
        return Predictions(
            log_prior=log_prior,
            outcomes=outcomes,
            first=first,
            caution=jnp.zeros(()),
            correction=jnp.ones(()),
            num_hypotheses=spec.num_hypotheses,
            costs=spec.costs,
            ask_once=spec.ask_once,
        )

    def shape(self, trust: float) -> PredictionShape:
        """The sizes of the tables."""
        first_kind, first_cells = "", 0
        if self.first is not None:
            first_kind, first_cells = kind_and_cells(self.first)
        kind, cells = kind_and_cells(self.outcomes)
        return PredictionShape(
            kind,
            self.num_each,
            cells,
            first_kind,
            first_cells,
            trust,
            self.class_share,
        )

    def with_class_share(self, share: float) -> "Predictions":
        """The same, preferring queries by so much of what they tell of the class."""
        return dataclasses.replace(self, class_share=share)

    def start(self, first_outcome: Float[Array, "outcome"]) -> LogWeights:
        """Log-weights of the classes after what was revealed at reset."""
        if self.first is None:
            return self.log_prior
        nothing = jnp.zeros((), jnp.int32)
        return self.log_prior + self.first.log_likelihood(nothing, first_outcome)

    def update(
        self, state: LogWeights, query: Index, outcome: Float[Array, "outcome"]
    ) -> LogWeights:
        """Log-weights after one more outcome."""
        return state + self.outcomes.log_likelihood(query, outcome)

    def along(
        self,
        queries: Int[Array, "steps"],
        outcomes: Float[Array, "positions outcome"],
    ) -> Float[Array, "positions classes"]:
        """Log-weights at every position of a history; padding says nothing."""
        first = self.start(outcomes[0])
        rows = jax.vmap(self.outcomes.log_likelihood)(
            jnp.maximum(queries, 0), outcomes[1:]
        )
        rows = jnp.where((queries >= 0)[:, None], rows, 0.0)
        return jnp.cumsum(jnp.concatenate([first[None], rows]), axis=0)

    @property
    def information_is_exact(self) -> bool:
        cells = self.outcomes.cells
        if cells is None:
            return False
        return self.num_each == 1 or self._is_small(cells)

    def log_posterior(self, state: LogWeights) -> Float[Array, "*batch h"]:
        log_weights = jax.nn.log_softmax(state, axis=-1)
        if self.num_each == 1:
            return log_weights
        return logsumexp(self._by_hypothesis(log_weights), axis=-1)

    @property
    def num_each(self) -> int:
        """Classes of each hypothesis."""
        return self.log_prior.shape[0] // self.num_hypotheses

    def told(self, state: LogWeights, counts: Float[Array, "*batch queries"]) -> Told:
        # Without barriers a GPU computes the weights anew for every query.
        weights = lax.optimization_barrier(jax.nn.softmax(state, axis=-1))
        information = lax.optimization_barrier(self.information(weights))
        removed = lax.optimization_barrier(self.error_removed(weights))
        preference = self._preference(weights, information)
        view = self.view(information, removed, counts, preference)
        return Told(self.log_posterior(state), view)

    def information(
        self, weights: Float[Array, "*batch classes"]
    ) -> Float[Array, "*batch queries"]:
        """Expected information about the hypothesis, in nats (Lindley 1956).

        About the class, which is no less, where looking at all hypotheses takes long.
        """
        cells = self.outcomes.cells
        if cells is None:
            return self.outcomes.separation(weights)
        if self.num_each == 1 or not self._is_small(cells):
            return mutual_information(weights, cells)
        joint = self._joint(weights, cells)
        hypotheses = jnp.sum(self._by_hypothesis(weights), axis=-1)
        left = jnp.sum(entr(joint), axis=(-1, -2)) - jnp.sum(
            entr(hypotheses), axis=-1, keepdims=True
        )
        mixed = jnp.sum(joint, axis=-1)
        return jnp.maximum(jnp.sum(entr(mixed), axis=-1) - left, 0.0)

    def preference(
        self, weights: Float[Array, "*batch classes"]
    ) -> Float[Array, "*batch queries"]:
        """What queries are compared by: information, in part about the class.

        The class is what else of a task is unknown, such as the ability within a band.
        Whoever knows it better asks better questions later on.
        """
        return self._preference(weights, self.information(weights))

    @property
    def can_share(self) -> bool:
        """Whether information about the class differs from that preferred now."""
        cells = self.outcomes.cells
        return cells is not None and self.num_each > 1 and self._is_small(cells)

    def _preference(self, weights, information) -> Float[Array, "*batch queries"]:
        cells = self.outcomes.cells
        if not self.class_share or cells is None:
            return information
        about_class = mutual_information(weights, cells)
        return information + self.class_share * (about_class - information)

    def error_removed(
        self, weights: Float[Array, "*batch classes"]
    ) -> Float[Array, "..."]:
        """Share of the present error that one answer to each query removes.

        That is (sum over outcomes of max_h P(h, outcome) - max_h P(h)) / (1 - max_h
        P(h)); 0 where looking at all hypotheses takes long.
        """
        cells = self.outcomes.cells
        if cells is None or not self._is_small(cells):
            return jnp.zeros(())
        right = jnp.max(jnp.sum(self._by_hypothesis(weights), axis=-1), axis=-1)
        after = jnp.sum(self._most_probable(weights, cells), axis=-1)
        return share_removed(right, after)

    def _is_small(self, cells: Float[Array, "queries cells classes"]) -> bool:
        """Whether all hypotheses, queries and cells can be looked at together."""
        num_queries, num_cells, _ = cells.shape
        return self.num_hypotheses * num_queries * num_cells <= _LARGEST_EXACT

    def _most_probable(self, weights, cells) -> Float[Array, "*batch queries cells"]:
        """Probability of the best hypothesis together with each cell of each query.

        A product with one class per hypothesis is never formed: block by block, it is
        an elementwise maximum, which a GPU compiles in no time. As a reduction over
        so many axes it takes minutes.
        """
        if self.num_each > 1:
            return jnp.max(self._joint(weights, cells), axis=-1)
        width = min(_BLOCK, cells.shape[-1])
        blocks = -(-cells.shape[-1] // width)
        short = blocks * width - cells.shape[-1]
        weights = jnp.pad(weights, [(0, 0)] * (weights.ndim - 1) + [(0, short)])
        cells = lax.optimization_barrier(jnp.pad(cells, [(0, 0), (0, 0), (0, short)]))

        def larger(block, most):
            one = lax.dynamic_slice_in_dim(weights, block * width, width, axis=-1)
            two = lax.dynamic_slice_in_dim(cells, block * width, width, axis=-1)
            for index in range(width):
                chance = one[..., index, None, None] * _like(weights, two[..., index])
                most = jnp.maximum(most, chance)
            return most

        nothing = jnp.zeros((*weights.shape[:-1], *cells.shape[:-1]), weights.dtype)
        return lax.fori_loop(0, blocks, larger, nothing)

    def _joint(self, weights, cells) -> Float[Array, "*batch queries cells h"]:
        """Probability of each hypothesis together with each cell of each query."""
        if self.num_each == 1:
            return weights[..., None, None, :] * _like(weights, cells)
        grouped = self._by_hypothesis(cells)
        return jnp.einsum(
            "...hc,qohc->...qoh",
            self._by_hypothesis(weights),
            grouped,
            precision=precision_for(cells),
        )

    def _by_hypothesis(
        self, values: Float[Array, "*batch classes"]
    ) -> Float[Array, "*batch h each"]:
        return values.reshape(*values.shape[:-1], self.num_hypotheses, self.num_each)


def _like(weights, cells):
    """The cells with as many leading axes as a batch of weights needs."""
    return cells.reshape((1,) * (weights.ndim - 1) + cells.shape)
