"""Exported explorers, run by numpy and onnxruntime alone.

    from icpe.portable import Session

    session = Session("arms.onnx", error_prob=0.1)
    while (query := session.ask()) is not None:
        session.tell(query, measure(query))
    print(session.recommendation, session.stop_reason.sentence)

This file needs nothing else of icpe: it may be copied to where the model is used. The
model comes from `icpe export FILE --to onnx OUT`. Sessions follow the same rules and
say the same sentences as `icpe.Session` does with the file that was exported.
"""

import base64
import dataclasses
import difflib
import enum
import hashlib
import json
import math
import numbers
import operator
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = 1
"""The version of what a model says about itself."""
SEAL = "icpe-seal-"
"""In front of the hash of a model, taken with zeros in the place of the hash."""
PROMISES = ("average", "belief", "every-hypothesis")
"""What an error probability may be promised about."""
LEAST_CONFIDENCE = 0.95
"""Requests are served by certificates of this confidence or more, if none is named."""


# Errors. Those of the same names in `icpe.core.errors` are these.


class IcpeError(Exception):
    """Root of all errors raised on purpose by icpe."""


class InvalidParameterError(IcpeError, ValueError):
    """A parameter has an impossible value."""


class MissingExtraError(IcpeError, ImportError):
    """An optional dependency is needed; the message names the extra to install."""


class ArtifactError(IcpeError, ValueError):
    """A file is not an artifact this version can read, or does not fit its use."""


class OperatingPointError(IcpeError, ValueError):
    """A price, budget or error probability that the explorer cannot serve."""


class SessionError(IcpeError, RuntimeError):
    """A call that the state of the session does not allow."""


class InvalidOutcomeError(SessionError, ValueError):
    """An outcome or query told to a session is malformed."""


# The rules of an episode.


class StopReason(enum.IntEnum):
    """Why an episode ended. Inside compiled code it is an integer."""

    RUNNING = 0
    EXPLORER = 1
    BUDGET = 2
    TERMINATED = 3
    HORIZON = 4
    NO_QUERY = 5
    ALARM = 6

    @property
    def sentence(self) -> str:
        """The reason in words, for people."""
        return _SENTENCES[self]


_SENTENCES = {
    StopReason.RUNNING: "the episode is still running",
    StopReason.EXPLORER: "the explorer decided to stop",
    StopReason.BUDGET: "the budget of queries was used up",
    StopReason.TERMINATED: "the task itself ended the episode",
    StopReason.HORIZON: "the horizon was reached, so the answer was forced",
    StopReason.NO_QUERY: "no query was left to make",
    StopReason.ALARM: "answers did not look like those of the family",
}


@dataclasses.dataclass(frozen=True)
class Spec:
    """What is to be known of a family: numbers, names and rules of its episodes."""

    num_queries: int
    num_hypotheses: int
    outcome_size: int
    horizon: int
    masks_queries: bool
    ask_once: bool
    may_end: bool | None
    query_names: tuple[str, ...]
    hypothesis_names: tuple[str, ...]
    outcome_names: tuple[str, ...]
    outcome_labels: tuple[tuple[str, tuple[float, ...]], ...]
    question: str
    outcome_shape: tuple[int, ...]
    query_grid: tuple[int, ...]
    query_outcomes: tuple[tuple[str, ...], ...] = ()

    def labels(self, query: int | None) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """`(word, outcome)` pairs of the outcomes of a query; empty if unnamed."""
        if not self.query_outcomes or query is None:
            return self.outcome_labels
        words = self.query_outcomes[query]
        return tuple((word, (float(code),)) for code, word in enumerate(words))

    def query_name(self, query: int) -> str:
        """The name of a query for people."""
        return self.query_names[query] if self.query_names else str(query)

    def hypothesis_name(self, hypothesis: int) -> str:
        """The name of a hypothesis for people."""
        names = self.hypothesis_names
        return names[hypothesis] if names else str(hypothesis)


