"""`icpe show`: the card of a trained explorer."""

import dataclasses
from typing import Annotated

import tyro

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """Print what is known about a trained explorer.

    Its family, what it does at each error probability and budget, its certificates,
    and where it comes from. The family need not be installed.
    """

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """The file of the explorer, or a name from `icpe zoo`."""
    json: bool = False
    """Print everything but the networks as one line of JSON."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe show gaussian-bandit-4",
    "icpe show mine.safetensors --json",
)


def run(args: Args) -> int:
    """Prints the card."""
    from icpe.artifact.document import read_card
    from icpe.cli.artifact_files import readable_file
    from icpe.cli.card import print_card
    from icpe.cli.terminal import finite, output, print_json

    document = read_card(readable_file(args.file))
    if args.json:
        print_json(finite(document))
    else:
        print_card(output(), document, args.file)
    return 0
