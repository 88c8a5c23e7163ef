"""`icpe bench`: how fast the learner and a session are here."""

import dataclasses

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """Time one update of the learner, its parts, and the asks and tells of a session.

    The task is a Gaussian bandit of ten arms; episodes are played to their last
    step. Run it alone: other work on the machine shows in the figures.
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
    json: bool = False
    """Print one line of JSON."""
    seed: Seed = 0
    """Not used; accepted by every command."""


def run(args: Args) -> int:
    """Measures and prints."""
    import jax

    from icpe.cli.terminal import output, print_json
    from icpe.studies.speed import Workload, measure_speed

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
        (f"session, history of {workload.steps}: ask", f"{speed.ask_ms:.3f} ms"),
        (f"session, history of {workload.steps}: tell", f"{speed.tell_ms:.3f} ms"),
    ):
        table.add_row(what, figure)
    return table
