"""`icpe demo`: the main job, from one question to a comparison."""

import dataclasses

from icpe.cli.options import Seed, check_seed

_ERROR_PROB = 0.1
_EPISODES = 4_000


@dataclasses.dataclass(frozen=True)
class Args:
    """See the main job done: ask, stop, answer; then compare explorers."""

    seed: Seed = 0
    """Seed of the tasks, the noise and the explorers."""


def run(args: Args) -> int:
    """Plays two episodes and compares two explorers."""
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import output

    check_seed(args.seed)
    keep_compiled_programs()
    console = output()
    for number, part in enumerate((_find_a_number, _find_the_best_arm, _compare), 1):
        if number > 1:
            console.print()
        part(console, number, args.seed)
    console.print(
        "\nYour turn: think of a number from 0 to 63 and run\n"
        "  icpe play exact-binary-search --family binary-search --family.size 64 "
        "--human",
        soft_wrap=True,
    )
    return 0


def _find_a_number(console, number: int, seed: int) -> None:
    from icpe.tasks import BinarySearch

    _title(
        console,
        number,
        "Think of a number from 0 to 63. Each guess is answered lower, hit or higher;",
        "the explorer asks what halves the candidates, and stops when one is left.",
    )
    _show(console, "exact-binary-search", BinarySearch(size=64), seed)


def _find_the_best_arm(console, number: int, seed: int) -> None:
    _title(
        console,
        number,
        "Which of four arms has the largest mean reward, when rewards are noisy?",
        "Bars are the exact probability that an arm is the best; the explorer stops",
        f"when it would be wrong with probability at most {_ERROR_PROB:g}.",
    )
    _show(console, "top-two", _bandit(), seed)


def _compare(console, number: int, seed: int) -> None:
    from icpe.cli.evaluate import print_reports
    from icpe.cli.terminal import progress_meter
    from icpe.evaluate import evaluate
    from icpe.explorers import make_explorer

    _title(
        console,
        number,
        f"The same on {_EPISODES} fresh tasks, beside random pulls.",
    )
    family = _bandit()
    names = ("uniform", "top-two")
    reports = evaluate(
        {name: make_explorer(name, family) for name in names},
        family,
        error_prob=_ERROR_PROB,
        episodes=_EPISODES,
        seed=seed,
        progress=progress_meter(),
    )
    print_reports(console, reports)
    uniform, top_two = reports
    saved = 1 - top_two.mean_queries / uniform.mean_queries
    console.print(
        f"Asking the right questions saves {saved:.0%} of the queries at the same "
        "error probability."
    )


def _bandit():
    from icpe.tasks import GaussianBandit

    return GaussianBandit(num_arms=4)


def _show(console, name: str, family, seed: int) -> None:
    from icpe.cli.episode import SimulatedWorld, episode_key, run_episode
    from icpe.cli.view import EpisodeView
    from icpe.explorers import make_explorer
    from icpe.types import OperatingPoint

    world = SimulatedWorld(family, key=episode_key(seed, 0))
    view = EpisodeView(console, family.spec)
    point = OperatingPoint.at(family.spec.horizon, error_prob=_ERROR_PROB)
    end = run_episode(
        make_explorer(name, family),
        family.spec,
        point,
        world,
        key=world.explorer_key,
        on_turn=view.turn,
    )
    view.end(end, world.truth)


def _title(console, number: int, *lines: str) -> None:
    console.print(f"[bold]{number}. {lines[0]}[/]")
    for line in lines[1:]:
        console.print(f"   [bold]{line}[/]")
