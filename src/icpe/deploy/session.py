"""A session: one explorer on one real problem, by ask and tell, in memory.

session = Session(Artifact.load("arms.safetensors"), error_prob=0.05)
while (query := session.ask()) is not None:
    session.tell(query, measure(query))
print(session.recommendation, session.stop_reason.sentence)
"""

import dataclasses
import threading
from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Bool, Float

from icpe.artifact import Artifact
from icpe.artifact.certificate import Certificate
from icpe.artifact.guard import Watch
from icpe.artifact.serving import check_contender, serve
from icpe.core.checks import check_one_of, check_seed
from icpe.core.episode import StopReason
from icpe.core.errors import (
    InvalidOutcomeError,
    InvalidParameterError,
    SessionError,
    UnsupportedError,
)
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, same_family
from icpe.core.history import History
from icpe.core.request import LEAST_CONFIDENCE, OperatingPoint, Request
from icpe.core.simulate import reveals_something
from icpe.core.units import Units, with_names
from icpe.deploy.reading import (
    read_first_outcome,
    read_mask,
    read_outcome,
    read_query,
    read_units,
)
from icpe.play.live import LiveEpisode, Turn, reason_of


@dataclasses.dataclass(frozen=True)
class Answer:
    """One query that was made, and its outcome.

    Attributes:
        query: number of the query.
        outcome: what was measured.
        asked: whether it is the query that the session had asked for.
        told: the number as the user told it, where units are the user's.
    """

    query: int
    outcome: Float[np.ndarray, "outcome"]
    asked: bool
    told: float | None = None


