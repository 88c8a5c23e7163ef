"""What leaves the ground of a certificate, in words, and the queries allowed next.

A certificate is about sessions that follow the explorer on tasks of its family. Each
function says why an event leaves that, or None where it does not.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from icpe.core.answers import AbstractAnswers
from icpe.core.errors import InvalidOutcomeError
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.deploy.reading import read_mask
from icpe.deploy.session_state import Answer, State
from icpe.portable.requests import UNDECIDED as UNDECIDED

UNDONE = "an answer or a skip was undone"
CLOSED_EARLY = "the session was closed before it had stopped"


def asked_ahead(words: TaskSpec, open_queries: tuple[int, ...]) -> str | None:
    """A question beside an open one."""
    if len(open_queries) < 2:
        return None
    first, second = map(words.query_name, open_queries[:2])
    return (
        f"query {second} was asked for while {first} was open, so it was chosen "
        "without that answer"
    )


def skipped(words: TaskSpec, query: int) -> str:
    """A question that is not to be asked again."""
    return f"query {words.query_name(query)} was skipped and another asked for"


def not_asked(words: TaskSpec, state: State, answer: Answer) -> str | None:
    """An answer to a question that nobody asked."""
    if answer.asked:
        return None
    name = words.query_name
    expected = (state.open_queries or (state.query,))[0]
    return (
        f"query {name(answer.query)} was answered where {name(expected)} had been "
        "asked for"
    )


def out_of_order(words: TaskSpec, state: State, answer: Answer) -> str | None:
    """An answer that overtakes an earlier question."""
    if not state.open_queries or state.open_queries[0] == answer.query:
        return None
    name = words.query_name
    return (
        f"query {name(answer.query)} was answered before "
        f"{name(state.open_queries[0])}, which had been asked for earlier"
    )


def ended(spec: TaskSpec, terminated: bool) -> str | None:
    """An end that the family does not know."""
    if not terminated or spec.may_end is not False:
        return None
    return "the task was said to have ended, which tasks of this family never do"


def strange(
    answers: AbstractAnswers | None,
    query: int,
    outcome: Float[np.ndarray, "outcome"],
) -> str | None:
    """An outcome that no task of the family has."""
    return None if answers is None else answers.why_strange(query, outcome)


def mask_after(
    family: AbstractTaskFamily,
    first_outcome: Float[np.ndarray, "outcome"],
    history: tuple[Answer, ...],
    given: Any,
) -> tuple[Bool[np.ndarray, "queries"], str | None]:
    """What is allowed next, and why that voids a certificate, if it does.

    It is as the user says, else as the family knows.

    Raises:
        InvalidOutcomeError: nobody says what is allowed.
    """
    spec = family.spec
    known = every = np.ones(spec.num_queries, bool)
    if spec.masks_queries:
        known = family.query_mask(
            jnp.asarray(first_outcome), _as_history(first_outcome, history)
        )
    if given is None and known is None:
        raise InvalidOutcomeError(
            "query_mask is missing: some queries of this family are forbidden at "
            "times, and only you know which; give one truth value for each query, or "
            "let the family say it in a method query_mask."
        )
    if given is None:
        return np.asarray(known), None
    mask = read_mask(given, every)
    if known is None or np.array_equal(mask, known):
        return mask, None
    if np.array_equal(mask, _reachable(spec, known, history)):
        return mask, None
    return mask, "query_mask is not what the family allows after these answers"


def _reachable(spec: TaskSpec, known, history: tuple[Answer, ...]) -> np.ndarray:
    """What the family allows, less what was made where each is made once."""
    known = np.array(known)
    if spec.ask_once:
        known[[answer.query for answer in history]] = False
    return known


def _as_history(
    first_outcome: Float[np.ndarray, "outcome"], answers: tuple[Answer, ...]
) -> History:
    outcomes = [first_outcome, *(it.outcome for it in answers)]
    return History(
        queries=jnp.asarray([answer.query for answer in answers], jnp.int32),
        outcomes=jnp.asarray(np.stack(outcomes)),
        length=jnp.asarray(len(answers), jnp.int32),
    )
