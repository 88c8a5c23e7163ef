"""`icpe train`: train an explorer for a family."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from icpe.cli.options import (
    Seed,
    Settings,
    Source,
    Together,
    check_error_prob,
    check_seed,
)
from icpe.cli.train_settings import changes_of
from icpe.cli.typed import again_with
from icpe.core.errors import CheckpointError, IcpeError, InvalidParameterError
from icpe.studies.durations import parse_duration


@dataclasses.dataclass(frozen=True, kw_only=True)
class Args:
    """Train an explorer for a family, measure it, and write it to a file.

    A short simulation shows what the family is like, and all settings follow from it.
    Set the parameter x of the family by --family.x VALUE, and the setting x of the
    training by --train.x VALUE; `icpe train FAMILY --help` lists them. The paper's
    learner trains for one request: --learner paper --error-prob P, or --train.budget N.
    Without either it chooses one and says which. Ctrl-C, SIGTERM, SIGHUP and the time
    limit leave a checkpoint and no file; the same command with --resume continues.
    """

    family: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(metavar="FAMILY", help_behavior_hint=""),
    ] = ""
    """The family to train for: a name from `icpe tasks`, or FILE.py:CLASS.
    Leave it out if you give data."""
    source: tyro.conf.OmitArgPrefixes[Source] = dataclasses.field(
        default_factory=Source
    )
    out: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """Where the explorer is written when all is done."""
    overwrite: bool = False
    """Replace FILE if it is there already, with its certificates."""
    learner: Annotated[
        Literal["universal", "paper"], tyro.conf.arg(metavar="universal|paper")
    ] = "universal"
    """One model for every price and budget, or the paper's, for one request alone."""
    error_prob: Annotated[
        float | None, tyro.conf.arg(metavar="P", help_behavior_hint="")
    ] = None
    """Train for this error probability, until it is served; for all if left out."""
    preset: Annotated[
        Literal["cpu", "gpu"] | None,
        tyro.conf.arg(metavar="cpu|gpu", help_behavior_hint=""),
    ] = None
    """Settings for two cores, or for one GPU; by the hardware if left out."""
    start_from: Annotated[
        str | None,
        tyro.conf.arg(name="from", metavar="FILE", help_behavior_hint=""),
    ] = None
    """Start from this explorer, or one from `icpe zoo`, instead of from scratch."""
    time_limit: Annotated[
        str | None, tyro.conf.arg(metavar="TIME", help_behavior_hint="")
    ] = None
    """Stop training after this time, 90, 90s, 9m or 1h, with a checkpoint to resume
    from; FILE is written when training is complete."""
    all_iterations: bool = False
    """Do not end when the explorer has stopped getting better."""
    plot: Annotated[
        Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
    ] = None
    """Draw how the explorer improved to FILE (.svg, .png or .pdf)."""
    resume: bool = False
    """Continue from the checkpoint beside FILE."""
    checkpoint_seconds: Annotated[float, tyro.conf.arg(metavar="S")] = 60.0
    """Seconds between two checkpoints; 0 makes one whenever progress is reported."""
    light_checkpoint: bool = False
    """Leave the remembered episodes out of checkpoints, and play new ones."""
    calibration_episodes: Annotated[int, tyro.conf.arg(metavar="N")] = 4096
    """Episodes for each row of the operating table, or for the one request."""
    no_rule: bool = False
    """Do not compare with the best rule that has an exact belief, and do not take it
    where training has clearly lost against it."""
    together: tyro.conf.OmitArgPrefixes[Together] = dataclasses.field(
        default_factory=Together
    )
    seed: Seed = 0
    """Seed of the training."""
    settings: Settings = dataclasses.field(default_factory=dict)
    train_settings: Settings = dataclasses.field(default_factory=dict)


EXAMPLES = (
    "icpe train gaussian-bandit --family.num-arms 4 --out mine.safetensors",
    "icpe train binary-search --out mine.safetensors --time-limit 9m --resume",
)


def run(args: Args) -> int:
    """Trains, measures, saves."""
    from icpe.cli.processes import together, written_by_the_first
    from icpe.core import signals
    from icpe.core.training_paths import checkpoint_path

    _check_request(args)
    checkpoint = checkpoint_path(args.out)
    with (
        together(args),
        written_by_the_first(args.out, "icpe train"),
        signals.saying_farewell(lambda: _farewell(args, checkpoint)),
    ):
        return _run(args, checkpoint)


