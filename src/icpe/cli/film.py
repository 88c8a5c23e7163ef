"""Keeps an episode as it is played, and saves it as a moving picture."""

from collections.abc import Callable
from pathlib import Path

from icpe.cli.episode import EpisodeEnd, Exchange
from icpe.core.family import AbstractTaskFamily
from icpe.core.files import replacing
from icpe.core.history import History
from icpe.evaluate.moving import Moment, moving_episode

Shown = Callable[[Exchange, History], None]

_LONGEST = 60
"""Of an outcome in words; pictures have hundreds of numbers."""


class Film:
    """The exchanges of an episode, in words and pictures.

    Args:
        family: the family that is played, for its names and pictures.
    """

    def __init__(self, family: AbstractTaskFamily):
        self._family = family
        self._moments: list[Moment] = []

    def exchange(self, exchange: Exchange, history: History) -> None:
        """Keeps one query, its outcome and the belief after it."""
        spec = self._family.spec
        outcome = spec.describe_outcome(exchange.outcome, exchange.query)
        said = f"{spec.query_name(exchange.query)} → {outcome}"
        if len(said) > _LONGEST:
            said = spec.query_name(exchange.query)
        picture = self._family.episode_picture(history)
        tile = (exchange.query, exchange.outcome) if spec.query_grid else None
        self._moments.append(Moment(said, exchange.belief, tuple(picture), tile))

    def exchange_and(self, also: Shown) -> Shown:
        """Keeps an exchange and hands it on."""

        def both(exchange: Exchange, history: History) -> None:
            self.exchange(exchange, history)
            also(exchange, history)

        return both

    def save(self, path: Path, title: str, end: EpisodeEnd, truth: int | None) -> None:
        """Writes the moving picture."""
        assert end.recommendation is not None
        drawn = moving_episode(
            self._family.spec,
            self._moments,
            title=title,
            answer=end.recommendation,
            truth=truth,
        )
        with replacing(path) as temporary:
            temporary.write_text(drawn, encoding="utf-8")
