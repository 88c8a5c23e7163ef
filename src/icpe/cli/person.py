"""A person who answers the queries at the keyboard."""

from collections.abc import Callable, Iterable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from icpe.cli.episode import AbstractWorld
from icpe.core.errors import InvalidOutcomeError, UnsupportedError
from icpe.core.family import AbstractTaskFamily, StepResult
from icpe.core.history import History
from icpe.core.simulate import reveals_something
from icpe.core.spec import TaskSpec
from icpe.portable.reading import listed, typed_number

QUIT_WORDS = ("quit", "exit", "q")
UNDO_WORD = "undo"


class PersonLeft(Exception):
    """The person does not want to go on."""


class TakenBack(Exception):
    """The person takes the last answer back."""


class InputEnded(PersonLeft):
    """There are no more lines, though the episode goes on."""


class Person(AbstractWorld):
    """Asks a person for every outcome, again until the answer makes sense.

    Args:
        family: the family that the person plays.
        read: returns the line typed after a prompt; raises EOFError at the end.
        write: shows a line.
    """

    def __init__(
        self,
        family: AbstractTaskFamily,
        *,
        read: Callable[[str], str],
        write: Callable[[str], None],
    ):
        self._family, self._read, self._write = family, read, write
        self._answers = family.answers()
        self._queries: list[int] = []
        self._outcomes: list[Array] = []
        self._kept: list[Array] = []
        """Answers that stand from before one was taken back."""
        self._first_outcome: Array | None = None

    @property
    def num_kept(self) -> int:
        """How many answers stand from before one was taken back."""
        return len(self._kept)

    def take_back(self) -> None:
        """Lets the episode begin again with all answers but the last."""
        self._kept = self._outcomes[:-1]

    @property
    def num_answers(self) -> int:
        """How many queries were answered."""
        return len(self._queries)

    def begin(self) -> StepResult:
        """What is revealed before the first query, if the family reveals anything.

        Raises:
            PersonLeft: the person typed quit.
            InputEnded: there are no more lines.
        """
        spec = self._family.spec
        self._queries, self._outcomes = [], []
        if self._first_outcome is not None:
            return self._result(self._first_outcome)
        self._first_outcome = jnp.zeros(spec.outcome_size)
        if reveals_something(self._family):
            names = ", ".join(spec.outcome_names) or "the first outcome"
            self._first_outcome = self._ask(f"Before the first query, type {names}.")
        return self._result(self._first_outcome)

    def answer(self, query: int, step: int) -> StepResult:
        """Puts the question until it is answered.

        Raises:
            PersonLeft: the person typed quit.
            TakenBack: the person takes the last answer back.
            InputEnded: there are no more lines.
        """
        spec = self._family.spec
        question = spec.question.format(query=spec.query_name(query))
        if spec.query_outcomes:
            question += f" ({', '.join(spec.query_outcomes[query])})"
        if self._answers is not None:
            question += f" ({self._answers.hint(query)})"
        if step < self.num_kept:
            outcome = self._kept[step]
        else:
            outcome = self._ask(f"{step + 1}. {question}", query)
        self._queries.append(query)
        self._outcomes.append(outcome)
        return self._result(outcome)

    def _ask(self, question: str, query: int | None = None) -> Array:
        doubted = None
        while True:
            self._write(question)
            try:
                line = self._read("   > ")
            except EOFError:
                raise InputEnded from None
            if line.strip().lower() in QUIT_WORDS:
                raise PersonLeft
            if line.strip().lower() == UNDO_WORD:
                if self._queries:
                    raise TakenBack
                self._write("   There is nothing to undo yet.")
                continue
            try:
                if self._answers is None or query is None:
                    outcome = parse_outcome(line, self._family.spec, query)
                else:
                    outcome = self._answers.read(query, line)
                    strange = self._answers.why_strange(query, outcome)
                    if strange is not None and line != doubted:
                        self._write(f"   Mind that {strange}. If so, type it again.")
                        doubted = line
                        continue
            except InvalidOutcomeError as error:
                self._write(f"   {error}")
                continue
            return jnp.asarray(outcome, jnp.float32)

    def _result(self, outcome: Array) -> StepResult:
        assert self._first_outcome is not None
        history = History(
            jnp.asarray(self._queries, jnp.int32),
            jnp.stack([self._first_outcome, *self._outcomes]),
            jnp.asarray(len(self._queries), jnp.int32),
        )
        mask = self._family.query_mask(self._first_outcome, history)
        if mask is None:
            mask = jnp.ones(self._family.spec.num_queries, bool)
        return StepResult(None, outcome, mask, jnp.asarray(False))


