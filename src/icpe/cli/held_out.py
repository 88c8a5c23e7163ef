"""Which images an explorer was trained on, and which it was measured on."""

from collections.abc import Mapping
from typing import Any

_NUM_MNIST_IMAGES = {"train": 60_000, "test": 10_000}
_HELD_BACK = 12
"""One training image of so many is for calibration."""


def held_out(document: Mapping[str, Any]) -> str | None:
    """A sentence without its period, None where nothing is known of images.

    Explorers that were shipped have the command that trains one like them, and it
    always takes the training images, whichever the family of the file has.
    """
    parameters = document["family"]["parameters"]
    if document["family"]["name"] != "patches":
        return None
    numbers = {"train": "", "learned": "", "calibration": "", "test": ""}
    if parameters.get("images", "mnist") == "mnist":
        numbers = {name: f"{number:,} " for name, number in _mnist().items()}
    if parameters.get("split", "train") == "train":
        return (
            f"learned from {numbers['learned']}training images; the table is of the "
            f"{numbers['calibration']}others, certificates are of the "
            f"{numbers['test']}test images, each counted once"
        )
    if parameters["split"] != "test" or "command" not in document["provenance"]:
        return None
    return (
        f"trained on the {numbers['train']}training images; table and certificate are "
        f"of the {numbers['test']}test images, which it has not seen"
    )


def _mnist() -> dict[str, int]:
    whole = _NUM_MNIST_IMAGES["train"]
    held_back = whole // _HELD_BACK
    learned = whole - held_back
    return {**_NUM_MNIST_IMAGES, "learned": learned, "calibration": held_back}