@dataclasses.dataclass(frozen=True)
class OperatingPoint:
    """The price or budget by which a request is served; a price of 0 is a budget."""

    price: float
    max_queries: int
    is_budget: bool
    doubt: float | None = None
    """Where a belief is promised: one minus the posterior at which it stops."""


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What was shown about the error probability at a price; see `icpe show FILE`.

    `promise` is None for the average; with "belief" the price is a doubt.
    """

    error_prob: float
    confidence: float
    price: float
    lower_bound: float
    episodes: int
    mean_queries: float
    digest: str
    promise: str | None = None


@dataclasses.dataclass(frozen=True)
class Answer:
    """One query that was made, and its outcome.

    Attributes:
        query: number of the query.
        outcome: what was measured.
        asked: whether it is the query that the session had asked for.
    """

    query: int
    outcome: np.ndarray
    asked: bool


class Model:
    """An exported explorer, ready for any number of sessions.

    Args:
        path: the file that `icpe export` wrote.

    Raises:
        ArtifactError: it is damaged, or was not written by `icpe export`.
        MissingExtraError: onnxruntime is not installed.
    """

    def __init__(self, path: str | os.PathLike):
        runtime = _runtime()
        path = Path(path)
        try:
            content = path.read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise ArtifactError(f"{path} cannot be read: {reason}.") from error
        try:
            _check_seal(content)
            self._run = _open(runtime, content)
            self.document: dict[str, Any] = json.loads(
                self._run.get_modelmeta().custom_metadata_map["icpe"]
            )
            found = self.document["format"]
            if found == FORMAT:
                self._read(self.document)
        except Exception as error:  # whatever a malformed file makes go wrong
            raise ArtifactError(_unusable(path, error)) from error
        if found != FORMAT:
            raise ArtifactError(
                f"{path} has format {found}, where this file reads {FORMAT}; use the "
                "icpe.portable of the icpe that exported it."
            )

    def _read(self, document: dict[str, Any]) -> None:
        values = document["spec"]
        fields = {field.name for field in dataclasses.fields(Spec)}
        self.spec = Spec(**{k: _tuples(values[k]) for k in fields if k in values})
        self.guard = None if document["guard"] is None else Guard(document["guard"])
        self.certificates = tuple(
            Certificate(**record) for record in document["certificates"]
        )
        self._start = {
            f"state_{i}": _array(packed) for i, packed in enumerate(document["state"])
        }
        self._inputs = [given.name for given in self._run.get_inputs()]
        self._outputs = [output.name for output in self._run.get_outputs()]

    def start(self) -> dict[str, np.ndarray]:
        """The state before the first step."""
        return self._start

    def step(
        self, state: dict[str, np.ndarray], **told: np.ndarray
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """What the explorer says after one more outcome, and its new state."""
        fed = {name: (state | told)[name] for name in self._inputs}
        found = dict(zip(self._outputs, self._run.run(None, fed), strict=True))
        after = {name: found.pop(f"new_{name}") for name in self._start}
        return found, after

    def serve(
        self,
        error_prob: float | None = None,
        budget: int | None = None,
        price: float | None = None,
        max_queries: int | None = None,
        confidence: float = LEAST_CONFIDENCE,
        promise: str = "average",
    ) -> tuple[OperatingPoint, Certificate | None]:
        """The price or budget that serves a request, and its certificate, if any.

        Raises:
            OperatingPointError: the request lies outside the trained range, or is more
                than the operating table can serve.
        """
        asked = {"error_prob": error_prob, "budget": budget, "price": price}
        _check_promise(promise, error_prob)
        _check_request(asked, max_queries, confidence)
        horizon = self.spec.horizon
        cap = horizon
        for name, value in (("budget", budget), ("max_queries", max_queries)):
            if value is not None:
                _check_count(name, value, horizon)
                cap = value
        is_budget = cap < horizon or budget is not None
        objective = self.document["objective"]
        if objective is not None and promise != "average":
            raise OperatingPointError(
                "An explorer of the paper's learner promises the average alone; "
                "leave the promise out."
            )
        if objective is not None:
            wanted = {"max_queries": None, "price": None} | objective
            given = asked | {"max_queries": None if cap == horizon else cap}
            if budget is not None:
                given["max_queries"] = None
            if given != {name: wanted[name] for name in given}:
                trained = _shown_request(objective)
                got = _shown_request(asked | {"max_queries": max_queries})
                raise OperatingPointError(
                    f"This explorer was trained for {trained} alone; got {got}: ask "
                    "for that, or train another one."
                )
            return OperatingPoint(0.0, cap, is_budget), None
        if error_prob is not None:
            certificate = None
            if max_queries in (None, horizon):
                certificate = self._covering(error_prob, confidence, promise)
            if promise == "belief":
                at, doubt = self._doubt(error_prob, certificate)
                return OperatingPoint(at, cap, is_budget, doubt), certificate
            if certificate is None and promise != "average":
                raise OperatingPointError(
                    f"promise {promise} is served by a certificate alone, without a "
                    "cap on the queries; make one with icpe certify FILE --error-prob "
                    f"{error_prob:g} --promise {promise}."
                )
            if certificate is None:
                price = self._calibrated_price(error_prob, max_queries)
            else:
                price = certificate.price
            return OperatingPoint(float(price), cap, is_budget), certificate
        if price is not None:
            low, high = self.document["price_range"]
            if not low * (1 - 1e-6) <= price <= high * (1 + 1e-6):
                raise OperatingPointError(
                    f"price must lie in the trained range [{low:g}, {high:g}]; got "
                    f"{price}."
                )
        return OperatingPoint(float(price or 0.0), cap, is_budget), None

    def _covering(
        self, error_prob: float, confidence: float, promise: str
    ) -> Certificate | None:
        """They lie in the file in the order in which they are preferred, best last.

        What holds for every hypothesis holds on average.
        """
        serving = [
            (it.error_prob, it.promise is None, it.confidence, order)
            for order, it in enumerate(self.certificates)
            if it.error_prob <= error_prob
            and it.confidence >= confidence
            and (it.promise or "average") in (promise, _IMPLYING.get(promise))
        ]
        return self.certificates[max(serving)[3]] if serving else None

    def _doubt(
        self, error_prob: float, certificate: Certificate | None
    ) -> tuple[float, float]:
        """The price at which queries are chosen, and the doubt at which to stop."""
        beliefs = self.document.get("beliefs")
        if beliefs is None:
            raise OperatingPointError(
                "promise belief needs the table of recalibrated beliefs, which this "
                "file does not have yet; make it with icpe calibrate FILE --promise "
                "belief."
            )
        if certificate is not None:
            return beliefs["price"], certificate.price
        served = [
            (row["mean_cost"], row["doubt"])
            for row in beliefs["rows"]
            if row["lower_bound"] + error_prob >= 1.0
        ]
        if not served:
            raise OperatingPointError(
                f"No recalibrated belief of this explorer reaches {1 - error_prob:g}; "
                "ask for a larger error_prob, or for the average."
            )
        return beliefs["price"], min(served)[1]

    def _calibrated_price(self, error_prob: float, max_queries: int | None) -> float:
        table = self.document["operating_table"]
        if table is None:
            raise OperatingPointError(
                "error_prob needs the operating table, which this file does not "
                "have yet; make it with icpe calibrate FILE."
            )
        cap = table["horizon"] if max_queries is None else max_queries
        priced = [row for row in table["rows"] if row["price"] is not None]
        rows = [row for row in priced if row["max_queries"] == cap]
        if not rows:
            caps = sorted({row["max_queries"] for row in priced})
            raise OperatingPointError(
                f"max_queries={max_queries} has no rows in the operating table, which "
                f"has {', '.join(map(str, caps))}; use one of these, or add it with "
                f"icpe calibrate FILE --max-queries {max_queries}."
            )
        served = [row for row in rows if row["lower_bound"] + error_prob >= 1.0]
        if not served:
            best = max(row["lower_bound"] for row in rows)
            steps = math.floor((1.0 - best) * 10_000)
            while best + steps / 10_000 < 1.0:
                steps += 1
            trained = self.document.get("kind") != "rule"
            raise OperatingPointError(
                out_of_reach(error_prob, steps / 10_000, rows, trained=trained)
            )
        return min(served, key=lambda row: (row["mean_cost"], row["price"]))["price"]


def out_of_reach(
    error_prob: float,
    smallest: float,
    rows: Sequence[Mapping[str, Any]],
    *,
    trained: bool,
) -> str:
    """Why an error probability is not served, and what would help.

    Args:
        error_prob: what was asked for.
        smallest: what is served.
        rows: the operating table at the cap in question.
        trained: whether the explorer was trained; rules are not.
    """
    best = max(rows, key=lambda row: (row["lower_bound"], row["accuracy"]))
    if best["accuracy"] + error_prob >= 1.0:
        remedy = "measure it on more episodes by icpe calibrate"
    elif best["quantiles"][-1] >= best["max_queries"]:
        often = "one episode in a hundred or more"
        if best["quantiles"][0] >= best["max_queries"]:
            often = "half of all episodes or more"
        remedy = (
            f"the cap of {best['max_queries']} queries, which {often} reach, must be "
            "larger: give the family a longer horizon"
        )
    elif trained:
        remedy = "train longer and with a smaller min_price"
    else:
        remedy = "use another rule, or train an explorer"
    return (
        f"error_prob={error_prob} is smaller than this explorer can serve; the "
        f"smallest is {smallest} (for less, {remedy}, or ask for a budget)."
    )


_IMPLYING = {"average": "every-hypothesis"}
"""A promise, and another that implies it."""
_ROUNDING = 1e-6


class Session:
    """One exported explorer on one problem, from the first query to the answer.

    Args:
        model: the file of an exported explorer, or a `Model`, which is opened once.
        error_prob: stop when the error probability is at most this.
        budget: make exactly this many queries.
        price: price of one unit of cost, in units of probability.
        max_queries: cap on the queries, beside a price or an error probability.
        confidence: the least confidence of a certificate that may serve error_prob.
        promise: what error_prob is promised about: "average", "belief" or
            "every-hypothesis".
        first_outcome: what the task reveals before any query; needed where the family
            reveals something.
        query_mask: which queries are allowed at first, where the family cannot tell.
        on_alarm: what to do when answers do not look like the family's: "go on"
            without the certificate, or "stop".

    Raises:
        ArtifactError: the file is damaged or foreign.
        OperatingPointError: not exactly one of error_prob, budget and price is given,
            a value is out of range, or the explorer cannot serve it.
        InvalidParameterError: the confidence or on_alarm is none.
        InvalidOutcomeError: first_outcome or query_mask is missing or malformed.
    """

    def __init__(
        self,
        model: "Model | str | os.PathLike",
        *,
        error_prob: float | None = None,
        budget: int | None = None,
        price: float | None = None,
        max_queries: int | None = None,
        confidence: float = LEAST_CONFIDENCE,
        promise: str = "average",
        first_outcome: Any = None,
        query_mask: Any = None,
        on_alarm: str = "go on",
    ):
        if on_alarm not in ("go on", "stop"):
            raise InvalidParameterError(
                f"on_alarm must be one of 'go on', 'stop'; got {on_alarm!r}."
            )
        self.model = model if isinstance(model, Model) else Model(model)
        self.spec = spec = self.model.spec
        self._point, self._certificate = self.model.serve(
            error_prob, budget, price, max_queries, confidence, promise
        )
        self._stops_on_alarm = on_alarm == "stop"
        self._turns = threading.Lock()
        self._history: tuple[Answer, ...] = ()
        self._watch = None if self.model.guard is None else Watch.start(spec)
        self._lost: str | None = None
        if first_outcome is None and self.model.document["reveals"]:
            names = ", ".join(spec.outcome_names) or f"{spec.outcome_size} numbers"
            raise InvalidOutcomeError(
                "first_outcome is missing: this family reveals something before the "
                f"first query; give {names}."
            )
        first = read_first_outcome(first_outcome, spec)
        turn = self._step(self.model.start(), -1, first, 0)
        mask, lost = self._mask_after(turn[0], (), query_mask)
        self._take(turn, (), mask, self._watch, lost, terminated=False)

    def ask(self) -> int | None:
        """The query to make next, the same until it is told; None after the stop."""
        return None if self.stopped else self._query

    def tell(
        self,
        query: Any,
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
            outcome: what was measured, in the units of the family: `outcome_size`
                numbers, or one number where that is 1. Where the family names its
                outcomes it must be one of them.
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

    def _tell(self, query, outcome, terminated, query_mask) -> None:
        if self.stopped:
            raise SessionError(
                f"The session has stopped, because {self.stop_reason.sentence}; start "
                "a new session."
            )
        number = read_query(query, self.spec, self._allowed)
        read = read_outcome(outcome, self.spec, number)
        answer = Answer(number, read, asked=number == self._query)
        history = (*self._history, answer)
        turn = self._step(self._state, number, read, len(history))
        mask, lost = self._mask_after(turn[0], history, query_mask)
        watch = self._watch
        if watch is not None and self.model.guard is not None:
            watch = watch.after(
                self.model.guard, self.spec, self._posterior, number, read
            )
        reasons = (self._lost, self._not_asked(answer), lost, self._ended(terminated))
        why = next(filter(None, reasons), None)
        self._take(turn, history, mask, watch, why, terminated=bool(terminated))

    @property
    def query_name(self) -> str | None:
        """The name of the query to make next; None after the stop."""
        return None if self.stopped else self.spec.query_name(self._query)

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
        return int(self._posterior.argmax())

    @property
    def recommendation_name(self) -> str:
        """The name of that hypothesis."""
        return self.spec.hypothesis_name(self.recommendation)

    @property
    def posterior(self) -> np.ndarray:
        """Probability of each hypothesis now."""
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
        return None if self._lost or self.alarm else self._certificate

    @property
    def certificate_lost(self) -> str | None:
        """Why the certificate of the request no longer holds, in words, or None."""
        return None if self._certificate is None else self._lost or self.alarm

    @property
    def alarm(self) -> str | None:
        """What does not look like the family, in words; None if all does.

        Of explorers without a guard nothing is known.
        """
        return None if self._watch is None else self._watch.alarm

    @property
    def undecided(self) -> bool:
        """Whether it stopped without the belief that was asked for, if one was."""
        doubt = self._point.doubt
        if not self.stopped or doubt is None:
            return False
        return not bool(self._posterior.max() >= 1.0 - doubt - _ROUNDING)

    @property
    def operating_point(self) -> OperatingPoint:
        """The price or budget by which the request is served."""
        return self._point

    def _step(self, state, query: int, outcome: np.ndarray, position: int):
        return self.model.step(
            state,
            query=np.array(query, np.int32),
            outcome=outcome,
            price=np.array(self._point.price, np.float32),
            max_queries=np.array(self._point.max_queries, np.int32),
            position=np.array(position, np.int32),
            given_mask=np.ones(self.spec.num_queries, bool),
            has_mask=np.array(False),
        )

    def _mask_after(self, reply, history: Sequence[Answer], given: Any):
        """What is allowed next, and why that voids a certificate, if it does."""
        spec = self.spec
        known = every = np.ones(spec.num_queries, bool)
        if spec.masks_queries:
            known = reply.get("query_mask")
        if given is None and known is None:
            raise InvalidOutcomeError(
                "query_mask is missing: some queries of this family are forbidden at "
                "times, and only you know which; give one truth value for each query."
            )
        if given is None:
            return known, None
        mask = read_mask(given, every)
        if known is None or np.array_equal(mask, known):
            return mask, None
        reachable = np.array(known)
        if spec.ask_once:
            reachable[[answer.query for answer in history]] = False
        if np.array_equal(mask, reachable):
            return mask, None
        return mask, "query_mask is not what the family allows after these answers"

    def _not_asked(self, answer: Answer) -> str | None:
        if answer.asked:
            return None
        name = self.spec.query_name
        return (
            f"query {name(answer.query)} was answered where {name(self._query)} had "
            "been asked for"
        )

    def _ended(self, terminated: bool) -> str | None:
        if not terminated or self.spec.may_end is not False:
            return None
        return "the task was said to have ended, which tasks of this family never do"

    def _take(self, turn, history, mask, watch, lost, *, terminated: bool) -> None:
        """Makes a turn the present one.

        The world comes first, then the cap, then what there is to ask, then the
        explorer.
        """
        reply, state = turn
        allowed = np.array(mask)
        if self.spec.ask_once:
            allowed[[answer.query for answer in history]] = False
        query = int(np.where(allowed, reply["ranking"], -np.inf).argmax())
        reason = StopReason.RUNNING
        if terminated:
            reason = StopReason.TERMINATED
        elif len(history) >= self._point.max_queries:
            is_budget = self._point.is_budget
            reason = StopReason.BUDGET if is_budget else StopReason.HORIZON
        elif not allowed.any():
            reason = StopReason.NO_QUERY
        elif self._wants_to_stop(reply, query):
            reason = StopReason.EXPLORER
        elif self._stops_on_alarm and watch is not None and watch.alarm is not None:
            reason = StopReason.ALARM
        self._stop_reason, self._watch, self._lost = reason, watch, lost
        self._state, self._history, self._allowed = state, history, allowed
        self._query, self._posterior = query, np.exp(reply["log_posterior"])

    def _wants_to_stop(self, reply: dict[str, np.ndarray], query: int) -> bool:
        """By what the query is worth, or by the belief where that is promised."""
        doubt = self._point.doubt
        if doubt is None:
            return bool(reply["gain"][query] <= 0)
        least = np.log1p(-np.float32(doubt), dtype=np.float32)
        return bool(doubt > 0 and reply["log_posterior"].max() >= least)


# Reading what users tell; `icpe.deploy.reading` takes these from here.


def read_query(query: Any, spec: Any, mask: np.ndarray) -> int:
    """A query that exists and that the mask allows, by its number or its name.

    Raises:
        InvalidOutcomeError: it is something else.
    """
    try:
        number = -1 if isinstance(query, bool | np.bool_) else operator.index(query)
    except TypeError:
        number = -1
    if isinstance(query, str):
        number = _position(query, spec.query_names)
    if not 0 <= number < spec.num_queries:
        wanted = f"a whole number from 0 to {spec.num_queries - 1}"
        if spec.query_names:
            wanted += f", or a name: {_listed(spec.query_names)}"
        complaint = f"query must be {wanted}; got {query!r}"
        raise InvalidOutcomeError(suggesting(complaint, str(query), spec.query_names))
    if not mask[number]:
        allowed = _listed([spec.query_name(it) for it in np.flatnonzero(mask).tolist()])
        raise InvalidOutcomeError(
            f"query {spec.query_name(number)} is not allowed now; those allowed are "
            f"{allowed}."
        )
    return number


def _position(name: str, names: Sequence[str]) -> int:
    """Where a name stands, in any case if that is unambiguous; -1 if nowhere."""
    if name in names:
        return list(names).index(name)
    folded = name.strip().casefold()
    found = [i for i, it in enumerate(names) if it.strip().casefold() == folded]
    return found[0] if len(found) == 1 else -1


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def suggesting(
    complaint: str, given: str, known: Iterable[str], listing: str = ""
) -> str:
    """A message about a name that does not exist: the closest first, then the list.

    Args:
        complaint: what does not exist, without a period.
        given: the name.
        known: the names there are.
        listing: a sentence that names them, with a small first letter and a period.
    """
    close = difflib.get_close_matches(given, list(known), n=1)
    if not close:
        return f"{complaint}; {listing}" if listing else f"{complaint}."
    meant = f"{complaint}; did you mean {close[0]!r}?"
    return f"{meant} {listing[0].upper()}{listing[1:]}" if listing else meant


def read_first_outcome(first_outcome: Any, spec: Any) -> np.ndarray:
    """What the task reveals before any query, zeros if None; see `read_outcome`."""
    if first_outcome is None:
        first_outcome = np.zeros(spec.outcome_size)
    return _read_numbers("first_outcome", first_outcome, spec)


def read_outcome(outcome: Any, spec: Any, query: int | None = None) -> np.ndarray:
    """The outcome of a query as a vector of its own that nobody can change.

    Where outcomes have names, such as "positive", it may be one of them.

    Raises:
        InvalidOutcomeError: it has another shape, is not finite as a float32, or is
            none of the outcomes that the spec names.
    """
    labels = spec.labels(query)
    words = [word for word, _ in labels]
    named = [
        f"{_shown(value)} ({word})" if _shown(value) != word else word
        for word, value in labels
    ]
    whose = ""
    if query is not None and spec.query_outcomes:
        whose = f"{spec.query_name(query)}: "
    complaint = f"{whose}outcome must be {' or '.join(named)}; got {outcome!r}"
    if isinstance(outcome, str) and words:
        place = _position(outcome, words)
        if place < 0:
            raise InvalidOutcomeError(suggesting(complaint, outcome, words))
        outcome = labels[place][1]
    read = _read_numbers("outcome", outcome, spec)
    possible = np.array([value for _, value in labels], np.float32)
    if len(possible) and not (possible == read).all(axis=1).any():
        raise InvalidOutcomeError(f"{complaint}.")
    return read


def read_mask(query_mask: Any, before: np.ndarray) -> np.ndarray:
    """The queries allowed next; as before if the mask is None.

    Raises:
        InvalidOutcomeError: it is not one truth value for each query.
    """
    if query_mask is None:
        return before
    read = _as_array(query_mask)
    if read is None or read.dtype != bool or read.shape != before.shape:
        raise InvalidOutcomeError(
            f"query_mask must be {len(before)} truth values, one for each query; "
            f"got {query_mask!r}."
        )
    return read.copy()


def _read_numbers(name: str, outcome: Any, spec: Any) -> np.ndarray:
    size = spec.outcome_size
    wanted = "one number" if size == 1 else f"{size} numbers"
    read = _as_array(outcome)
    if read is None or read.dtype.kind not in "iuf":
        raise InvalidOutcomeError(f"{name} must be {wanted}; got {outcome!r}.")
    if read.shape != (size,) and not (size == 1 and read.shape == ()):
        raise InvalidOutcomeError(
            f"{name} must be {wanted}; got an array of shape {read.shape}."
        )
    with np.errstate(over="ignore"):
        found = read.reshape(size).astype(np.float32)
    if not np.all(np.isfinite(found)):
        raise InvalidOutcomeError(f"{name} must be finite; got {outcome!r}.")
    found.setflags(write=False)
    return found


def _shown(value: Sequence[float]) -> str:
    shown = ", ".join(f"{number:g}" for number in value)
    return shown if len(value) == 1 else f"[{shown}]"


def _as_array(value: Any) -> np.ndarray | None:
    """The value as an array, None if it cannot be one."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        return None


