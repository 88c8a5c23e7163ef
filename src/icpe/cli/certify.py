"""`icpe certify`: show by tests how rarely a trained explorer errs."""

import dataclasses
import json
from typing import Annotated, Any, Literal

import tyro

from icpe.cli.options import Together, Where

_NOT_CERTIFIED = 1
_NUM_WORST = 5
_MANY_TIMES = 20
"""As many held-out cases as there are, and more, that nobody will collect."""


def _optional(metavar: str) -> Any:
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


@dataclasses.dataclass(frozen=True)
class Args:
    """Certify the error probability of a trained explorer, or check a certificate.

    Up to 8 prices are tested on fresh episodes, each until it passes or is
    unlikely to. The cheapest that passed is certified and used from then on. The result
    is always written to the file. The same command again continues from there at no
    loss of confidence. A new operating table or seed is a new attempt, with half the
    error left. The exit status is 1 if nothing was certified.
    """

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """The file of the explorer; with --verify also a name from `icpe zoo`."""
    error_prob: Annotated[float | None, _optional("P")] = None
    """The largest probability of a wrong answer, on average over the family."""
    budget: Annotated[int | None, _optional("N")] = None
    """Instead: a fixed number of queries, for a lower bound of the accuracy."""
    confidence: Annotated[float, tyro.conf.arg(metavar="C")] = 0.95
    """Confidence of the certificate and of the lower bound; by default, requests need
    0.95. With --verify: the least confidence of the certificate to check."""
    episodes: Annotated[int | None, _optional("N")] = None
    """Play at most N episodes at each price, earlier ones included, and for the bound;
    if left out, enough to show an accuracy that is 0.01 above."""
    promise: Annotated[
        Literal["average", "belief", "every-hypothesis"] | None,
        _optional("average|belief|every-hypothesis"),
    ] = None
    """What the error probability is about: all answers (if left out), only those given
    when its belief is high enough, or every hypothesis by itself."""
    groups: Annotated[str | None, _optional("JSON")] = None
    """With every-hypothesis: numbers of hypotheses that are tested together, as in
    "[[0], [1, 2]]"; each by itself if left out."""
    seed: Annotated[int | None, _optional("N")] = None
    """Seed of the episodes; if left out, a hash of weights and family. Another seed is
    another attempt."""
    verify: bool = False
    """Check the certificate in the file instead: is it unchanged, and does its test
    give the same result (with --seed: on fresh episodes)? Nothing is written. Leave
    out --error-prob and --budget if the file has one certificate."""
    json: bool = False
    """Print one line of JSON."""
    where: tyro.conf.OmitArgPrefixes[Where] = dataclasses.field(default_factory=Where)
    together: tyro.conf.OmitArgPrefixes[Together] = dataclasses.field(
        default_factory=Together
    )


EXAMPLES = (
    "icpe certify mine.safetensors --error-prob 0.1",
    "icpe certify gaussian-bandit-4 --verify",
)


def run(args: Args) -> int:
    """Certifies and writes back, or verifies."""
    from icpe.cli.processes import together

    with together(args.together, args.where.engine):
        return _run(args)


def _run(args: Args) -> int:
    from icpe.cli.artifact_files import changeable_file, check_readable, readable_file
    from icpe.cli.engines import check_address, spread
    from icpe.cli.options import as_options, check_seed
    from icpe.cli.processes import written_by_the_first
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.served import check_request
    from icpe.core.distributed import leads
    from icpe.core.files import check_writable
    from icpe.core.goals import Request

    if args.seed is not None:
        check_seed(args.seed)
    check_address(args.where.engine, args.where.address)
    _check_request(args)
    find = readable_file if args.verify else changeable_file
    document = check_readable(find(args.file))
    if args.budget is not None:
        with as_options():
            check_request(document, Request(budget=args.budget))
    from icpe.artifact.artifact import Artifact

    if args.verify:
        artifact = Artifact.load(readable_file(args.file))
        keep_compiled_programs()
        with spread(args.where.engine, args.where.address):
            return _verify(args, artifact)
    path = changeable_file(args.file)
    if leads():
        check_writable(path)
    # The number of the attempt follows from what the file has, so nobody else may
    # add to it before this one is written.
    engine = spread(args.where.engine, args.where.address)
    with written_by_the_first(path, "icpe certify"), engine:
        artifact = Artifact.load(path)
        keep_compiled_programs()
        return _certify(args, artifact, path)


