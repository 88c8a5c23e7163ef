"""What the file of a trained explorer says about itself, read with suspicion.

Every complaint is one sentence about the file. Nothing here needs jax, so that a card
is printed at once.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from icpe.artifact.certificate import Certificate, covering, digest
from icpe.artifact.records import NetworkRecord, TransformerRecord
from icpe.artifact.schema import check_document
from icpe.artifact.sealed import Stored, read_stored
from icpe.core.checks import is_whole
from icpe.core.errors import ArtifactError, DataError, MissingExtraError
from icpe.core.typed_values import shown
from icpe.portable.files import unusable

FORMAT_VERSION = 2
"""Files of version 1 have no seal: weights and certificates have hashes of their own,
and the rest of the document has none."""


def read_card(path: str | Path) -> dict[str, Any]:
    """What a file says about itself: its document, without networks or family.

    Raises:
        ArtifactError: the file is damaged, foreign or newer than this version.
    """
    path = Path(path)
    with explained(path):
        return read_artifact(path).document


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns what goes wrong with a file into one sentence about it."""
    try:
        yield
    except (ArtifactError, DataError, MissingExtraError):
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise ArtifactError(f"{path} cannot be read: {reason}.") from error
    except Exception as error:  # whatever a malformed value makes go wrong
        raise ArtifactError(unusable(path, error)) from error


def read_artifact(path: Path) -> Stored:
    """What a file holds, if this version reads its format and all values can be."""
    stored = read_stored(path)
    found = stored.document["format_version"]
    if not is_whole(found) or found < 1:
        raise ValueError(f"its format version is {shown(found)}, which never was")
    if found > FORMAT_VERSION:
        raise ArtifactError(
            f"{path} has format version {found}, newer than {FORMAT_VERSION}, which "
            "this icpe reads; install a newer icpe."
        )
    if found > 1 and not stored.sealed:
        raise ValueError("it has no seal, so it has changed since it was written")
    check_document(stored.document)
    return stored


def is_sealed_by_the_old_rule(document: Mapping[str, Any]) -> bool:
    """Whether a document comes from a file without a seal of the whole."""
    return document["format_version"] < 2


def serving_certificate(
    document: Mapping[str, Any], error_prob: float
) -> Certificate | None:
    """The certificate that serves; one that cannot be read serves nothing."""
    with contextlib.suppress(ArtifactError):
        return covering(
            document["certificates"],
            error_prob,
            weights=document.get("weights", ""),
            table=digest(document["operating_table"]),
            document=lambda: subject_of(document),
        )
    return None


def certified_error_probs(document: Mapping[str, Any]) -> list[float]:
    """Those of certificates that serve such a request, smallest first."""
    found = {it.get("error_prob") for it in document["certificates"]} - {None}
    return sorted(it for it in found if serving_certificate(document, it) is not None)


def subject_of(document: Mapping[str, Any]) -> str:
    """A hash of what a certificate is about: all that decides what an explorer does.

    That is the family, the weights, what the networks are made of or the rule in their
    place, and the prices or the request they serve. Training, provenance, operating
    table, certificates, evaluation and guard may change without making a certificate
    less true. Settings of networks that have their default are left out, so that new
    ones change nothing.
    """
    usual = {field.name: field.default for field in dataclasses.fields(NetworkRecord)}
    rule = {"rule": document["rule"]["score"]} if "rule" in document else {}
    return digest(
        {
            **rule,
            "family": document["family"]["name"],
            "fingerprint": document["fingerprint"],
            "weights": document.get("weights"),
            "networks": {
                name: value if name != "transformer" else _unusual(value)
                for name, value in document["networks"].items()
                if value != usual.get(name) and value not in ([], ())
            },
            "kind": document.get("kind", "universal"),
            "price_range": document["price_range"],
            "objective": document.get("objective"),
        }
    )


def _unusual(transformer: Mapping[str, Any]) -> dict[str, Any]:
    usual = {it.name: it.default for it in dataclasses.fields(TransformerRecord)}
    return {name: it for name, it in transformer.items() if it != usual.get(name)}
