"""A session: one explorer on one real problem, by ask and tell, in memory.

session = Session(Artifact.load("arms.safetensors"), error_prob=0.05)
while (query := session.ask()) is not None:
    session.tell(query, measure(query))
print(session.recommendation, session.stop_reason.sentence)
"""

import dataclasses
from typing import Any, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float

from icpe.artifact import Artifact
from icpe.artifact.certificate import LEAST_CONFIDENCE, Certificate
from icpe.core.arrays import Index, PyTree
from icpe.core.checks import check_seed
from icpe.core.episode import STOP, StopReason
from icpe.core.errors import SessionError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, TaskSpec
from icpe.core.request import OperatingPoint, Regime
from icpe.deploy.reading import (
    read_first_outcome,
    read_mask,
    read_outcome,
    read_query,
)
from icpe.deploy.serving import check_explorer, family_of, serve


@dataclasses.dataclass(frozen=True)
class Told:
    """One query that was made, and its outcome.

    Attributes:
        query: number of the query.
        outcome: what was measured.
        asked: whether it is the query that the session had asked for.
    """

    query: int
    outcome: Float[np.ndarray, "outcome"]
    asked: bool


class Session:
    """One explorer on one problem, from the first query to the answer.

    The session keeps the rules of `icpe.play.rollout`: the cap on queries, the horizon,
    the end by the task itself and the stop by the explorer. The next query is worked out
    when an outcome is told, so that `ask`, `stopped` and `recommendation` only look.

    Args:
        explorer: a trained explorer's artifact, or any explorer.
        family: the family it serves; that of the artifact if None.
        error_prob: stop when the error probability is at most this.
        budget: make exactly this many queries.
        price: price of one unit of cost, in units of probability.
        max_queries: cap on the queries, beside a price or an error probability.
        confidence: the least confidence of a certificate that may serve error_prob.
        first_outcome: what the task reveals before any query; zeros if None.
        query_mask: which queries are allowed at first; all if None.
        seed: seed of the explorer's own randomness, where it has any; a whole number
            from 0 to 2**32 - 1.

    Raises:
        OperatingPointError: not exactly one of error_prob, budget and price is given,
            a value is out of range, or the explorer cannot serve it.
        InvalidParameterError: explorer is none, such as the name of a file; the family
            is missing; the seed or the confidence is out of range.
        UnsupportedError: the family is not that of the artifact.
        InvalidOutcomeError: first_outcome or query_mask is malformed.
    """

    def __init__(
        self,
        explorer: Artifact | AbstractExplorer,
        family: AbstractTaskFamily | None = None,
        *,
        error_prob: float | None = None,
        budget: int | None = None,
        price: float | None = None,
        max_queries: int | None = None,
        confidence: float = LEAST_CONFIDENCE,
        first_outcome: Any = None,
        query_mask: Any = None,
        seed: int = 0,
    ):
        check_explorer(explorer)
        check_seed("seed", seed)
        family = family_of(explorer, family)
        self._spec = spec = family.spec
        self._explorer, self._service = serve(
            explorer,
            spec,
            error_prob=error_prob,
            budget=budget,
            price=price,
            max_queries=max_queries,
            confidence=confidence,
        )
        outcome = read_first_outcome(first_outcome, spec)
        mask = read_mask(query_mask, np.ones(spec.num_queries, bool))
        self._key = jr.key(seed)
        turn = _begin(
            self._explorer, spec, self.operating_point, outcome, mask, self._key
        )
        self._take(turn, (), mask, terminated=False)

    def ask(self) -> int | None:
        """The query to make next, the same until it is told; None after the stop."""
        return None if self.stopped else self._query

    def tell(
        self,
        query: SupportsIndex,
        outcome: Any,
        terminated: bool = False,
        query_mask: Any = None,
    ) -> None:
        """Takes in the outcome of a query. After an error nothing has changed.

        A query that was not asked for is taken in as well: it counts like any other,
        the explorer goes on from what it learned, and `certified` is lost.

        Args:
            query: number of the query that was made.
            outcome: what was measured, in the units of the family: `outcome_size`
                numbers, or one number where that is 1. Where the family names its
                outcomes it must be one of them.
            terminated: whether the task itself has ended.
            query_mask: which queries are allowed next, one truth value each; as
                before if None.

        Raises:
            SessionError: the session has stopped.
            InvalidOutcomeError: the query does not exist or is not allowed, or the
                outcome or the mask has the wrong shape, is not finite or cannot be.
        """
        if self.stopped:
            raise SessionError(
                f"The session has stopped, because {self.stop_reason.sentence}; start "
                "a new session."
            )
        number = read_query(query, self._spec, self._mask)
        read = read_outcome(outcome, self._spec)
        mask = read_mask(query_mask, self._mask)
        history = (*self._history, Told(number, read, asked=number == self._query))
        turn = _advance(
            self._explorer,
            self._state,
            np.int32(number),
            read,
            mask,
            self._key,
            np.int32(len(history)),
        )
        self._take(turn, history, mask, terminated=bool(terminated))

    @property
    def stopped(self) -> bool:
        """Whether no more queries are to be made."""
        return self._stop_reason is not StopReason.RUNNING

    @property
    def stop_reason(self) -> StopReason:
        """Why it stopped, `RUNNING` before; its `sentence` says it in words."""
        return self._stop_reason

    @property
    def recommendation(self) -> int:
        """The hypothesis it names now; the answer, once it has stopped."""
        return self._recommendation

    @property
    def posterior(self) -> Float[np.ndarray, "hypotheses"] | None:
        """Probability of each hypothesis now; None if the explorer has no belief."""
        return self._posterior

    @property
    def history(self) -> tuple[Told, ...]:
        """What was told so far, first to last."""
        return self._history

    @property
    def certified(self) -> bool:
        """Whether a certificate covers the request, and every query was asked for."""
        return self.certificate is not None

    @property
    def certificate(self) -> Certificate | None:
        """The certificate behind `certified`, which says the confidence, or None."""
        asked = all(told.asked for told in self._history)
        return self._service.certificate if asked else None

    @property
    def operating_point(self) -> OperatingPoint:
        """The price or budget by which the request is served."""
        return self._service.operating_point

    def _take(
        self,
        turn: "_Turn",
        history: tuple[Told, ...],
        mask: Bool[np.ndarray, "queries"],
        *,
        terminated: bool,
    ) -> None:
        """Makes a turn the present one; all that can fail comes before the change."""
        query, recommendation, posterior = jax.device_get(
            (turn.query, turn.recommendation, turn.posterior)
        )
        self._stop_reason = _stop_reason(
            self.operating_point,
            self._spec,
            made=len(history),
            terminated=terminated,
            can_ask=bool(mask.any()),
            wants_to_stop=bool(query == STOP),
        )
        self._state, self._history, self._mask = turn.state, history, mask
        self._query, self._recommendation = int(query), int(recommendation)
        self._posterior = posterior