def _save(artifact, path) -> None:
    """Writes it, in the first of several processes."""
    from icpe.core.distributed import leads

    if leads():
        artifact.save(path)


def _check_request(args: Args) -> None:
    """Complains about what can be seen before anything is loaded."""
    from icpe.artifact.certificate import certifiable_request
    from icpe.cli.options import as_options
    from icpe.core.checks import check_confidence, check_num_episodes
    from icpe.core.errors import InvalidParameterError

    if args.episodes is not None:
        check_num_episodes("--episodes", args.episodes)
    check_confidence(args.confidence, "--confidence")
    if _groups_of(args.groups) is not None and args.promise != "every-hypothesis":
        raise InvalidParameterError(
            "--groups goes with --promise every-hypothesis; add that, or leave it out."
        )
    if not args.verify or (args.error_prob, args.budget) != (None, None):
        with as_options():
            certifiable_request(args.error_prob, args.budget)


def _certify(args: Args, artifact, path) -> int:
    from icpe.cli.guard_words import guard_words
    from icpe.cli.terminal import output, print_json, progress_meter
    from icpe.evaluate.certify import certify

    promise = args.promise or "average"
    groups = _groups_of(args.groups)
    if promise == "belief" and artifact.belief_table is None:
        artifact = _recalibrated(artifact)
        _save(artifact, path)  # with its table, whatever comes of the tests
    certificate = certify(
        artifact,
        promise=promise,
        groups=groups,
        error_prob=args.error_prob,
        budget=args.budget,
        confidence=args.confidence,
        episodes=args.episodes,
        seed=args.seed,
        progress=progress_meter(),
    )
    kept = artifact.with_certificate(certificate)
    if kept is not artifact:
        _save(kept, path)
    if args.json:
        print_json(certificate.to_dict())
    else:
        if kept is artifact:
            output().print("The file has this already; no more episodes were played.")
        _print_certificate(output(), certificate)
        if kept.guard is None:
            said = guard_words(kept.document(), args.file)
            output().print(
                f"\n{said[0].upper()}{said[1:]}.", soft_wrap=True, markup=False
            )
    return _NOT_CERTIFIED if certificate.certified is False else 0


def _recalibrated(artifact):
    """The artifact with a table of recalibrated beliefs."""
    from icpe.cli.terminal import progress_meter
    from icpe.evaluate.recalibrate import recalibrate

    table = recalibrate(artifact, progress=progress_meter())
    return dataclasses.replace(artifact, belief_table=table)


def _groups_of(word: str | None):
    """Lists of hypotheses, read as JSON."""
    from icpe.core.errors import InvalidParameterError

    if word is None:
        return None
    try:
        groups = json.loads(word)
        return [[int(it) for it in group] for group in groups]
    except (ValueError, TypeError) as error:
        raise InvalidParameterError(
            f"--groups must be lists of hypotheses such as [[0], [1, 2]]; got {word!r}."
        ) from error


