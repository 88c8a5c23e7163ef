"""`icpe new`: a family of the user's own to start from."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from icpe.cli.options import Seed, check_seed
from icpe.core.errors import InvalidParameterError

_STEM = "my_problem"


@dataclasses.dataclass(frozen=True)
class Args:
    """Write a family of your own to start from, and its tests beside it.

    It is complete: `icpe train FILE.py:MyFamily --out FILE` trains it unchanged.
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE.py")]
    """Where the family is written; its tests go to test_FILE.py."""
    overwrite: bool = False
    """Replace the files if they are there already."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe new my_problem.py",
    "icpe new coins.py --overwrite",
)


def run(args: Args) -> int:
    """Writes both files."""
    from icpe.cli.artifact_files import check_out
    from icpe.core.files import replacing

    check_seed(args.seed)
    stem = args.file.stem
    if args.file.suffix != ".py" or not stem.isidentifier():
        raise InvalidParameterError(
            "FILE.py must be a Python name that ends in .py, such as my_problem.py; "
            f"got {args.file}."
        )
    folder = Path(__file__).parent / "template"
    written = {
        args.file: folder / f"{_STEM}.py.txt",
        args.file.with_name(f"test_{stem}.py"): folder / f"test_{_STEM}.py.txt",
    }
    for path in written:
        check_out(path, overwrite=args.overwrite, option="FILE.py")
    for path, template in written.items():
        text = template.read_text(encoding="utf-8").replace(_STEM, stem)
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    tests = args.file.with_name(f"test_{stem}.py")
    print(f"{args.file} is a family to start from; {tests} has its tests.")
    print(f"Train it: icpe train {args.file}:MyFamily --out {stem}.safetensors")
    return 0
