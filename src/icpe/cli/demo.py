"""`icpe demo`: a session from start to finish, then a comparison."""

import dataclasses

from icpe.cli.options import Seed, check_seed

_ERROR_PROB = 0.1
_EPISODES = 2_000
_NUMBERS = "binary-search-8"
_ARMS = "gaussian-bandit-4"
_RIVALS = ("uniform", "top-two")


@dataclasses.dataclass(frozen=True)
class Args:
    """See a session from start to finish: ask, stop, answer; then compare explorers."""

    seed: Seed = 0
    """Seed of the tasks, the noise and the explorers."""


EXAMPLES = (
    "icpe demo",
    "icpe demo --seed 3",
)


def run(args: Args) -> int:
    """Plays two episodes with explorers of the zoo and compares one with others."""
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
        "\nYour turn: think of a number from 0 to 7 and run\n"
        f"  icpe play {_NUMBERS} --error-prob 0.01 --human\n"
        "More trained explorers: icpe zoo",
        soft_wrap=True,
    )
    return 0


def _find_a_number(console, number: int, seed: int) -> None:
    _title(
        console,
        number,
        "Think of a number from 0 to 7. Each guess is answered lower, hit or higher.",
        f"{_NUMBERS} was trained to ask; bars are how sure it is of each number.",
    )
    _show(console, _NUMBERS, 0.01, seed)


def _find_the_best_arm(console, number: int, seed: int) -> None:
    from icpe import zoo

    _title(
        console,
        number,
        "Which of four arms has the largest mean reward, when rewards are noisy?",
        f"{_ARMS} stops where it is wrong with probability at most {_ERROR_PROB:g}, on",
        "average over all such bandits, as certified with confidence "
        f"{zoo.card(_ARMS).confidence:g}.",
    )
    _show(console, _ARMS, _ERROR_PROB, seed)


def _compare(console, number: int, seed: int) -> None:
    from icpe.cli.compare import comparison_lines
    from icpe.cli.explorers import resolve
    from icpe.cli.terminal import progress_meter
    from icpe.evaluate.equal_accuracy import compare_at_accuracy

    accuracy = 1 - _ERROR_PROB
    _title(
        console,
        number,
        f"The same on {_EPISODES} fresh tasks, beside random pulls and a method that",
        "knows the prior and computes the exact posterior. Each stops so that it is",
        f"right with probability {accuracy:g}.",
    )
    cast = resolve([_ARMS, *_RIVALS], None, {})
    rows = compare_at_accuracy(
        cast.explorers,
        cast.family,
        accuracy,
        episodes=_EPISODES,
        seed=seed,
        progress=progress_meter(),
    )
    for line in comparison_lines([dataclasses.asdict(row) for row in rows]):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    random = rows[1]
    if random.saving is not None and random.saving_interval is not None:
        low, high = random.saving_interval
        console.print(
            "At equal accuracy, asking the right questions saves "
            f"{100 * random.saving:.0f} % of the queries of random pulls "
            f"(95 % interval {100 * low:.0f} to {100 * high:.0f} %).",
            soft_wrap=True,
            highlight=False,
        )


def _show(console, name: str, error_prob: float, seed: int) -> None:
    from icpe.artifact.serving import serve
    from icpe.cli.episode import SimulatedWorld, episode_key, run_episode
    from icpe.cli.explorers import resolve
    from icpe.cli.view import EpisodeView
    from icpe.core.request import Request

    cast = resolve([name], None, {})
    family = cast.family
    player = serve(cast.explorers[name], Request(error_prob=error_prob), family)
    world = SimulatedWorld(family, key=episode_key(seed, 0))
    view = EpisodeView(console, family)
    end = run_episode(
        player, family, world, key=world.explorer_key, on_exchange=view.exchange
    )
    view.end(end, world.truth)


def _title(console, number: int, *lines: str) -> None:
    console.print(f"[bold]{number}. {lines[0]}[/]")
    for line in lines[1:]:
        console.print(f"   [bold]{line}[/]")
