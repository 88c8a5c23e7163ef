"""`icpe certify`: show by tests how rarely a trained explorer errs."""

import dataclasses
from typing import Annotated, Any

import tyro

from icpe.cli.options import Where

_NOT_CERTIFIED = 1
_NUM_WORST = 5


def _optional(metavar: str) -> Any:
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


@dataclasses.dataclass(frozen=True)
class Args:
    """Certify the error probability of a trained explorer, or check a certificate.

    Up to 8 prices are tested on fresh episodes, each until it passes or hardly can; the
    cheapest that passed is certified and used from then on. The outcome is written to
    the file in any case, and asking again goes on from there at no cost of confidence;
    another operating table or seed is another attempt, with half the error left. The
    exit status is 1 if nothing was certified.
    """

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """The file of the explorer; with --verify also a name from `icpe zoo`."""
    error_prob: Annotated[float | None, _optional("P")] = None
    """The largest probability of a wrong answer, on average over the family."""
    budget: Annotated[int | None, _optional("N")] = None
    """Instead of it: a fixed number of queries, for a lower bound of the accuracy."""
    confidence: Annotated[float, tyro.conf.arg(metavar="C")] = 0.95
    """Confidence of the certificate, and of the lower bound; requests are served by
    0.95 and more. With --verify: the least confidence of the one to check."""
    episodes: Annotated[int | None, _optional("N")] = None
    """The most episodes at each price, earlier ones included, and in the bound; if left
    out, enough to show an accuracy that is 0.01 above."""
    seed: Annotated[int | None, _optional("N")] = None
    """Seed of the episodes; if left out, a hash of weights and family. Another seed is
    another attempt."""
    verify: bool = False
    """Check the certificate in the file instead: is it unchanged, and does its test
    come out again (with --seed: on fresh episodes)? Nothing is written.
    Where the file has one certificate, --error-prob and --budget may be left out."""
    json: bool = False
    """Print one line of JSON."""
    where: tyro.conf.OmitArgPrefixes[Where] = dataclasses.field(default_factory=Where)


EXAMPLES = (
    "icpe certify mine.safetensors --error-prob 0.1",
    "icpe certify gaussian-bandit-4 --verify",
)


def run(args: Args) -> int:
    """Certifies and writes back, or verifies."""
    from icpe.cli.artifact_files import changeable_file, check_readable, readable_file
    from icpe.cli.engines import spread
    from icpe.cli.options import check_seed
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.core.files import check_writable
    from icpe.core.locks import locked

    if args.seed is not None:
        check_seed(args.seed)
    _check_request(args)
    find = readable_file if args.verify else changeable_file
    check_readable(find(args.file))
    from icpe.artifact.artifact import Artifact

    if args.verify:
        artifact = Artifact.load(readable_file(args.file))
        keep_compiled_programs()
        with spread(args.where.engine, args.where.address):
            return _verify(args, artifact)
    path = changeable_file(args.file)
    check_writable(path)
    # The number of the attempt follows from what the file has, so nobody else may
    # add to it before this one is written.
    engine = spread(args.where.engine, args.where.address)
    with locked(path, "icpe certify"), engine:
        artifact = Artifact.load(path)
        keep_compiled_programs()
        return _certify(args, artifact, path)


def _check_request(args: Args) -> None:
    """Complains about what can be seen before anything is loaded."""
    from icpe.artifact.certificate import certifiable_request
    from icpe.core.checks import check_num_episodes

    if args.episodes is not None:
        check_num_episodes("episodes", args.episodes)
    if not args.verify or (args.error_prob, args.budget) != (None, None):
        certifiable_request(args.error_prob, args.budget)


def _certify(args: Args, artifact, path) -> int:
    from icpe.cli.terminal import output, print_json, progress_meter
    from icpe.evaluate.certify import certify

    certificate = certify(
        artifact,
        error_prob=args.error_prob,
        budget=args.budget,
        confidence=args.confidence,
        episodes=args.episodes,
        seed=args.seed,
        progress=progress_meter(),
    )
    kept = artifact.with_certificate(certificate)
    if kept is not artifact:
        kept.save(path)
    if args.json:
        print_json(certificate.to_dict())
    else:
        if kept is artifact:
            output().print("The file has this already; no more episodes were played.")
        _print_certificate(output(), certificate)
    return _NOT_CERTIFIED if certificate.certified is False else 0


def _verify(args: Args, artifact) -> int:
    from icpe.cli.terminal import output, print_json, progress_meter
    from icpe.evaluate.verify import verify

    result = verify(
        artifact,
        args.error_prob,
        budget=args.budget,
        confidence=args.confidence,
        seed=args.seed,
        progress=progress_meter(),
    )
    if args.json:
        record = result.certificate.to_dict() | {
            "certified": result.verified and result.certificate.certified,
            "verified": result.verified,
            "problems": list(result.problems),
            "verification_seed": result.seed,
            "verification_successes": result.successes,
            "verification_lower_bound": result.lower_bound,
        }
        print_json(record)
    else:
        _print_verification(output(), result)
    return 0 if result.verified else _NOT_CERTIFIED


