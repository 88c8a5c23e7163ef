"""What is known about a shipped explorer, read from its file without its networks."""

import dataclasses
from typing import Any

from icpe.artifact.document import read_card
from icpe.artifact.operating_table import OperatingTable
from icpe.core.errors import ArtifactError
from icpe.zoo.shelf import path


@dataclasses.dataclass(frozen=True)
class Card:
    """A shipped explorer at a glance.

    Attributes:
        name: by which every command knows it.
        family: name and parameters of the family it explores.
        certified_error_prob: the smallest error probability it is certified for.
        confidence: of that certificate.
        smallest_error_prob: the smallest that its operating table serves,
            uncertified below `certified_error_prob`.
        largest_budget: the largest budget it serves, the family's horizon.
        price_range: the prices it serves.
        size_bytes: of its file.
        training_seconds: how long it was trained.
        training_device: on what.
        training_command: the command that trained it, in the icpe of its time.
    """

    name: str
    family: dict[str, Any]
    certified_error_prob: float
    confidence: float
    smallest_error_prob: float
    largest_budget: int
    price_range: tuple[float, float]
    size_bytes: int
    training_seconds: float
    training_device: str
    training_command: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values."""
        return {**dataclasses.asdict(self), "price_range": list(self.price_range)}


def card(name: str) -> Card:
    """The card of a shipped explorer.

    Raises:
        UnknownNameError: there is none of that name; the message lists them.
    """
    file = path(name)
    document = read_card(file)
    table = OperatingTable.from_dict(document["operating_table"])
    certificate = _strictest(document, name)
    made = document["provenance"]
    low, high = document["price_range"]
    return Card(
        name=name,
        family=document["family"],
        certified_error_prob=certificate["error_prob"],
        confidence=certificate["confidence"],
        smallest_error_prob=table.smallest_error_prob(),
        largest_budget=table.horizon,
        price_range=(low, high),
        size_bytes=file.stat().st_size,
        training_seconds=made["seconds"],
        training_device=made["device"],
        training_command=made["command"],
    )


def _strictest(document: dict[str, Any], name: str) -> dict[str, Any]:
    certificates = [it for it in document["certificates"] if it["certified"]]
    if not certificates:
        raise ArtifactError(
            f"The shipped explorer {name!r} has no certificate; install icpe again."
        )
    return min(certificates, key=lambda it: it["error_prob"])