# What is asked for, checked as `icpe.core.request` does.


def _check_promise(promise: Any, error_prob: Any) -> None:
    if promise not in PROMISES:
        raise OperatingPointError(
            f"promise must be one of {', '.join(PROMISES)}; got {promise!r}."
        )
    if promise != "average" and error_prob is None:
        raise OperatingPointError(
            f"promise {promise} is about error_prob, which is missing; give "
            "it, or leave the promise out."
        )


def _check_request(asked: dict, max_queries: Any, confidence: Any) -> None:
    named = [name for name, value in asked.items() if value is not None]
    if len(named) != 1:
        raise OperatingPointError(
            "Exactly one of error_prob, budget and price must be given; got "
            f"{' and '.join(named) if named else 'none of them'}."
        )
    if asked["budget"] is not None and max_queries is not None:
        raise OperatingPointError(
            "max_queries cannot be combined with budget, which already fixes "
            "the number of queries; leave one of them out."
        )
    name, value = named[0], asked[named[0]]
    if name != "budget" and (
        isinstance(value, bool) or not isinstance(value, numbers.Real)
    ):
        raise OperatingPointError(
            f"{name} must be a number such as 0.1; got {value!r}."
        )
    if name == "error_prob" and not 0.0 < float(value) < 1.0:
        raise OperatingPointError(
            f"error_prob must lie strictly between 0 and 1; got {value}."
        )
    if name == "price" and not 0.0 < float(value) < math.inf:
        raise OperatingPointError(
            f"price must be positive and finite; got {value}. For a fixed "
            "number of queries use budget."
        )
    if not 0.0 <= confidence <= 1.0:
        raise InvalidParameterError(
            f"confidence must be between 0.0 and 1.0; got {confidence}."
        )


