"""How long work says how far it is; by default to nobody."""

import abc


class AbstractProgress(abc.ABC):
    """Hears about one piece of long work at a time: start, advances, finish."""

    @abc.abstractmethod
    def start(self, label: str, total: int) -> None:
        """Work on `label` begins; it consists of `total` units."""

    @abc.abstractmethod
    def advance(self, amount: int) -> None:
        """Another `amount` units are done."""

    def note(self, text: str) -> None:  # noqa: B027
        """Something to show beside the work in flight; ignored by default."""

    @abc.abstractmethod
    def finish(self) -> None:
        """The work that was started is done, or was given up."""


class NoProgress(AbstractProgress):
    """Keeps silent."""

    def start(self, label: str, total: int) -> None:
        """Ignores the start."""

    def advance(self, amount: int) -> None:
        """Ignores the advance."""

    def finish(self) -> None:
        """Ignores the end."""
