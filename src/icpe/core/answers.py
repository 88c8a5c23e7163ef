"""How people answer queries whose outcomes are not plain numbers to them."""

import abc
from typing import Any


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
    def words(self, query: int, outcome: Any) -> str:
        """An outcome of a query as it would be answered."""