def _check_count(name: str, value: Any, horizon: int) -> None:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise OperatingPointError(
            f"{name} must be a whole number from 1 to {horizon}; got {value!r}."
        )
    if not 1 <= int(value) <= horizon:
        raise OperatingPointError(
            f"{name} must be between 1 and the family's horizon {horizon}; got {value}."
        )


def _shown_request(asked: dict[str, Any]) -> str:
    return ", ".join(f"{k}={v:g}" for k, v in asked.items() if v is not None)


# The guard, one answer at a time; `icpe.artifact.guard` says why it is as it is.


class Guard:
    """The law of answers and the limits of what may come; from a model's document."""

    def __init__(self, document: dict[str, Any]):
        self.one = document["limits"]["one"] + 1e-4  # for rounding, as in sessions
        self.together = document["limits"]["together"] + 1e-4
        arrays = {name: _array(packed) for name, packed in document["arrays"].items()}
        self.law = SymbolLaw(arrays) if "symbols" in arrays else NumberLaw(arrays)


@dataclasses.dataclass(frozen=True)
class Seen:
    """One answer, with what was known before it."""

    belief: np.ndarray
    query: int
    outcome: np.ndarray
    count: np.ndarray
    mean: np.ndarray


@dataclasses.dataclass(frozen=True)
class Watch:
    """One session under guard: what was seen so far, and the first alarm."""

    number: int
    counts: np.ndarray
    sums: np.ndarray
    odds: np.ndarray
    alarm: str | None = None

    @staticmethod
    def start(spec: Spec) -> "Watch":
        """Before the first answer."""
        empty = np.zeros((spec.num_queries, spec.outcome_size))
        return Watch(0, empty, empty, np.zeros(()))

    def after(
        self, guard: Guard, spec: Spec, belief: np.ndarray, query: int, outcome
    ) -> "Watch":
        """With one more answer; an alarm once raised stays."""
        count, answer = self.counts[query], np.asarray(outcome, float)
        mean = self.sums[query] / np.maximum(count, 1.0)
        seen = Seen(np.asarray(belief, float), query, answer, count, mean)
        found, odds = guard.law.surprise(seen)
        counted = guard.law.is_number(answer)
        counts, sums = self.counts.copy(), self.sums.copy()
        counts[query] += counted
        sums[query] += np.where(counted, outcome, 0.0)
        odds = self.odds + odds
        alarm = self.alarm or self._alarm(guard, spec, seen, found, odds)
        return Watch(self.number + 1, counts, sums, odds, alarm)

    def _alarm(self, guard: Guard, spec: Spec, seen: Seen, found: float, odds):
        number = self.number + 1
        if found - math.log(number) > guard.one:
            shown = ", ".join(f"{x:.4g}" for x in seen.outcome)
            return (
                f"{shown} came for query {spec.query_name(seen.query)}, where this "
                f"family expects {guard.law.expects(seen, spec)}; are the units and "
                "the order of answers right?"
            )
        if _log_sum_exp(odds.ravel()) - math.log(odds.size) > guard.together:
            better = guard.law.others[int(odds.max(axis=1).argmax())]
            return (
                f"{number} answers together {better}; are the "
                "units, the noise and the order of answers right?"
            )
        return None


