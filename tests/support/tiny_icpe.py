"""The command line with tiny trainings and studies: python -m support.tiny_icpe"""

import sys
from types import SimpleNamespace

from support.brief_surveys import make_brief
from support.hardly_trained import hardly_train

FEW = {
    "train": "--calibration-episodes 8 --preset cpu --train.num-iterations 4 --no-rule",
    "evaluate": "--episodes 64",
    "compare": "--episodes 64",
    "study run": "--sizes tiny",
    "study report": "--sizes tiny",
}
"""Words that make a command small; later ones replace those of the page."""


def make_tiny() -> None:
    """Makes every training of this process a tiny one."""
    make_brief()
    hardly_train(SimpleNamespace(setattr=setattr))


def main(words: list[str]) -> int:
    from icpe.cli.main import main

    make_tiny()
    few = FEW.get(words[0], FEW.get(" ".join(words[:2]), ""))
    status = main([*words, *few.split()])
    # What was hardly trained need not be certified.
    return 0 if words[0] == "certify" and status == 1 else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
