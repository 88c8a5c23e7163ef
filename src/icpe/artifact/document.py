"""What the file of a trained explorer says about itself, read with suspicion.

Every complaint is one sentence about the file.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.random as jr

from icpe.artifact.certificate import hash_arrays
from icpe.artifact.trees import read_data, read_document
from icpe.core.errors import ArtifactError, IcpeError
from icpe.core.family import AbstractTaskFamily, data_of, parameters
from icpe.core.fingerprint import fingerprint
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.paper import Objective, PaperNets
from icpe.families.registry import family_name, family_names, make
from icpe.nets.predictions import PredictionShape
from icpe.nets.transformer import TransformerConfig

FORMAT_VERSION = 1
LARGEST_DATA = 4 * 2**20
"""Bytes of a family's arrays that are stored in the file."""


def read_card(path: str | Path) -> dict[str, Any]:
    """What a file says about itself: its document, without networks or family.

    Raises:
        ArtifactError: the file is damaged, foreign or newer than this version.
    """
    path = Path(path)
    with explained(path):
        return read_document_of(path)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns what goes wrong with a file into one sentence about it."""
    try:
        yield
    except ArtifactError:
        raise
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ArtifactError(
            f"{path} is not an artifact that can be used: {problem.rstrip('.')}."
        ) from error


def read_document_of(path: Path) -> dict[str, Any]:
    """The document of a file, if this version reads its format."""
    document = read_document(path)
    found = document["format_version"]
    if not isinstance(found, int) or found < 1:
        raise ValueError(f"its format version is {found!r}, which never was")
    if found > FORMAT_VERSION:
        raise ArtifactError(
            f"{path} has format version {found}, newer than {FORMAT_VERSION}, which "
            "this icpe reads; install a newer icpe."
        )
    return document


def family_document(family: AbstractTaskFamily) -> dict[str, Any]:
    """What a file says about its family, enough to rebuild it where it can be."""
    described: dict[str, Any] = {
        "name": family_name(family),
        "parameters": parameters(family),
    }
    arrays = data_of(family)
    if arrays:
        described["data"] = {
            "hash": hash_arrays(arrays),
            "stored": stored_data(family) is not None,
        }
    return described


def stored_data(family: AbstractTaskFamily) -> dict[str, Any] | None:
    """The arrays of a family that go into its file, None if they are too large.

    Arrays of up to 4 MiB in all are stored; larger ones, and trees of arrays, are
    named by their hash, and the family is passed in when the file is read.
    """
    arrays = data_of(family)
    plain = all(eqx.is_array(array) for array in arrays.values())
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(arrays))
    return arrays if plain and size <= LARGEST_DATA else None


def find_family(
    document: dict[str, Any], given: AbstractTaskFamily | None, path: Path
) -> AbstractTaskFamily:
    """The family given, or else found by name; its fingerprint must be the file's."""
    described = document["family"]
    family = given
    if family is None:
        if described["name"] not in family_names():
            raise ArtifactError(
                f"{path} was trained for the family {described['name']!r}, which "
                "cannot be rebuilt here, since none is registered under that name; "
                "register it, on the command line by --import MODULE, or pass it in."
            )
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in described["parameters"].items()
        }
        if "data" in described and not described["data"]["stored"]:
            raise ArtifactError(
                f"{path} was trained for the family {described['name']!r}, whose data "
                "is too large for the file; pass the family in."
            )
        try:
            family = make(described["name"], **values, **read_data(path, "family."))
        except IcpeError as error:
            raise ArtifactError(
                f"{path} was trained for the family {described['name']!r}, which "
                f"cannot be rebuilt here: {error}"
            ) from error
    found = fingerprint(family)
    if found != document["fingerprint"]:
        raise ArtifactError(
            f"{path} was trained for {described['name']} with {described['parameters']}"
            f" (fingerprint {document['fingerprint']}); the family given has "
            f"fingerprint {found}, so it is another one or has changed; train again."
        )
    return family


def skeleton(
    document: dict[str, Any], family: AbstractTaskFamily
) -> ExplorerNets | PaperNets:
    """Networks of the described shapes, without weights."""
    config = _net_config(document["networks"])
    spec = family.spec
    kind = document.get("kind", "universal")  # the first files do not have it
    if kind == "paper":
        objective = Objective(**document["objective"])
        return eqx.filter_eval_shape(
            lambda key: PaperNets(spec, config, objective, key=key), jr.key(0)
        )
    if kind != "universal":
        raise ValueError(f"its kind of explorer {kind!r} is not known")
    prices = PriceRange(*document["price_range"])
    return ExplorerNets.shell(spec, config, prices)


def _net_config(described: dict[str, Any]) -> NetConfig:
    fields = {**described, "transformer": TransformerConfig(**described["transformer"])}
    if described.get("predictions") is not None:
        fields["predictions"] = PredictionShape(**described["predictions"])
    for name in ("outcome_shift", "outcome_scale"):
        fields[name] = tuple(described.get(name, ()))
    return NetConfig(**fields)