_MOST_SURPRISE = 60.0
_LEAST = math.exp(-_MOST_SURPRISE)
_LEAST_WEIGHT = 1e-3
_WIDE = 2.6
_SPREADS = (0.1, 0.5, 2.0, 8.0)
_LARGEST = 100.0


class SymbolLaw:
    """Few outcomes, each with a probability."""

    others = ("come as if at random", "fit no hypothesis of the family")

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.symbols, self.probability = arrays["symbols"], arrays["probability"]

    def surprise(self, seen: Seen) -> tuple[float, np.ndarray]:
        """-log of the probability of an answer as rare, and odds of other laws."""
        chances = self._chances(seen)
        distance = np.square(self.symbols - seen.outcome).sum(axis=1)
        nearest = int(distance.argmin())
        spread = np.ptp(self.symbols, axis=0).max(initial=1.0)
        if not distance[nearest] <= (1e-3 * spread) ** 2:
            return _MOST_SURPRISE, np.full((2, 1), _MOST_SURPRISE)
        rarer = chances <= chances[nearest] * (1 + 1e-6)
        found = -math.log(np.clip(np.sum(rarer * chances), _LEAST, 1.0))
        anyhow = self.probability.mean(axis=1)[seen.query, nearest]
        logs = np.log(np.maximum([1.0 / len(self.symbols), anyhow], _LEAST))
        odds = logs - np.log(np.maximum(chances[nearest], _LEAST))
        return found, odds[:, None]

    def is_number(self, outcome: np.ndarray) -> np.ndarray:
        """None is: they are words."""
        return np.zeros(outcome.shape, bool)

    def expects(self, seen: Seen, spec: Spec) -> str:
        """In words, what was to be expected."""
        query = int(np.ravel(seen.query)[0])
        words = {value: word for word, value in spec.labels(query)}
        named = []
        for symbol in np.flatnonzero(self._chances(seen) >= 0.01):
            value = tuple(float(x) for x in self.symbols[symbol])
            number = ", ".join(f"{x:g}" for x in value)
            named.append(f"{number} ({words[value]})" if value in words else number)
        return " or ".join(named) or "something else"

    def _chances(self, seen: Seen) -> np.ndarray:
        table = self.probability[seen.query]
        return table[0] if len(table) == 1 else seen.belief @ table