def _check_request(args: Args) -> None:
    """Complains about what can be seen before anything is loaded."""
    from icpe.cli.artifact_files import check_out, check_readable, readable_file
    from icpe.cli.families import check_family
    from icpe.cli.processes import processes_of
    from icpe.core.checks import check_at_least, check_num_episodes
    from icpe.core.figure_paths import check_figure_path

    check_seed(args.seed)
    processes_of(args.together)
    check_num_episodes("--calibration-episodes", args.calibration_episodes)
    check_at_least("checkpoint_seconds", args.checkpoint_seconds, 0.0)
    if not args.together.process_id:  # the first one writes, and its folder is there
        check_out(args.out, overwrite=True)
    check_family(args.family, args.settings, args.source)
    check_error_prob(args.error_prob)
    _changes(args)
    parse_duration(args.time_limit or "inf")
    if args.start_from is not None:
        if args.learner == "paper":
            raise InvalidParameterError(
                "--from cannot be combined with --learner paper, which trains from "
                "scratch; leave one of them out."
            )
        check_readable(readable_file(args.start_from))
    if args.plot is not None:
        check_figure_path(args.plot)


def _run(args: Args, checkpoint: Path) -> int:
    """The same, where nobody else writes the file."""
    from icpe.cli.artifact_files import check_out, readable_file
    from icpe.core.distributed import leads

    if leads():
        # A training that is resumed was allowed to write there when it began.
        check_out(args.out, overwrite=args.overwrite or args.resume)
        _check_checkpoint(args, checkpoint)
    from icpe.artifact.artifact import Artifact
    from icpe.cli.card import print_card
    from icpe.cli.families import build_family
    from icpe.cli.processes import check_same_content
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import output, progress_meter
    from icpe.core import signals
    from icpe.core.conformance import check_is_family
    from icpe.evaluate.learning_figure import learning_figure
    from icpe.evaluate.plots import check_plot_path, save_figure
    from icpe.learn.fit import FitOptions, TrainingInterrupted
    from icpe.workflow import metrics_path, train

    options = FitOptions(
        checkpoint=checkpoint,
        checkpoint_seconds=args.checkpoint_seconds,
        light_checkpoint=args.light_checkpoint,
        resume=args.resume,
        time_limit=parse_duration(args.time_limit or "inf"),
        metrics=metrics_path(args.out),
    )
    family = build_family(args.family, args.settings, args.source)
    earlier = None
    if args.start_from is not None:
        earlier = Artifact.load(readable_file(args.start_from))
    check_is_family(family)
    started = [] if args.start_from is None else [readable_file(args.start_from)]
    check_same_content(started, family)
    if args.plot is not None:
        check_plot_path(args.plot)
    keep_compiled_programs()
    config = build_config(args, family, earlier)
    if not leads():
        pass
    elif args.learner == "paper":
        _say_what_for(config)
    else:
        _say_what_to_expect(family, config)
    try:
        artifact, stopped = train(
            family,
            config,
            options,
            start_from=earlier,
            calibration_episodes=args.calibration_episodes,
            ends_early=not args.all_iterations,
            progress=progress_meter(),
        )
    except TrainingInterrupted as error:
        done, total = error.iterations, config.num_iterations
        what = f"Interrupted after {done} of {total} iterations"
        _explain_how_to_resume(what, args, checkpoint)
        return signals.exit_status()
    except KeyboardInterrupt:
        if not checkpoint.exists():
            raise
        _explain_how_to_resume("Interrupted", args, checkpoint)
        return signals.exit_status()
    if stopped is not None:
        done, total = artifact.provenance["iterations"], config.num_iterations
        what = f"Time limit reached after {done} of {total} iterations"
        _explain_how_to_resume(what, args, checkpoint)
        return 0
    if not args.no_rule and args.learner != "paper":
        artifact = or_rule(_with_gain(artifact, args), args)
    if not leads():
        return 0
    _save(artifact, args, checkpoint)
    print_card(output(), artifact.document(), str(args.out))
    if args.plot is not None:
        save_figure(learning_figure(metrics_path(args.out)), args.plot)
    return 0