def check_person_can_play(family: AbstractTaskFamily, name: str) -> None:
    """Raises unless a person can answer for this family.

    Endings by the task itself, and masks that do not follow from the answers, come
    from the simulator; a person cannot supply them.
    """
    spec = family.spec
    if family.any_units() is not None:
        raise UnsupportedError(
            f"--human cannot be used with {name}, whose outcomes are relative and "
            "scaled; use icpe serve --open, or icpe.Session(.., units=..) in Python, "
            "which take them in your units."
        )
    knows_masks = type(family).query_mask is not AbstractTaskFamily.query_mask
    reasons = {
        "only the simulator knows which queries are allowed": spec.masks_queries
        and not knows_masks,
        "only the simulator can end its episodes": not spec.can_stop,
    }
    for reason, applies in reasons.items():
        if applies:
            raise UnsupportedError(
                f"--human cannot be used with {name}, since {reason}; leave it out."
            )


_OF_CASES = ("item-bank", "likelihoods", "network", "table")
"""Families that data make, whose queries are about a case that is there."""


def invitation(family: AbstractTaskFamily, name: str) -> str:
    """What the person is to do."""
    spec = family.spec
    names = [spec.hypothesis_name(i) for i in range(spec.num_hypotheses)]
    if name in _OF_CASES:
        return f"Answer for one case; what is sought is one of {listed(names)}"
    return f"Keep one of {names[0]} .. {names[-1]} in mind"


def parse_outcome(
    line: str, spec: TaskSpec, query: int | None = None
) -> tuple[float, ...]:
    """Reads an outcome of a query: one of the family's words, or its numbers.

    A word may be shortened as long as it stays unambiguous. Where words are numbers
    themselves, a number must be one of them.

    Raises:
        InvalidOutcomeError: one sentence that says what can be typed.
    """
    typed = line.strip()
    text = typed.lower()
    labels = dict(spec.labels(query))
    matches = [word for word in labels if text and word.lower().startswith(text)]
    same = [word for word in matches if word.lower() == text]
    if typed in labels or len(same) == 1:
        return labels[typed if typed in labels else same[0]]
    named = {word: number for word in labels if (number := _number(word)) is not None}
    if named and (number := _number(text)) is not None:
        # Neither the beginning of another number nor the place of a state.
        matches = [word for word, other in named.items() if other == number]
        if not matches:
            raise InvalidOutcomeError(_please(labels, typed))
    if len(matches) == 1:
        return labels[matches[0]]
    if len(matches) > 1:
        raise InvalidOutcomeError(f"{text!r} may mean {' or '.join(matches)}.")
    try:
        if spec.outcome_size == 1:
            numbers = (typed_number(text),)
        else:
            numbers = tuple(map(float, text.replace(",", " ").split()))
    except ValueError:
        numbers = ()
    if labels and numbers not in labels.values():
        raise InvalidOutcomeError(_please(labels, typed))
    if len(numbers) != spec.outcome_size or not np.all(np.isfinite(numbers)):
        size = spec.outcome_size
        wanted = "a number" if size == 1 else f"{size} numbers with spaces between"
        raise InvalidOutcomeError(
            f"Please type {wanted}, or quit to leave; got {typed!r}."
        )
    return numbers


def _please(labels: Iterable[str], typed: str) -> str:
    return f"Please answer {', '.join(labels)}, or quit to leave; got {typed!r}."


def _number(text: str) -> float | None:
    """The finite number that a text is, None if it is none."""
    try:
        number = typed_number(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None