def _verify(args: Args, artifact) -> int:
    from icpe.cli.terminal import output, print_json, progress_meter
    from icpe.evaluate.verify import verify

    result = verify(
        artifact,
        args.error_prob,
        budget=args.budget,
        confidence=args.confidence,
        promise=args.promise,
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
    for sentence in sentences(certificate):
        console.print(sentence, soft_wrap=True)
    if certificate.ladder:
        console.print(_ladder(certificate))
    console.print(
        f"\nThe {certificate.episodes} {certificate.counted} "
        "behind the lower bound, split (for description only):",
        soft_wrap=True,
    )
    console.print(_groups(certificate))


def sentences(certificate):
    """What was found, in words."""
    from icpe.artifact.certificate import LEAST_CONFIDENCE
    from icpe.cli.terminal import floored

    confidence = f"{100 * certificate.confidence:g} %"
    if certificate.certified:
        yield (
            f"[bold]Certified[/]: {_where(certificate)} the error probability"
            f"{_of_what(certificate)} is at most {certificate.error_prob:g} on average "
            f"over {_over(certificate)}, with confidence {confidence}."
        )
        if certificate.confidence < LEAST_CONFIDENCE:
            yield (
                "It is kept, but requests are served with confidence "
                f"{100 * LEAST_CONFIDENCE:g} % unless less is asked for, as by "
                f"Session(..., confidence={certificate.confidence:g})."
            )
    elif certificate.certified is False:
        yield (
            f"[bold]Not certified[/]: an error probability{_of_what(certificate)} of "
            f"{certificate.error_prob:g} was not shown. The closest point is "
            f"{_where(certificate).removeprefix('at ')}, with an accuracy of "
            f"{_accuracy(certificate):.4f}."
        )
        if certificate.promise:
            yield from _not_shown(certificate)
        else:
            yield _what_would_do(certificate)
    at = "" if certificate.budget is None else f" with {certificate.budget} queries"
    worst = certificate.promise == "every-hypothesis"
    episodes = f"In {certificate.episodes} separate episodes{at}"
    if certificate.test == "held-out":
        episodes = (
            f"On {certificate.episodes} held-out {certificate.counted}{at}, which "
            "nothing saw before and each of which counts once,"
        )
    yield (
        f"{episodes} the accuracy"
        f"{_of_what(certificate)} was {_accuracy(certificate):.4f}, by these alone at "
        f"least {floored(certificate.lower_bound)} with confidence {confidence}"
        + (" whichever hypothesis is true" if worst else "")
        + f", and they took {certificate.mean_queries:.3f} queries on average."
    )
    if certificate.undecided is not None:
        yield (
            f"Undecided were {100 * certificate.undecided:.2f} % of these episodes: "
            "they came to an end before the belief was reached."
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


def _where(certificate) -> str:
    if certificate.promise == "belief":
        return f"stopping at a doubt of {certificate.price:.4g}"
    return f"at price {certificate.price:.4g}"


def _of_what(certificate) -> str:
    if certificate.promise == "belief":
        return " of the sessions that stopped so"
    if certificate.promise == "every-hypothesis" and certificate.certified:
        return ", whichever hypothesis is true,"
    return ""


def _over(certificate) -> str:
    if certificate.test == "held-out":
        of = " of the table" if certificate.counted == "rows" else ""
        return f"cases like the {certificate.counted}{of}"
    return "the tasks of the family"


def _accuracy(certificate) -> float:
    """In the episodes behind the bound; by belief, of the decided ones."""
    if certificate.promise == "belief" and certificate.bound_counts:
        right, number = certificate.bound_counts[0]
        return right / max(number, 1)
    return certificate.bound_successes / certificate.episodes


def _not_shown(certificate):
    """Which groups may be listed as shown, and that the others are not."""
    if certificate.shown is None:
        return
    first = next(
        it for it in certificate.ladder if it.price == certificate.price
    )  # fmt: skip
    others = len(first.counts or ()) - len(certificate.shown)
    listed = ", ".join(certificate.shown) or "none"
    yield (
        f"Shown at a level that is divided among all of them: {listed}. Not shown: "
        f"{others} others, because of errors or of too few episodes (--episodes)."
    )


def _what_would_do(certificate) -> str:
    """What to do after a certificate that was not reached."""
    needed = certificate.episodes_needed
    if certificate.test == "held-out":
        shown = 1.0 - certificate.lower_bound
        what = certificate.counted
        also = f"These {what} show an error probability of {shown:.3f}"
        if needed is None:
            return f"{also}; with more {what} to learn from it may get better."
        if needed > _MANY_TIMES * certificate.episodes:
            return (
                f"{also}; it errs about as often as was asked for at most, so choose a "
                f"larger error probability, or make it from more {what}."
            )
        return (
            f"{also}; about {needed} held-out {what} would probably show what was "
            "asked."
        )
    if needed is None:
        return (
            "No number of episodes would show it for an explorer of that accuracy; "
            "train longer, or ask for a larger error probability."
        )
    return (
        f"If that is its accuracy, about {needed} episodes would show it (--episodes); "
        "continuing loses no confidence."
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
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None)
    table.add_column("", no_wrap=True)
    for heading in ("episodes", "accuracy", "queries"):
        table.add_column(heading, justify="right")
    wrong = [it for it in certificate.by_hypothesis if it.successes < it.episodes]
    worst = sorted(wrong, key=lambda group: group.accuracy)[:_NUM_WORST]
    given = [it for it in certificate.by_answer or () if it.successes < it.episodes]
    doubtful = sorted(given, key=lambda group: group.accuracy)[:_NUM_WORST]
    for title, groups in (
        (certificate.difficulty, certificate.by_difficulty),
        ("truth, where it errs most", worst),
        ("answer, where it is wrong most often", doubtful),
    ):
        if not groups:
            continue
        table.add_row(f"[dim]{title}[/]")
        for group in groups:
            table.add_row(
                f"  {escape(group.name)}",
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