def _with_gain(artifact, args: Args):
    """With what training gains over a rule, where there were enough episodes."""
    from icpe.cli.terminal import progress_meter
    from icpe.evaluate.guard import FEWEST_EPISODES
    from icpe.workflow import with_gain

    if args.calibration_episodes < FEWEST_EPISODES:
        return artifact
    return with_gain(
        artifact,
        episodes=min(2048, args.calibration_episodes),
        seed=args.seed,
        progress=progress_meter(),
    )


def or_rule(artifact, args: Args):
    """The rule itself where training has clearly lost against it."""
    from icpe.artifact.rule_gain import RuleGain
    from icpe.cli.terminal import progress_meter
    from icpe.core.distributed import leads
    from icpe.workflow import make_rule

    if artifact.against_rule is None:
        return artifact
    gain = RuleGain.from_dict(artifact.against_rule)
    if not gain.is_clear_loss:
        return artifact
    if leads():
        print(
            f"icpe: {gain.sentence} The file gets that rule; to get what was trained, "
            "add --no-rule.",
            file=sys.stderr,
        )
    return make_rule(
        artifact.family,
        gain.rule,
        calibration_episodes=args.calibration_episodes,
        seed=args.seed,
        progress=progress_meter(),
    )


def _save(artifact, args: Args, checkpoint: Path) -> None:
    """Writes the file; the checkpoint goes when that has gone well."""
    from icpe.cli.artifact_files import check_out

    try:
        check_out(args.out, overwrite=args.overwrite or args.resume)
        artifact.save(args.out)
    except (IcpeError, OSError):
        _explain_how_to_resume(
            "The training is done, but not written", args, checkpoint
        )
        raise
    checkpoint.unlink(missing_ok=True)


def more_help(words: Sequence[str]) -> None:
    """What can be set beside the options."""
    from icpe.cli.train_help import print_settings

    print_settings(words)


def build_config(args: Args, family, earlier):
    """The preset, with the networks of an earlier explorer, and the user's changes."""
    import jax

    from icpe.learn.paper.presets import paper_preset
    from icpe.learn.recipe import preset
    from icpe.learn.transfer import like_networks

    name = args.preset or ("gpu" if jax.default_backend() == "gpu" else "cpu")
    if args.learner == "paper":
        config = paper_preset(name, family)
    elif earlier is not None:
        config = like_networks(preset(name, family), earlier.universal_nets)
    else:
        config = preset(name, family)
    return dataclasses.replace(config, **_changes(args), seed=args.seed)


def _changes(args: Args) -> dict:
    return changes_of(args.learner, args.train_settings, args.error_prob)


def _say_what_to_expect(family, config) -> None:
    """What a first look at the family tells, before any training."""
    from icpe.learn.recipe import outlook, without_noise

    for sentence in (outlook(family, config), without_noise(family)):
        if sentence:
            print(f"icpe: {sentence}", file=sys.stderr)


def _say_what_for(config) -> None:
    print(
        f"icpe: Training for {config.objective} alone; --train.error-prob P or "
        "--train.budget N asks for another request.",
        file=sys.stderr,
    )


def _check_checkpoint(args: Args, checkpoint: Path) -> None:
    """What lies beside the file must be what is asked for."""
    if checkpoint.exists() and not args.resume:
        raise CheckpointError(
            f"{checkpoint} holds an unfinished training; add --resume to continue "
            "it, or remove it to start again."
        )
    if args.resume and not checkpoint.exists():
        raise CheckpointError(
            f"There is no checkpoint {checkpoint} to resume from; leave --resume out."
        )


def _explain_how_to_resume(what: str, args: Args, checkpoint: Path) -> None:
    from icpe.core.distributed import leads

    if leads():
        print(f"icpe: {_how_to_resume(what, args, checkpoint)}", file=sys.stderr)


def _how_to_resume(what: str, args: Args, checkpoint: Path) -> str:
    return (
        f"{what}; the training is kept in {checkpoint}, and {args.out} is written when "
        f"it is complete. To go on: {again_with('--resume')}"
    )


def _farewell(args: Args, checkpoint: Path) -> str:
    if not checkpoint.exists():
        return "Interrupted."
    return _how_to_resume("Interrupted", args, checkpoint)
