"""`icpe play --human`: a person answers the queries."""

import dataclasses
import functools as ft
import sys

import jax.random as jr
from rich.console import Console
from rich.markup import escape

from icpe.artifact.guard import Guard
from icpe.artifact.player import Player
from icpe.cli.episode import EpisodeEnd, Exchange, episode_key, run_episode
from icpe.cli.person import (
    InputEnded,
    Person,
    PersonLeft,
    TakenBack,
    check_person_can_play,
    invitation,
)
from icpe.cli.terminal import output
from icpe.cli.view import EpisodeView, say_what_was_promised, served
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.request import Request
from icpe.deploy.departures import UNDONE
from icpe.families.registry import describe, family_name


def play_with_person(
    explorer: str,
    number: tuple[int, int],
    family: AbstractTaskFamily,
    request: Request,
    player: Player,
    guard: Guard | None,
) -> int:
    """The exit status: 1 if the input ended before there was an answer.

    Args:
        explorer: what it is called.
        number: seed and episode, which decide the explorer's own randomness.
        family: whose queries the person answers.
        request: what was asked for.
        player: explorer, operating point and certificate.
        guard: of the explorer's file, if it has one.
    """
    console, name = output(), family_name(family)
    check_person_can_play(family, name)
    view = EpisodeView(console, family, show_query=False)
    person = Person(family, read=input, write=ft.partial(console.print, markup=False))
    console.print(
        f"[bold]{escape(explorer)}[/] questions you: {escape(describe(family))}"
        f"{served(request, player)}"
    )
    if player.certificate is not None:
        say_what_was_promised(console, request)
    console.print(
        f"{escape(invitation(family, name))}; type undo to take an answer back, quit "
        "to leave."
    )

    def show(exchange: Exchange, history: History) -> None:
        if exchange.number > person.num_kept:
            view.exchange(exchange, history)

    def episode() -> EpisodeEnd:
        return run_episode(
            player,
            family,
            person,
            key=jr.fold_in(episode_key(*number), 0),
            on_exchange=show,
            notices_contradictions=True,
            guard=guard,
        )

    try:
        end = _until_the_end(episode, person, console)
    except InputEnded:
        number_of = person.num_answers
        print(
            f"icpe: The input ended after {number_of} "
            f"answer{'' if number_of == 1 else 's'}, before there was a result.",
            file=sys.stderr,
        )
        return 1
    except (PersonLeft, KeyboardInterrupt):
        console.print("\nGoodbye.")
        return 0
    view.end(end, truth=None)
    if end.strange is None:
        say_what_was_promised(console, request)
    if player.certificate is not None:
        _say_what_holds(console, end, guard)
    return 0


def _until_the_end(episode, person: Person, console: Console) -> EpisodeEnd:
    """Plays again from the start whenever the last answer was taken back."""
    taken_back = None
    while True:
        try:
            end = episode()
        except TakenBack:
            taken_back = UNDONE
            person.take_back()
            console.print("   The last answer is taken back.", highlight=False)
        else:
            return dataclasses.replace(end, strange=end.strange or taken_back)


def _say_what_holds(console: Console, end: EpisodeEnd, guard: Guard | None) -> None:
    """Whether the certificate covers what a person answered."""
    if end.strange is not None:
        dot = "" if end.strange.endswith("?") else "."
        said = f"The certificate does not cover this: {end.strange}{dot}"
    elif guard is None:
        said = "Nothing checked whether the answers look right: mind the units."
    else:
        return
    console.print(said, soft_wrap=True, highlight=False, markup=False)
