"""`icpe play`: one episode in the terminal."""

import dataclasses
import importlib.util
import os
from pathlib import Path
from typing import Annotated

import tyro

from icpe.cli.options import (
    FamilyName,
    Goal,
    Seed,
    Settings,
    Source,
    check_seed,
)

DEFAULT_ERROR_PROB = 0.05


@dataclasses.dataclass(frozen=True)
class Args:
    """Watch one episode step by step, or answer the queries yourself.

    Without --error-prob, --budget or --price the explorer stops at an error
    probability of 0.05, or at the smallest larger one that its file is certified for;
    if it has no certificate, at the smallest that it serves, if that is larger.
    """

    explorer: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="EXPLORER")]
    """Who asks: a trained explorer's file, or a name from `icpe zoo`
    or `icpe baselines`."""
    family: FamilyName = None
    """The family to play; that of the file if left out."""
    source: tyro.conf.OmitArgPrefixes[Source] = dataclasses.field(
        default_factory=Source
    )
    goal: tyro.conf.OmitArgPrefixes[Goal] = dataclasses.field(default_factory=Goal)
    human: bool = False
    """You answer the queries; type undo to take an answer back, quit to leave."""
    seed: Seed = 0
    """Seed of the task, the noise and the explorer."""
    episode: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Show episode N of `icpe evaluate` with the same seed."""
    json: bool = False
    """Print the episode as one line of JSON instead."""
    strip: Annotated[
        Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
    ] = None
    """Draw pictures step by step, as .png, .svg, .pdf or animated .gif; EXPLORER.png
    if left out."""
    save: Annotated[
        Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
    ] = None
    """Save the episode as a moving picture, an .svg that plays in a browser."""
    settings: Settings = dataclasses.field(default_factory=dict)


EXAMPLES = (
    "icpe play gaussian-bandit-4 --error-prob 0.1",
    "icpe play binary-search-8 --human",
)


def run(args: Args) -> int:
    """Plays one episode."""
    from icpe.cli.explorers import check_words, resolve
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.core.checks import check_at_least
    from icpe.core.errors import InvalidParameterError

    check_seed(args.seed)
    check_at_least("--episode", args.episode, 0)
    if args.human and args.json:
        raise InvalidParameterError(
            "--human and --json cannot be combined; leave one of them out."
        )
    if args.human and args.strip is not None:
        raise InvalidParameterError(
            "--human and --strip cannot be combined; leave one of them out."
        )
    _check_save(args)
    check_words(
        [args.explorer],
        args.family,
        args.settings,
        args.source,
        args.goal.request(DEFAULT_ERROR_PROB),
        usual=args.goal.error_prob is None,
    )
    from icpe.artifact.serving import serve

    cast = resolve([args.explorer], args.family, args.settings, args.source)
    _check_strip(args, cast.family)
    args = dataclasses.replace(args, strip=args.strip or _usual_strip(args, cast))
    request = args.goal.request(_usual_error_prob(cast.explorers[args.explorer]))
    player = serve(cast.explorers[args.explorer], request, cast.family)
    keep_compiled_programs()
    if args.human:
        guard = getattr(cast.explorers[args.explorer], "guard", None)
        from icpe.cli.human import play_with_person

        number = (args.seed, args.episode)
        return play_with_person(
            args.explorer, number, cast.family, request, player, guard
        )
    _play_with_simulator(args, cast.family, request, player)
    return 0


def _usual_error_prob(explorer) -> float:
    """What is asked for if nobody says.

    0.05 if that is certified, else the smallest that is; where nothing is certified,
    0.05, or the smallest that is served.
    """
    from icpe.artifact import Artifact
    from icpe.core.errors import OperatingPointError

    if not isinstance(explorer, Artifact) or explorer.table is None:
        return DEFAULT_ERROR_PROB
    if explorer.certificate_for(DEFAULT_ERROR_PROB) is not None:
        return DEFAULT_ERROR_PROB
    if explorer.certified_error_probs:
        return explorer.certified_error_probs[0]
    try:
        explorer.serve(error_prob=DEFAULT_ERROR_PROB)
    except OperatingPointError:
        return explorer.table.smallest_error_prob()
    return DEFAULT_ERROR_PROB


def _play_with_simulator(args: Args, family, request, player) -> None:
    from icpe.cli.episode import SimulatedWorld, episode_key, run_episode
    from icpe.cli.film import Film
    from icpe.cli.terminal import output, print_json
    from icpe.cli.view import EpisodeView, say_what_was_promised, served
    from icpe.families.registry import describe

    console = output()
    spec = family.spec
    view = EpisodeView(console, family)
    film = Film(family)
    world = SimulatedWorld(family, key=episode_key(args.seed, args.episode))
    if not args.json:
        at = served(request, player)
        console.print(f"[bold]{args.explorer}[/] plays {describe(family)}{at}")
    end = run_episode(
        player,
        family,
        world,
        key=world.explorer_key,
        on_exchange=film.exchange if args.json else film.exchange_and(view.exchange),
    )
    if args.json:
        print_json(_record(args.explorer, family, end, world.truth))
    else:
        view.end(end, world.truth)
        say_what_was_promised(console, request)
    if args.save is not None:
        film.save(args.save, args.explorer, end, world.truth)
        if not args.json:
            console.print(f"Saved as a moving picture: {args.save}", highlight=False)
    if args.strip is not None:
        _draw_strip(args.strip, spec, end, world.truth)
        if not args.json:
            console.print(f"Drawn step by step: {args.strip}", highlight=False)


def _check_strip(args: Args, family) -> None:
    """Complains now about what could not be drawn later."""
    from icpe.core.files import check_writable
    from icpe.evaluate.frames import PictureEpisode
    from icpe.evaluate.plots import check_plot_path

    if args.strip is None:
        return
    PictureEpisode(family.spec, (), 0)
    if args.strip.suffix.lower() == ".gif":
        check_writable(args.strip)
    else:
        check_plot_path(args.strip)


def _check_save(args: Args) -> None:
    """Complains now about what could not be saved later."""
    from icpe.core.errors import InvalidParameterError
    from icpe.core.files import check_writable

    if args.save is None:
        return
    if args.human:
        raise InvalidParameterError(
            "--human and --save cannot be combined; leave one of them out."
        )
    if args.save.suffix.lower() != ".svg":
        raise InvalidParameterError(
            f"--save must end in .svg; got {args.save}. For pictures as .gif use "
            "--strip."
        )
    check_writable(args.save)


def _usual_strip(args: Args, cast) -> Path | None:
    """Where pictures are drawn unasked, if they can be."""
    can_draw = importlib.util.find_spec("matplotlib") and os.access(".", os.W_OK)
    if args.human or args.json or not cast.family.spec.query_grid or not can_draw:
        return None
    return Path(f"{Path(args.explorer).stem}.png")


def _draw_strip(path: Path, spec, end, truth: int) -> None:
    from icpe.evaluate.frames import Frame, PictureEpisode, save_animation, strip_figure
    from icpe.evaluate.plots import save_figure

    frames = tuple(Frame(it.query, it.outcome, it.belief) for it in end.exchanges)
    episode = PictureEpisode(spec, frames, truth)
    if path.suffix.lower() == ".gif":
        save_animation(episode, path)
    else:
        save_figure(strip_figure(episode), path)


def _record(name: str, family, end, truth: int) -> dict:
    from icpe.evaluate.report import family_record

    return {
        "explorer": name,
        "family": family_record(family),
        "queries": [it.query for it in end.exchanges],
        "outcomes": [it.outcome.tolist() for it in end.exchanges],
        "stop_reason": end.stop_reason.name.lower(),
        "recommendation": end.recommendation,
        "hypothesis": truth,
        "correct": end.recommendation == truth,
        "undecided": end.undecided,
    }
