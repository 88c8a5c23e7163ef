"""A person who answers the queries at the keyboard."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from icpe.cli.episode import AbstractWorld
from icpe.core.errors import InvalidOutcomeError, UnsupportedError
from icpe.core.family import StepResult, TaskSpec, plain_reset, plain_step

QUIT_WORDS = ("quit", "exit", "q")


class PersonLeft(Exception):
    """The person does not want to go on."""


class Person(AbstractWorld):
    """Asks a person for every outcome, again until the answer makes sense.

    Args:
        spec: of the family that the person plays.
        read: returns the line typed after a prompt; raises EOFError at the end.
        write: shows a line.
    """

    def __init__(
        self,
        spec: TaskSpec,
        *,
        read: Callable[[str], str],
        write: Callable[[str], None],
    ):
        self._spec, self._read, self._write = spec, read, write

    def begin(self) -> StepResult:
        """A person reveals nothing before the first query."""
        return plain_reset(self._spec)

    def answer(self, query: int, step: int) -> StepResult:
        """Puts the question until it is answered.

        Raises:
            PersonLeft: the person typed quit, or the input ended.
        """
        spec = self._spec
        question = spec.question.format(query=spec.query_name(query))
        while True:
            self._write(f"{step + 1}. {question}")
            try:
                line = self._read("   > ")
            except EOFError:
                raise PersonLeft from None
            if line.strip().lower() in QUIT_WORDS:
                raise PersonLeft
            try:
                outcome = parse_outcome(line, spec)
            except InvalidOutcomeError as error:
                self._write(f"   {error}")
                continue
            return plain_step(spec, jnp.asarray(outcome, jnp.float32))


def check_person_can_play(spec: TaskSpec, name: str, first_outcome: np.ndarray) -> None:
    """Raises unless a person can answer for this family.

    Masks, endings by the task itself and what is revealed at reset come from the
    simulator; a person cannot supply them.
    """
    reasons = {
        "only the simulator knows which queries are allowed": spec.masks_queries,
        "only the simulator can end its episodes": not spec.can_stop,
        "its episodes begin with an outcome": bool(np.any(first_outcome)),
    }
    for reason, applies in reasons.items():
        if applies:
            raise UnsupportedError(
                f"--human cannot be used with {name}, since {reason}; leave it out."
            )


def parse_outcome(line: str, spec: TaskSpec) -> tuple[float, ...]:
    """Reads an outcome: one of the family's words, or its numbers.

    A word may be shortened as long as it stays unambiguous.

    Raises:
        InvalidOutcomeError: one sentence that says what can be typed.
    """
    typed = line.strip()
    text = typed.lower()
    labels = dict(spec.outcome_labels)
    matches = [word for word in labels if text and word.lower().startswith(text)]
    if text in labels:
        return labels[text]
    if len(matches) == 1:
        return labels[matches[0]]
    if len(matches) > 1:
        raise InvalidOutcomeError(f"{text!r} may mean {' or '.join(matches)}.")
    try:
        numbers = tuple(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        numbers = ()
    if labels and numbers not in labels.values():
        raise InvalidOutcomeError(
            f"Please answer {', '.join(labels)}, or quit to leave; got {typed!r}."
        )
    if len(numbers) != spec.outcome_size or not np.all(np.isfinite(numbers)):
        size = spec.outcome_size
        wanted = "a number" if size == 1 else f"{size} numbers with spaces between"
        raise InvalidOutcomeError(
            f"Please type {wanted}, or quit to leave; got {typed!r}."
        )
    return numbers
