"""`icpe export`: a trained explorer for places without Python."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """Write a trained explorer as an ONNX file, or as a page that plays it.

    An ONNX file is run by icpe.portable, which --runner writes as one file that needs
    numpy and onnxruntime alone. A page is one HTML file that any browser opens, without
    a network. Both carry the certificates and the guard.
    """

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """The file of the explorer, or a name from `icpe zoo`."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """Where to write it."""
    to: Annotated[Literal["onnx", "html"], tyro.conf.arg(metavar="onnx|html")]
    """What to write."""
    runner: Annotated[
        Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
    ] = None
    """Also write the program that runs an ONNX file, as one Python file."""
    overwrite: bool = False
    """Replace what is there already."""
    json: bool = False
    """Print one line of JSON about what was written."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe export gaussian-bandit-4 --to onnx bandit.onnx --runner portable.py",
    "icpe export binary-search-8 --to html search.html",
)


def run(args: Args) -> int:
    """Writes the file, and says what is in it."""
    from icpe.cli.artifact_files import check_readable, readable_file
    from icpe.cli.terminal import output, print_json
    from icpe.core.errors import InvalidParameterError

    source = readable_file(args.file)
    check_readable(source)
    other = {"onnx": ".html", "html": ".onnx"}[args.to]
    if args.out.suffix.lower() == other:
        raise InvalidParameterError(
            f"OUT must not end in {other} with --to {args.to}; got {args.out}: name "
            f"a file that ends in .{args.to}."
        )
    _check_out("OUT", args.out, overwrite=args.overwrite)
    if args.runner is not None:
        _check_out("--runner", args.runner, overwrite=args.overwrite)
    from icpe.artifact.artifact import Artifact
    from icpe.export import export_html, export_onnx, write_runner

    write = {"onnx": export_onnx, "html": export_html}[args.to]
    done = write(Artifact.load(source), args.out, name=source.stem)
    if args.runner is not None:
        write_runner(args.runner)
    for note in done.notes:
        print(f"icpe: {note}", file=sys.stderr)
    served = sorted({it["error_prob"] for it in done.document["certificates"]})
    size = args.out.stat().st_size
    if args.json:
        print_json(
            {
                "out": str(args.out),
                "to": args.to,
                "bytes": size,
                "explorer": done.document["name"],
                "family": done.document["family"],
                "certified_error_probs": served,
                "guarded": done.document["guard"] is not None,
                "notes": list(done.notes),
            }
        )
        return 0
    certified = ", ".join(f"{it:g}" for it in served) or "none"
    guard = "with" if done.document["guard"] is not None else "without"
    output().print(
        f"{source.stem} written to {args.out}, {size / 1e6:.1f} MB; certified error "
        f"probabilities: {certified}; {guard} a guard.",
        soft_wrap=True,
        highlight=False,
    )
    return 0


def _check_out(name: str, out: Path, *, overwrite: bool) -> None:
    from icpe.core.errors import InvalidParameterError
    from icpe.core.files import check_writable

    try:
        check_writable(out)
    except OSError as error:
        raise InvalidParameterError(
            f"{name} {out} cannot be written: {error}."
        ) from error
    if out.exists() and not overwrite:
        raise InvalidParameterError(
            f"{name} {out} exists; choose a new name, or add --overwrite to replace it."
        )