def _stop_reason(
    point: OperatingPoint,
    spec: TaskSpec,
    *,
    made: int,
    terminated: bool,
    can_ask: bool,
    wants_to_stop: bool,
) -> StopReason:
    """The rules of an episode, in the order of `icpe.play.rollout`."""
    cap = int(point.max_queries)
    if terminated:
        return StopReason.TERMINATED
    if made >= cap:
        fixed = cap < spec.horizon or point.regime is Regime.BUDGET
        return StopReason.BUDGET if fixed else StopReason.HORIZON
    if not can_ask:
        return StopReason.NO_QUERY
    return StopReason.EXPLORER if wants_to_stop else StopReason.RUNNING


class _Turn(eqx.Module):
    """Where the explorer stands after an outcome."""

    state: PyTree
    query: Index
    recommendation: Index
    posterior: Float[Array, "hypotheses"] | None


@eqx.filter_jit
def _begin(explorer, spec, operating_point, first_outcome, mask, key) -> _Turn:
    state = explorer.init(spec, operating_point, first_outcome)
    return _look(explorer, state, mask, jr.fold_in(key, 0))


@eqx.filter_jit
def _advance(explorer, state, query, outcome, mask, key, step) -> _Turn:
    state = explorer.tell(state, query, outcome)
    return _look(explorer, state, mask, jr.fold_in(key, step))


def _look(explorer: AbstractExplorer, state: PyTree, mask, key) -> _Turn:
    log_posterior = explorer.log_posterior(state)
    return _Turn(
        state=state,
        query=explorer.ask(state, mask, key=key),
        recommendation=explorer.recommend(state),
        posterior=None if log_posterior is None else jnp.exp(log_posterior),
    )
