"""How an episode looks in the terminal."""

import numpy as np
from rich.console import Console
from rich.markup import escape

from icpe.artifact.player import Player
from icpe.cli.episode import EpisodeEnd, Exchange
from icpe.cli.terminal import assurance, bar, skyline
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.request import Request
from icpe.core.spec import TaskSpec

_BAR_WIDTH = 24
_NUM_BARS = 6
_LIKELY = 0.1
_SKYLINE_WIDTH = 64


class EpisodeView:
    """Shows the exchanges and the end of an episode.

    Args:
        console: where to write.
        family: the family that is played, for its names and pictures.
        show_query: whether an exchange repeats the query and its outcome.
    """

    def __init__(
        self, console: Console, family: AbstractTaskFamily, *, show_query: bool = True
    ):
        self._console, self._family, self._show_query = console, family, show_query
        self._spec = family.spec

    def exchange(self, exchange: Exchange, history: History) -> None:
        """One query, its outcome and the belief after it."""
        picture = self._family.episode_picture(history)
        if self._show_query:
            query = escape(self._spec.query_name(exchange.query))
            line = f"[bold]{exchange.number:>3}.[/] query [cyan]{query}[/]"
            if not picture:
                line += f" → {escape(self._described(exchange))}"
            self._console.print(line)
        for line in picture:
            self._console.print(f"       {escape(line)}", highlight=False)
        if exchange.belief is not None:
            for line in belief_lines(exchange.belief, self._spec):
                self._console.print(f"       {line}")

    def _described(self, exchange: Exchange) -> str:
        answers = self._family.answers()
        if answers is None:
            return self._spec.describe_outcome(exchange.outcome, exchange.query)
        return answers.words(exchange.query, exchange.outcome)

    def end(self, end: EpisodeEnd, truth: int | None) -> None:
        """Why it stopped, the answer, and whether it is right."""
        spec, console = self._spec, self._console
        if end.recommendation is None:
            console.print(
                "[yellow]These answers contradict each other: no hypothesis fits them "
                "all.[/] Start again if one was a slip."
            )
            return
        count = len(end.exchanges)
        console.print(
            f"Stopped after {count} {'query' if count == 1 else 'queries'}: "
            f"{end.stop_reason.sentence}."
        )
        if end.undecided:
            console.print(
                "[yellow]Undecided[/]: the belief that was asked for was not reached."
            )
        if self._nothing_was_known(end):
            console.print(
                "[yellow]No answer was known[/]: what follows is a guess, by how "
                "common each answer is."
            )
        answer = escape(spec.hypothesis_name(end.recommendation))
        if truth is None:
            console.print(f"The answer: [bold]{answer}[/].")
        elif truth == end.recommendation:
            console.print(f"The answer: [bold green]{answer}[/], which is right.")
        else:
            right = escape(spec.hypothesis_name(truth))
            console.print(
                f"The answer: [bold red]{answer}[/], which is wrong; it was {right}."
            )

    def _nothing_was_known(self, end: EpisodeEnd) -> bool:
        answers = self._family.answers()
        return (
            answers is not None
            and len(end.exchanges) > 0
            and all(answers.is_unknown(it.query, it.outcome) for it in end.exchanges)
        )


def belief_lines(belief: np.ndarray, spec: TaskSpec) -> list[str]:
    """Bars of the likely hypotheses, below a picture of all if they are many.

    The bars stand in the order of the hypotheses, so that they do not jump from turn
    to turn.
    """
    many = len(belief) > _NUM_BARS
    lines = [f"[blue]{skyline(belief, _SKYLINE_WIDTH)}[/]"] if many else []
    likeliest = np.argsort(-belief, kind="stable")[:_NUM_BARS]
    shown = sorted(int(h) for h in likeliest if belief[h] >= _LIKELY or not many)
    width = max((len(spec.hypothesis_name(h)) for h in shown), default=0)
    lines += [
        f"{escape(spec.hypothesis_name(h).rjust(width))} "
        f"[blue]{bar(float(belief[h]), _BAR_WIDTH)}[/] {belief[h]:.3f}"
        for h in shown
    ]
    num_others = int(np.sum(belief > 0)) - int(np.sum(belief[shown] > 0))
    if num_others:
        rest = max(0.0, float(1 - np.sum(belief[shown])))
        noun, verb = ("other", "has") if shown else ("hypotheses", "share")
        if shown and num_others > 1:
            noun, verb = "others", "share"
        lines.append(f"[dim]{num_others} {noun} {verb} {rest:.3f}[/]")
    return lines


def say_what_was_promised(console: Console, request: Request) -> None:
    """In the words of the request, if it promises anything."""
    if request.promised is not None:
        console.print(
            f"[dim]Asked for: {request.promised}.[/]", soft_wrap=True, highlight=False
        )


def served(request: Request, player: Player) -> str:
    """The price of a trained explorer, and whether its error is certified there."""
    price = float(player.operating_point.price)
    if not price:
        return ""
    if request.error_prob is None:
        return f" at price {price:.4g}"
    it = player.certificate
    state = assurance(*(None, None) if it is None else (it.confidence, it.attempt))
    return f" at price {price:.4g}, {state}"
