"""Explore, then commit: identify the best arm, then pull it for the rest of time."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Flag, Index, PRNGKey, PyTree
from icpe.core.episode import STOP
from icpe.core.errors import OperatingPointError, UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.memory import StepCount
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.core.stopping import stop_if
from icpe.explorers.registry import families_that
from icpe.families.registry import family_name


class CommitState(eqx.Module):
    """The state of the explorer inside, which stands still once it has committed."""

    inner: PyTree
    committed: Flag
    num_queries: Index


class ExploreThenCommitExplorer(AbstractExplorer):
    """Explores with another explorer until that stops, then pulls its answer.

    In-context explore-then-commit of the paper (appendix of that name) where the
    explorer inside is a trained one. If that errs with probability delta and makes
    n queries on average, the regret is at most n plus delta times the horizon, in
    units of the largest gap.

    Attributes:
        inner: who explores.
        inner_spec: the spec it was made for, whose horizon may be shorter.
        inner_point: what is asked of it, an error probability or a price.
    """

    inner: AbstractExplorer
    inner_spec: TaskSpec = eqx.field(static=True)
    inner_point: OperatingPoint

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> CommitState:
        """Serves a budget, the horizon of the regret."""
        if operating_point.regime is not Regime.BUDGET:
            raise OperatingPointError(
                "Explorer 'explore-then-commit' pulls the arm it chose until the "
                "budget is used up and never stops; ask for budget."
            )
        return CommitState(
            self.inner.init(self.inner_spec, self.inner_point, first_outcome),
            jnp.asarray(False),
            jnp.zeros((), jnp.int32),
        )

    def ask(
        self, state: CommitState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The explorer's query until it stops, then its answer."""
        query = self.inner.ask(state.inner, query_mask, key=key)
        over = state.num_queries >= self.inner_point.max_queries
        explores = ~state.committed & ~over & (query != STOP)
        is_answer = jnp.arange(query_mask.shape[0]) == self.recommend(state)
        answer = jnp.argmax(jnp.where(query_mask, is_answer.astype(jnp.int32), -1))
        return stop_if(
            ~jnp.any(query_mask), jnp.where(explores, query, answer.astype(query.dtype))
        )

    def tell(
        self, state: CommitState, query: Index, outcome: Float[Array, "outcome"]
    ) -> CommitState:
        """Tells the explorer while it explores.

        Whether it still did is seen by asking it again, with every query allowed and a
        fixed key, so an explorer whose wish to stop is random does not fit.
        """
        allowed = jnp.ones(self.inner_spec.num_queries, bool)
        asked = self.inner.ask(state.inner, allowed, key=jax.random.key(0))
        over = state.num_queries >= self.inner_point.max_queries
        committed = state.committed | over | (asked == STOP)
        told = self.inner.tell(state.inner, query, outcome)
        return CommitState(
            _keep(committed, state.inner, told), committed, state.num_queries + 1
        )

    def recommend(self, state: CommitState) -> Index:
        return self.inner.recommend(state.inner)

    def log_posterior(self, state: CommitState) -> Float[Array, "hypotheses"] | None:
        """The belief of the explorer inside, if it has one."""
        return self.inner.log_posterior(state.inner)


def _keep(keep: Flag, old: PyTree, new: PyTree) -> PyTree:
    """The old state where `keep` holds; step counts are shared and always go on."""

    def choose(old, new):
        if isinstance(new, StepCount):
            return new
        return jnp.where(keep, old, new)

    return jax.tree.map(
        choose, old, new, is_leaf=lambda node: isinstance(node, StepCount)
    )


def make_explore_then_commit(
    inner: AbstractExplorer, family: AbstractTaskFamily, inner_point: OperatingPoint
) -> ExploreThenCommitExplorer:
    """Explore-then-commit with an explorer made for this family.

    Raises:
        UnsupportedError: the answer is not something that can be pulled.
    """
    if not family.spec.asks_about_hypotheses:
        able = families_that(lambda family: family.spec.asks_about_hypotheses)
        raise UnsupportedError(
            f"Explorer 'explore-then-commit' pulls its answer, but the queries of "
            f"{family_name(family)!r} are not its hypotheses; it can serve "
            f"{', '.join(able)}."
        )
    return ExploreThenCommitExplorer(inner, family.spec, inner_point)