def _print_certificate(console, certificate) -> None:
    for sentence in _sentences(certificate):
        console.print(sentence, soft_wrap=True)
    if certificate.ladder:
        console.print(_ladder(certificate))
    console.print(
        f"\nThe {certificate.episodes} episodes behind the lower bound, split (for "
        "description only):",
        soft_wrap=True,
    )
    console.print(_groups(certificate))


def _sentences(certificate):
    """What was found, in words."""
    from icpe.artifact.certificate import LEAST_CONFIDENCE
    from icpe.cli.terminal import floored

    confidence = f"{100 * certificate.confidence:g} %"
    if certificate.certified:
        yield (
            f"[bold]Certified[/]: at price {certificate.price:.4g} the error "
            f"probability is at most {certificate.error_prob:g}, with confidence "
            f"{confidence}."
        )
        if certificate.confidence < LEAST_CONFIDENCE:
            yield (
                "It is kept, but requests are served with confidence "
                f"{100 * LEAST_CONFIDENCE:g} % unless less is asked for, as by "
                f"Session(..., confidence={certificate.confidence:g})."
            )
    elif certificate.certified is False:
        yield (
            f"[bold]Not certified[/]: an error probability of "
            f"{certificate.error_prob:g} was not shown. The closest point is price "
            f"{certificate.price:.4g}, with an accuracy of "
            f"{certificate.bound_successes / certificate.episodes:.4f}."
        )
        yield (
            "No number of episodes would show it for an explorer of that accuracy; "
            "train longer, or ask for a larger error probability."
            if certificate.episodes_needed is None
            else f"If that is its accuracy, about {certificate.episodes_needed} "
            "episodes would show it (--episodes); to go on costs no confidence."
        )
    at = "" if certificate.budget is None else f" with {certificate.budget} queries"
    yield (
        f"In {certificate.episodes} separate episodes{at} the accuracy was "
        f"{certificate.bound_successes / certificate.episodes:.4f}, by these alone at "
        f"least {floored(certificate.lower_bound)} with confidence {confidence}, and "
        f"they took {certificate.mean_queries:.3f} queries on average."
    )
    if certificate.attempt > 1:
        yield (
            f"This is attempt number {certificate.attempt}; all of them are kept in "
            "the file"
            + (
                "."
                if certificate.level is None
                else f", and each price is tested at level {certificate.level:.3g}."
            )
        )
    if not certificate.seed_is_default:
        yield (
            f"The seed {certificate.seed} was chosen by hand, which the file records."
        )


def _ladder(certificate):
    from rich.table import Table

    table = Table(box=None)
    for heading in ("price", "right", "of", "test"):
        table.add_column(heading, justify="right")
    for test in certificate.ladder:
        episodes = certificate.episodes if test.episodes is None else test.episodes
        failed = "not passed" if episodes else "not tested"
        table.add_row(
            f"{test.price:.4g}",
            str(test.successes),
            str(episodes),
            "passed" if test.passed else failed,
        )
    return table


def _groups(certificate):
    """Accuracy by difficulty, and the hypotheses with the lowest accuracy."""
    from rich.table import Table

    table = Table(box=None)
    table.add_column("", no_wrap=True)
    for heading in ("episodes", "accuracy", "queries"):
        table.add_column(heading, justify="right")
    wrong = [it for it in certificate.by_hypothesis if it.successes < it.episodes]
    worst = sorted(wrong, key=lambda group: group.accuracy)[:_NUM_WORST]
    for title, groups in (
        (certificate.difficulty, certificate.by_difficulty),
        ("truth, where it errs most", worst),
    ):
        if not groups:
            continue
        table.add_row(f"[dim]{title}[/]")
        for group in groups:
            table.add_row(
                f"  {group.name}",
                str(group.episodes),
                f"{group.accuracy:.4f}",
                f"{group.mean_queries:.2f}",
            )
    return table


def _print_verification(console, result) -> None:
    certificate = result.certificate
    stated = (
        f"budget {certificate.budget}"
        if certificate.error_prob is None
        else f"error probability {certificate.error_prob:g}"
    )
    if result.verified:
        console.print(
            f"[bold]Verified[/]: the certificate for {stated} is unchanged, and "
            + ("fresh" if result.fresh else "the same")
            + f" episodes agree with it: {result.successes} right answers of "
            f"{certificate.episodes}, an accuracy of "
            f"{result.successes / certificate.episodes:.4f}.",
            soft_wrap=True,
        )
        return
    console.print(f"[bold]Not verified[/]: the certificate for {stated}.")
    for problem in result.problems:
        console.print(f"- {problem}", soft_wrap=True)
