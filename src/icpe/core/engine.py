"""Where independent pieces of work are run: here, one after the other, or elsewhere.

An engine is chosen once, by whoever starts the program; whatever plays many episodes
looks for it here, so that no function has to pass it on.
"""

import abc
import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class AbstractEngine(abc.ABC):
    """Runs independent pieces of work, each exactly once as far as anyone can see."""

    @abc.abstractmethod
    def run(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        """The number of each item and what came of it, as they end.

        Work whose process died is done again. Whoever stops asking for more leaves no
        work behind.

        Args:
            work: a pure function; it may be run in another process, on another machine.
            items: what it is run on.

        Raises:
            Exception: whatever `work` raised, as itself.
        """


class LocalEngine(AbstractEngine):
    """Here, one after the other, each when the next is asked for."""

    def run(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        for number, item in enumerate(items):
            yield number, work(item)


_chosen: contextvars.ContextVar[AbstractEngine | None] = contextvars.ContextVar(
    "engine", default=None
)


@contextlib.contextmanager
def spread_over(engine: AbstractEngine | None) -> Iterator[None]:
    """Lets everything that plays many episodes do so with this engine; None: here."""
    token = _chosen.set(engine)
    try:
        yield
    finally:
        _chosen.reset(token)


def chosen_engine() -> AbstractEngine | None:
    """The engine of `spread_over`, None outside of it."""
    return _chosen.get()


def in_order(
    engine: AbstractEngine, work: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[Result]:
    """What came of each item, in the order of the items."""
    early: dict[int, Result] = {}
    wanted = 0
    for number, result in engine.run(work, items):
        early[number] = result
        while wanted in early:
            yield early.pop(wanted)
            wanted += 1
