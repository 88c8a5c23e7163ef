"""`icpe bench`: how fast the learners and a session are here."""

import dataclasses

from icpe.cli.options import Seed, check_seed


@dataclasses.dataclass(frozen=True)
class Args:
    """Time one update of the learner, its parts, and the asks and tells of a session.

    The paper's learner is timed beside it, with the same networks in the same run. The
    task is a Gaussian bandit of ten arms; episodes are played to their last step. Run
    it on an idle machine: other work shows in the figures.
    """

    episodes: int | None = None
    """Episodes in an update; 2048 on an accelerator, 64 on a CPU."""
    steps: int = 100
    """Steps in an episode."""
    width: int = 128
    """Width of the Transformers."""
    layers: int = 3
    """Blocks in each Transformer."""
    repeats: int = 10
    """Timed runs; the median counts."""
    race: bool = False
    """Instead, train both learners until they are good enough, on two families."""
    race_seconds: float = 300.0
    """Most seconds for each learner and family in the race."""
    environment: str | None = None
    """Instead, time a Gymnasium environment of this id, stepped on the host."""
    json: bool = False
    """Print one line of JSON."""
    seed: Seed = 0
    """Seed of the race."""


EXAMPLES = (
    "icpe bench",
    "icpe bench --race --race-seconds 60",
)


def run(args: Args) -> int:
    """Measures and prints."""
    from icpe.core.checks import check_at_least

    check_seed(args.seed)
    for option in ("episodes", "steps", "width", "layers", "repeats"):
        if getattr(args, option) is not None:
            check_at_least(f"--{option}", getattr(args, option), 1)
    import jax

    from icpe.cli.terminal import output, print_json
    from icpe.studies.speed import Workload, measure_speed

    if args.race:
        return _race(args)
    if args.environment is not None:
        return _environment(args)
    on_cpu = jax.default_backend() == "cpu"
    workload = Workload(
        episodes=(64 if on_cpu else 2048) if args.episodes is None else args.episodes,
        steps=args.steps,
        width=args.width,
        layers=args.layers,
        repeats=args.repeats,
    )
    speed = measure_speed(workload)
    if args.json:
        print_json({**dataclasses.asdict(workload), **speed.to_dict()})
    else:
        output().print(_table(workload, speed))
    return 0


def _table(workload, speed):
    from rich.table import Table

    title = (
        f"{workload.episodes} episodes of {workload.steps} steps, width "
        f"{workload.width}, {workload.layers} layers, on {speed.device}"
    )
    paper = speed.paper
    table = Table(title=title, title_justify="left", box=None, show_header=False)
    table.add_column("what")
    table.add_column("figure", justify="right")
    for what, figure in (
        ("one update: rollout and gradient step", f"{speed.update_ms:.1f} ms"),
        ("  rollout", f"{speed.rollout_ms:.1f} ms"),
        ("  gradient step of both networks", f"{speed.gradient_ms:.1f} ms"),
        ("episodes trained per second", f"{speed.episodes_per_second:,.0f}"),
        ("steps played per second", f"{speed.rollout_steps_per_second:,.0f}"),
        ("compiling the update", f"{speed.compile_seconds:.1f} s"),
        ("the paper's learner: the same episodes", f"{paper.update_ms:,.0f} ms"),
        ("  rollout", f"{paper.rollout_ms:.1f} ms"),
        (
            f"  {paper.gradient_steps} gradient steps on {workload.episodes} prefixes",
            f"{paper.gradient_ms:.1f} ms each",
        ),
        ("  episodes trained per second", f"{paper.episodes_per_second:,.1f}"),
        ("  ours over the paper's", f"{speed.episodes_ratio:.1f}"),
        (f"session, history of {workload.steps}: ask", f"{speed.ask_ms:.3f} ms"),
        (f"session, history of {workload.steps}: tell", f"{speed.tell_ms:.3f} ms"),
    ):
        table.add_row(what, figure)
    return table


def _environment(args: Args) -> int:
    from icpe.cli.terminal import output, print_json
    from icpe.core.checks import check_num_episodes
    from icpe.integrations.gymnasium import from_gymnasium
    from icpe.studies.host_speed import measure_host_speed

    assert args.environment is not None
    episodes = 64 if args.episodes is None else args.episodes
    check_num_episodes("--episodes", episodes)
    # What there is to find out does not matter for its speed.
    family = from_gymnasium(args.environment, num_hypotheses=2**20, horizon=args.steps)
    speed = measure_host_speed(family, episodes, seed=args.seed)
    if args.json:
        print_json(speed.to_dict())
        return 0
    output().print(
        f"{speed.environment}: {speed.steps_per_second:,.0f} steps a second with a "
        f"policy on {speed.device}, {speed.episodes} episodes side by side; "
        f"{speed.alone_steps_per_second:,.0f} by itself"
    )
    return 0


def _race(args: Args) -> int:
    import jax

    from icpe.cli.terminal import output, print_json, progress_meter
    from icpe.core.checks import check_positive
    from icpe.studies.race import GOALS, race

    check_positive("--race-seconds", args.race_seconds)
    machine = "cpu" if jax.default_backend() == "cpu" else "gpu"
    finishes = [
        finish
        for goal in GOALS
        for finish in race(
            goal,
            machine=machine,
            time_limit=args.race_seconds,
            seed=args.seed,
            progress=progress_meter(),
        )
    ]
    if args.json:
        print_json([finish.to_dict() for finish in finishes])
    else:
        output().print(_race_table(finishes))
    return 0


def _race_table(finishes):
    from rich.table import Table

    table = Table(box=None, title=f"on {finishes[0].device}", title_justify="left")
    for heading in ("family", "goal", "learner", "reached", "seconds", "there with"):
        table.add_column(heading)
    for finish in finishes:
        accuracy, queries = finish.goal
        table.add_row(
            finish.family,
            f"{accuracy:g} with {queries:g}",
            finish.learner,
            "yes" if finish.reached else "no",
            f"{finish.seconds:.0f}",
            f"{finish.accuracy:.3f} with {finish.mean_queries:.2f}",
        )
    return table