class Session:
    """One explorer on one problem, from the first query to the answer.

    The rules are those of a simulated episode: the cap on queries, the horizon, the end
    by the task itself, each query once where the family says so, and the stop by the
    explorer. The next query is computed when an outcome is told, so that `ask`,
    `stopped` and `recommendation` only look. Threads may share a session: what they
    tell is taken in one after the other, and whoever tells what another has told
    already is answered like anybody who was not asked.

    Args:
        explorer: a trained explorer's artifact, or any explorer.
        family: the family it serves; that of the artifact if None.
        error_prob: stop when the error probability is at most this.
        budget: make exactly this many queries.
        price: price of one unit of cost, in units of probability.
        max_queries: cap on the queries, beside a price or an error probability.
        confidence: the least confidence of a certificate that may serve error_prob.
        first_outcome: what the task reveals before any query; needed where the family
            reveals something.
        query_mask: which queries are allowed at first, where the family cannot tell.
        seed: seed of the explorer's own randomness, where it has any; a whole number
            from 0 to 2**32 - 1.
        on_alarm: what to do when answers do not look like the family's: "go on"
            without the certificate, or "stop".
        units: what the user's numbers mean, where the family can be asked in any units;
            outcomes are then told as they were measured, one number each.
        names: the user's names for the queries, which `tell` then takes as well.

    Raises:
        OperatingPointError: not exactly one of error_prob, budget and price is given,
            a value is out of range, or the explorer cannot serve it.
        InvalidParameterError: explorer is none, such as the name of a file; the family
            is missing; the seed or the confidence is out of range.
        UnsupportedError: the explorer cannot play the family.
        InvalidOutcomeError: first_outcome or query_mask is missing or malformed.
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
        on_alarm: Literal["go on", "stop"] = "go on",
        units: Units | Any = None,
        names: Sequence[str] | Any = None,
    ):
        check_contender(explorer)
        check_seed("seed", seed)
        check_one_of("on_alarm", on_alarm, ("go on", "stop"))
        request = Request(error_prob, budget, price, max_queries, confidence)
        self._family = family = _family_of(explorer, family)
        self._player = player = serve(explorer, request, family)
        self._live = LiveEpisode(
            player.explorer, player.operating_point, jr.key(seed), family.spec
        )
        self._stops_on_alarm = on_alarm == "stop"
        self._turns = threading.Lock()
        guard = explorer.guard if isinstance(explorer, Artifact) else None
        watch = None if guard is None else guard.start(family.spec)
        self._words = with_names(family.spec, names)
        self._reading = read_units(units, names, first_outcome, family)
        if self._reading is not None:
            first_outcome = self._reading.first_outcome
        self._first_outcome = self._read_first_outcome(first_outcome)
        mask, lost = self._mask_after((), query_mask)
        begun = self._live.begin(self._first_outcome, mask)
        self._take(begun, (), watch, lost)

    def ask(self) -> int | None:
        """The query to make next, the same until it is told; None after the stop."""
        return None if self.stopped else self._query

    def tell(
        self,
        query: SupportsIndex | str,
        outcome: Any,
        terminated: bool = False,
        query_mask: Any = None,
    ) -> None:
        """Takes in the outcome of a query. After an error nothing has changed.

        A query that was not asked for is taken in as well: it counts like any other,
        the explorer goes on from what it learned, and the certificate is lost. So it is
        by a mask or an end that the family cannot produce, and by answers that do not
        look like the family's; `certificate_lost` says why.

        Args:
            query: number or name of the query that was made.
            outcome: what was measured: one number in the user's units, where these
                were given, else in the units of the family `outcome_size` numbers, or
                one number where that is 1. Where the family names its outcomes it must
                be one of them.
            terminated: whether the task itself has ended.
            query_mask: which queries are allowed next, one truth value each; needed
                only where the family cannot tell.

        Raises:
            SessionError: the session has stopped.
            InvalidOutcomeError: the query does not exist or is not allowed, or the
                outcome or the mask is missing, has the wrong shape, is not finite or
                cannot be.
        """
        with self._turns:
            self._tell(query, outcome, terminated, query_mask)

    def _tell(
        self,
        query: SupportsIndex | str,
        outcome: Any,
        terminated: bool,
        query_mask: Any,
    ) -> None:
        if self.stopped:
            raise SessionError(
                f"The session has stopped, because {self.stop_reason.sentence}; start "
                "a new session."
            )
        spec = self._family.spec
        if query in self._words.query_names:
            query = self._words.query_names.index(str(query))
        number = read_query(query, self._words, np.asarray(self._turn.allowed))
        told = None
        if self._reading is not None:
            told = self._reading.number(outcome)
            outcome = self._reading.outcome(told, self._first_told)
        read = read_outcome(outcome, spec)
        answer = Answer(number, read, number == self._query, told)
        history = (*self._history, answer)
        mask, lost = self._mask_after(history, query_mask)
        watch = self._watch
        if watch is not None and self._posterior is not None:
            watch = watch.after(self._posterior, number, read)
        turn = self._live.advance(
            self._turn, number, read, mask, terminated=bool(terminated)
        )
        reasons = (self._lost, self._not_asked(answer), lost, self._ended(terminated))
        self._take(turn, history, watch, next(filter(None, reasons), None))

    @property
    def query_name(self) -> str | None:
        """The name of the query to make next; None after the stop."""
        return None if self.stopped else self._words.query_name(self._query)

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
    def recommendation_name(self) -> str:
        """The name of that hypothesis."""
        return self._words.hypothesis_name(self._recommendation)

    @property
    def posterior(self) -> Float[np.ndarray, "hypotheses"] | None:
        """Probability of each hypothesis now; None if the explorer has no belief."""
        return self._posterior

    @property
    def history(self) -> tuple[Answer, ...]:
        """What was told so far, first to last."""
        return self._history

    @property
    def certified(self) -> bool:
        """Whether a certificate covers the request, and nothing has voided it."""
        return self.certificate is not None

    @property
    def certificate(self) -> Certificate | None:
        """The certificate behind `certified`, which says the confidence, or None."""
        return None if self._lost or self.alarm else self._player.certificate

    @property
    def certificate_lost(self) -> str | None:
        """Why the certificate of the request no longer holds, in words, or None."""
        if self._player.certificate is None:
            return None
        return self._lost or self.alarm

    @property
    def alarm(self) -> str | None:
        """What does not look like the family, in words; None if all does.

        Of explorers without a guard nothing is known.
        """
        return None if self._watch is None else self._watch.alarm

    @property
    def operating_point(self) -> OperatingPoint:
        """The price or budget by which the request is served."""
        return self._player.operating_point

    def __getstate__(self) -> dict[str, Any]:
        return {name: it for name, it in vars(self).items() if name != "_turns"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _turns=threading.Lock())

    @property
    def _first_told(self) -> float | None:
        """The number that all others are compared with."""
        return self._history[0].told if self._history else None

    def _read_first_outcome(self, given: Any) -> Float[np.ndarray, "outcome"]:
        spec = self._family.spec
        if given is None and reveals_something(self._family):
            names = ", ".join(spec.outcome_names) or f"{spec.outcome_size} numbers"
            raise InvalidOutcomeError(
                "first_outcome is missing: this family reveals something before the "
                f"first query; give {names}."
            )
        return read_first_outcome(given, spec)

    def _mask_after(
        self, history: tuple[Answer, ...], given: Any
    ) -> tuple[Bool[np.ndarray, "queries"], str | None]:
        """What is allowed next, and why that voids a certificate, if it does.

        It is as the user says, else as the family knows.
        """
        spec = self._family.spec
        known = every = np.ones(spec.num_queries, bool)
        if spec.masks_queries:
            known = self._family.query_mask(
                jnp.asarray(self._first_outcome), self._as_history(history)
            )
        if given is None and known is None:
            raise InvalidOutcomeError(
                "query_mask is missing: some queries of this family are forbidden at "
                "times, and only you know which; give one truth value for each query."
            )
        if given is None:
            return np.asarray(known), None
        mask = read_mask(given, every)
        if known is None or np.array_equal(mask, self._reachable(known, history)):
            return mask, None
        if np.array_equal(mask, known):
            return mask, None
        return mask, "query_mask is not what the family allows after these answers"

    def _reachable(self, known, history: tuple[Answer, ...]) -> np.ndarray:
        """What the family allows, less what was made where each is made once."""
        known = np.array(known)
        if self._family.spec.ask_once:
            known[[answer.query for answer in history]] = False
        return known

    def _not_asked(self, answer: Answer) -> str | None:
        if answer.asked:
            return None
        name = self._words.query_name
        return (
            f"query {name(answer.query)} was answered where {name(self._query)} had "
            "been asked for"
        )

    def _ended(self, terminated: bool) -> str | None:
        if not terminated or self._family.spec.may_end is not False:
            return None
        return "the task was said to have ended, which tasks of this family never do"

    def _as_history(self, answers: tuple[Answer, ...]) -> History:
        outcomes = [self._first_outcome, *(answer.outcome for answer in answers)]
        return History(
            queries=jnp.asarray([answer.query for answer in answers], jnp.int32),
            outcomes=jnp.asarray(np.stack(outcomes)),
            length=jnp.asarray(len(answers), jnp.int32),
        )

    def _take(
        self,
        turn: Turn,
        history: tuple[Answer, ...],
        watch: Watch | None,
        lost: str | None,
    ) -> None:
        """Makes a turn the present one; all that can fail comes before the change."""
        query, recommendation, posterior = jax.device_get(
            (turn.query, turn.recommendation, turn.posterior)
        )
        reason = reason_of(turn)
        if reason is StopReason.RUNNING and self._stops_on_alarm:
            alarmed = watch is not None and watch.alarm is not None
            reason = StopReason.ALARM if alarmed else reason
        self._stop_reason, self._watch, self._lost = reason, watch, lost
        self._turn, self._history = turn, history
        self._query, self._recommendation = int(query), int(recommendation)
        self._posterior = posterior


def _family_of(
    explorer: Artifact | AbstractExplorer, family: AbstractTaskFamily | None
) -> AbstractTaskFamily:
    if isinstance(explorer, Artifact):
        if family is not None and not same_family(family, explorer.family):
            raise UnsupportedError(
                "family is not the one that the artifact was trained for; leave it out."
            )
        return explorer.family
    if family is not None:
        return family
    raise InvalidParameterError(
        "family is missing; only an artifact knows the family it serves."
    )
