"""Which images a shipped explorer was trained on, and which it was measured on."""

from collections.abc import Mapping
from typing import Any

_NUM_MNIST_IMAGES = {"train": 60_000, "test": 10_000}


def held_out(document: Mapping[str, Any]) -> str | None:
    """A sentence without its period, None where the two are the same.

    Explorers that were shipped have the command that trains one like them, and it
    always takes the training images, whichever the family of the file has.
    """
    parameters = document["family"]["parameters"]
    is_shipped = "command" in document["provenance"]
    if not is_shipped or parameters.get("split") != "test":
        return None
    numbers = {"train": "", "test": ""}
    if parameters.get("images") == "mnist":
        numbers = {split: f"{number:,} " for split, number in _NUM_MNIST_IMAGES.items()}
    return (
        f"trained on the {numbers['train']}training images; table and certificate are "
        f"of the {numbers['test']}test images, which it has not seen"
    )
