"""How people answer queries whose outcomes are not plain numbers to them."""

import abc
from typing import Any, NamedTuple


class AnswerPart(NamedTuple):
    """One value of an answer; `words` are those it can be, none for a number."""

    name: str
    words: tuple[str, ...]
    unit: str = ""


class AbstractAnswers(abc.ABC):
    """What a family makes of an answer as it is given, and how it words an outcome."""

    @abc.abstractmethod
    def read(self, query: int, answer: Any) -> tuple[float, ...]:
        """The outcome that an answer to a query stands for.

        Raises:
            InvalidOutcomeError: one sentence that says what can be answered.
        """

    @abc.abstractmethod
    def hint(self, query: int) -> str:
        """What can be answered, in a few words, such as "a number"."""

    @abc.abstractmethod
    def parts(self, query: int) -> tuple[AnswerPart, ...]:
        """The values that make up an answer; `read` takes them in this order.

        Each may be None, where it is not known.
        """

    @abc.abstractmethod
    def words(self, query: int, outcome: Any) -> str:
        """An outcome of a query as it would be answered."""

    def why_strange(self, query: int, outcome: Any) -> str | None:
        """Why no task of the family gives such an outcome; None where some may."""
        return None

    def is_unknown(self, query: int, outcome: Any) -> bool:
        """Whether an outcome says that nothing of what was asked is known."""
        return False
