"""`icpe certify`: test how often a trained explorer errs."""

import dataclasses
import json
from typing import Annotated, Any, Literal

import tyro

from icpe.cli.options import Together, Where

_NOT_CERTIFIED = 1


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

    with together(args, args.where.engine):
        return _run(args)


def _run(args: Args) -> int:
    from icpe.cli.artifact_files import changeable_file, check_readable, readable_file
    from icpe.cli.engines import check_address, spread
    from icpe.cli.options import as_options, check_seed
    from icpe.cli.processes import check_same_content, written_by_the_first
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
        check_same_content([readable_file(args.file)], artifact.family)
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
        check_same_content([path], artifact.family)
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
    from icpe.cli.certificate_words import print_certificate
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
        print_certificate(output(), certificate)
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
    from icpe.cli.certificate_words import print_verification
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
        print_verification(output(), result)
    return 0 if result.verified else _NOT_CERTIFIED