class NumberLaw:
    """Numbers around a mean that varies between tasks, with noise within each."""

    others = (
        *(
            f"vary {'less' if spread < 1 else 'more'} than this family's do"
            for spread in _SPREADS
        ),
        "fit no hypothesis of the family",
    )

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.mean, self.between = arrays["mean"], arrays["between"]
        self.within, self.words = arrays["within"], arrays["words"]
        self.chance = arrays["chance"]

    def surprise(self, seen: Seen) -> tuple[float, np.ndarray]:
        """-log of the probability of an answer as rare, and odds of other laws."""
        chances, code = self._chances(seen), self._word_of(seen.outcome)
        own = np.take_along_axis(chances, code[:, None], axis=1)
        rarer = np.sum(chances * (chances <= own * (1 + 1e-6)), axis=1)
        is_number = code == len(self.words)
        tail = self._tail(seen)
        logs = np.log(np.maximum(own[:, 0], _LEAST))
        word_tail = np.log(np.clip(rarer, _LEAST, 1.0))
        tails = np.where(is_number, math.log(2.0) + tail + logs, word_tail)
        rarest = tails.min() + math.log(len(tails))
        squared = np.square(np.clip(_normal_score(tail), -_LARGEST, 0.0))
        spreads = np.asarray(_SPREADS)[:, None]
        ratios = 0.5 * squared * (1.0 - spreads**-2) - np.log(spreads)
        ratios = np.where(is_number, ratios, 0.0)
        anyhow = self.chance.mean(axis=1)[seen.query]
        anyhow = np.take_along_axis(anyhow, code[:, None], axis=1)[:, 0]
        anyhow = np.log(np.maximum(anyhow, _LEAST)) - logs
        found = float(np.clip(-rarest, 0.0, _MOST_SURPRISE))
        return found, np.concatenate([ratios, anyhow[None]])

    def is_number(self, outcome: np.ndarray) -> np.ndarray:
        """Which entries are numbers, whose mean tells of the next one."""
        return self._word_of(outcome) == len(self.words)

    def expects(self, seen: Seen, spec: Spec) -> str:
        """In words, what was to be expected."""
        center, deviation = self._moments(seen)
        alive = self._weights(seen) >= _LEAST_WEIGHT
        low = (center - _WIDE * deviation)[alive].min(axis=0)
        high = (center + _WIDE * deviation)[alive].max(axis=0)
        numbers = self._chances(seen)[:, -1] >= _LEAST_WEIGHT
        outside = np.maximum(low - seen.outcome, seen.outcome - high)
        outside = np.where(numbers & self.is_number(seen.outcome), outside, -np.inf)
        entry = int(outside.argmax())
        name = ""
        if len(low) > 1:
            names = spec.outcome_names
            name = f" as {names[entry] if names else f'number {entry}'}"
        return f"{low[entry]:.3g} to {high[entry]:.3g}{name}"

    def _tail(self, seen: Seen) -> np.ndarray:
        """Log probability of smaller or of larger numbers, whichever is less."""
        center, deviation = self._moments(seen)
        score = (seen.outcome - center) / deviation
        weights = self._weights(seen)[:, None] * self.chance[seen.query][..., -1]
        weights = np.maximum(weights.astype(float), 1e-30)
        logs = np.log(weights / weights.sum(axis=0))
        sides = [_log_sum_exp(logs + _log_normal(side)) for side in (score, -score)]
        return np.minimum(*sides)

    def _moments(self, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
        mean, between, within = (
            array[seen.query].astype(float)
            for array in (self.mean, self.between, self.within)
        )
        share = seen.count * between / np.maximum(seen.count * between + within, 1e-30)
        center = mean + share * (seen.mean - mean)
        variance = within + between * (1.0 - share)
        return center, np.sqrt(np.maximum(variance, 1e-18))

    def _chances(self, seen: Seen) -> np.ndarray:
        chance = self.chance[seen.query].astype(float)
        return np.einsum("h,hew->ew", self._weights(seen), chance)

    def _weights(self, seen: Seen) -> np.ndarray:
        return np.ones(1) if self.mean.shape[1] == 1 else seen.belief

    def _word_of(self, outcome: np.ndarray) -> np.ndarray:
        """Which word each entry is; the number of words where it is a number."""
        code = np.full(outcome.shape, len(self.words))
        for index, word in enumerate(self.words):
            code[outcome.astype(self.words.dtype) == word] = index
        return code


def _log_sum_exp(values: np.ndarray) -> Any:
    """Along the first axis."""
    most = values.max(axis=0)
    return most + np.log(np.exp(values - most).sum(axis=0))


_erfc = np.vectorize(math.erfc, otypes=[float])
_FAR = -20.0


def _log_normal(score: np.ndarray) -> np.ndarray:
    """Log of the probability that a standard normal is smaller."""
    near = np.maximum(score, _FAR)
    far = np.minimum(score, _FAR)
    # log1p of the other tail where the probability is close to 1.
    direct = np.where(
        near > 1.0,
        np.log1p(-0.5 * _erfc(np.maximum(near, 1.0) / math.sqrt(2.0))),
        np.log(0.5 * _erfc(-np.minimum(near, 1.0) / math.sqrt(2.0))),
    )
    inverse = far**-2.0  # an asymptotic series
    series = 1.0 - inverse * (
        1.0 - inverse * (3.0 - inverse * (15.0 - 105.0 * inverse))
    )
    distant = -0.5 * far**2 - np.log(-far * math.sqrt(2 * math.pi)) + np.log(series)
    return np.where(score < _FAR, distant, direct)


def _normal_score(log_probability: np.ndarray) -> np.ndarray:
    """The inverse of `_log_normal` up to one half, by Newton's method.

    The function is concave, so that steps from the left never go too far.
    """
    # Farther than `_LARGEST` standard deviations is no stranger.
    wanted = np.clip(log_probability, -0.6 * _LARGEST**2, math.log(0.5))
    score = -np.sqrt(-2.0 * wanted)
    for _ in range(60):
        log = _log_normal(score)
        slope = np.exp(-0.5 * score**2 - 0.5 * math.log(2 * math.pi) - log)
        step = (wanted - log) / slope
        score = score + step
        if np.all(np.abs(step) <= 1e-13 * np.maximum(np.abs(score), 1.0)):
            break
    return np.minimum(score, 0.0)


# Files.


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError(
            "Exported explorers need onnxruntime; pip install onnxruntime."
        ) from error
    return onnxruntime


def _open(runtime: Any, content: bytes) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(
        content, options, providers=["CPUExecutionProvider"]
    )


def sealed(content: bytes) -> bytes:
    """A model whose seal is zeros, with the seal that belongs to it."""
    at = content.rindex(SEAL.encode()) + len(SEAL)
    found = hashlib.sha256(content).hexdigest().encode()
    return content[:at] + found + content[at + len(found) :]


def _check_seal(content: bytes) -> None:
    at = content.rfind(SEAL.encode()) + len(SEAL)
    if at < len(SEAL):
        raise ValueError("it is damaged or was not written by icpe")
    blank = content[:at] + b"0" * 64 + content[at + 64 :]
    if sealed(blank) != content:
        raise ValueError(
            "it has changed since it was written, since its seal is another; get the "
            "file again from where it came from"
        )


def _unusable(path: Path, error: Exception) -> str:
    problem = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        problem = f"{error} is missing"
    return f"{path} is not an artifact that can be used: {problem.rstrip('.')}."


def _array(packed: dict[str, Any]) -> np.ndarray:
    if "fill" in packed:
        return np.full(packed["shape"], packed["fill"], packed["dtype"])
    content = base64.b64decode(packed["data"])
    array = np.frombuffer(content, np.dtype(packed["dtype"]).newbyteorder("<"))
    return array.reshape(packed["shape"]).astype(packed["dtype"])


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
