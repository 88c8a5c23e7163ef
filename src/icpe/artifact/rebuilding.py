"""Family and networks of a trained explorer, built again as its file describes them.

Sizes are compared with what is stored before anything is built.
"""

import re
import sys
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.random as jr

from icpe.artifact.sealed import Stored
from icpe.artifact.trees import hash_arrays
from icpe.core.checks import is_whole
from icpe.core.errors import ArtifactError
from icpe.core.family import AbstractTaskFamily, data_of, parameters
from icpe.core.fingerprint import fingerprint
from icpe.core.spec import TaskSpec
from icpe.core.typed_values import check_value, shown
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.paper import Objective, PaperNets
from icpe.families.registry import family_name, family_names, get_factory, make
from icpe.nets import exact
from icpe.nets.evidence import PredictionShape
from icpe.nets.transformer import TransformerConfig

LARGEST_DATA = 4 * 2**20
"""Bytes of a family's arrays that are stored in the file."""
_LARGEST_PARAMETER = 4096
"""Whole numbers up to this are never too large for networks of any size."""
_NO_SIZES = ("draw", "seed")
_SOURCE = re.compile(r"[A-Za-z_]\w{0,99}\.py:[A-Za-z_]\w{0,99}")


def family_document(family: AbstractTaskFamily) -> dict[str, Any]:
    """What a file says about its family, enough to rebuild it where it can be."""
    described: dict[str, Any] = {
        "name": family_name(family),
        "parameters": parameters(family),
    }
    where = _where_written(type(family))
    if where is not None:
        described["source"] = where
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


def rebuilt_family(stored: Stored, path: Path) -> AbstractTaskFamily:
    """The family that a file names, built from its parameters and data.

    Raises:
        ArtifactError: there is none of that name here, or it cannot be built.
    """
    described = stored.document["family"]
    name = described["name"]
    if name not in family_names():
        raise ArtifactError(
            f"{path} was trained for the family {shown(name)}, which cannot be rebuilt "
            "here, since none is registered under that name; on the command line add "
            f"{_import_option(described.get('source'))}, in Python register it or pass "
            "it in."
        )
    if "data" in described and not described["data"]["stored"]:
        raise ArtifactError(
            f"{path} was trained for the family {name!r}, whose data is too large for "
            "the file; pass the family in."
        )
    values = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in described["parameters"].items()
    }
    try:
        _check_parameters(name, values, stored)
        family = make(name, **values, **stored.data("family."))
        _ = family.spec
    except Exception as error:  # whatever impossible parameters make go wrong
        raise ArtifactError(
            f"{path} was trained for the family {name!r}, which cannot be rebuilt "
            f"here: {' '.join(str(error).split()) or type(error).__name__}"
        ) from error
    return family


def _where_written(family_class: type) -> str | None:
    """FILE.py:CLASS of a family of the user's own: words for people, never run."""
    module = family_class.__module__
    if module.partition(".")[0] == __name__.partition(".")[0]:
        return None
    file = getattr(sys.modules.get(module), "__file__", None)
    found = f"{Path(file).name}:{family_class.__qualname__}" if file else ""
    return found if _SOURCE.fullmatch(found) else None


def _import_option(source: Any) -> str:
    """The option that brings a family in, as exactly as its file tells."""
    if isinstance(source, str) and _SOURCE.fullmatch(source):
        return f"--import {source} (that is where it was, perhaps in another folder)"
    return "--import FILE.py:CLASS or --import MODULE"


def _check_parameters(name: str, values: Mapping[str, Any], stored: Stored) -> None:
    """Types, and sizes that the stored networks could have, before anything is built.

    Families of the user's own may have larger numbers that are no sizes.
    """
    factory = get_factory(name)
    shipped = factory.__module__.startswith("icpe.")
    hints = typing.get_type_hints(factory)
    largest = max(
        (max(it.shape, default=0) for it in stored.arrays.values()), default=0
    )
    largest = max(largest, _LARGEST_PARAMETER)
    for parameter, value in values.items():
        hint = hints.get(parameter, Any)
        if hint in (int, float, bool, str):
            check_value(value, hint, parameter)
        if not shipped or parameter in _NO_SIZES or not is_whole(value):
            continue
        if abs(value) > largest:
            raise ValueError(
                f"{parameter} is {shown(value)}, more than its networks have of "
                "anything."
            )


def check_fingerprint(
    document: Mapping[str, Any], family: AbstractTaskFamily, path: Path
) -> None:
    """Raises one sentence unless a family is the one that a file was made for."""
    found, described = fingerprint(family), document["family"]
    if found != document["fingerprint"]:
        raise ArtifactError(
            f"{path} was trained for {described['name']} with {described['parameters']}"
            f" (fingerprint {document['fingerprint']}); the family given has "
            f"fingerprint {found}, so it is another one or has changed; train again."
        )


def check_sizes(stored: Stored, spec: TaskSpec) -> None:
    """Raises ValueError where networks would be far larger than what is stored."""
    total = sum(array.size for array in stored.arrays.values())
    networks = stored.document["networks"]
    described = {**networks["transformer"], **(networks.get("predictions") or {})}
    sizes = {name: value for name, value in described.items() if is_whole(value)}
    for name in ("num_queries", "num_hypotheses", "outcome_size", "horizon"):
        sizes[name] = getattr(spec, name)
    for name, size in sizes.items():
        limit = len(stored.arrays) if name == "num_layers" else total
        if size > limit:
            raise ValueError(
                f"{name} is {size}, but the file has {len(stored.arrays)} arrays of "
                f"{total} numbers together"
            )


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
    prices = PriceRange(*document["price_range"])
    predictions = None
    if config.predictions is not None and exact.is_exact(config.predictions.kind):
        predictions = exact.shell(family, config.predictions)
    return ExplorerNets.shell(spec, config, prices, predictions)


def _net_config(described: dict[str, Any]) -> NetConfig:
    fields = {**described, "transformer": TransformerConfig(**described["transformer"])}
    if described.get("predictions") is not None:
        fields["predictions"] = PredictionShape(**described["predictions"])
    for name in ("outcome_shift", "outcome_scale", "task_spread"):
        fields[name] = tuple(described.get(name, ()))
    return NetConfig(**fields)
