"""Networks of either learner, or a rule: what each kind of explorer keeps in a file."""

import dataclasses
from typing import Any

import equinox as eqx

from icpe.artifact.certificate import digest
from icpe.artifact.rebuilding import check_sizes, skeleton
from icpe.artifact.saved_rule import SavedRule
from icpe.artifact.sealed import Stored
from icpe.artifact.trees import hash_arrays, restore_tree
from icpe.core.arrays import PyTree
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.paper import PaperNets

AnyNets = ExplorerNets | PaperNets | SavedRule


def arrays_of(nets: AnyNets) -> PyTree:
    """What a file keeps of them; the family gives all that a rule has."""
    return {} if isinstance(nets, SavedRule) else eqx.filter(nets, eqx.is_array)


def hash_of(nets: AnyNets) -> str:
    """By which certificates name them."""
    if isinstance(nets, SavedRule):
        return digest(nets.to_dict())
    return hash_arrays(arrays_of(nets))


def networks_record(nets: AnyNets) -> dict[str, Any]:
    """How the networks are built; a rule has none."""
    return {} if isinstance(nets, SavedRule) else dataclasses.asdict(nets.config)


def kind_record(nets: AnyNets) -> dict[str, Any]:
    """The kind of explorer and what it serves."""
    if isinstance(nets, PaperNets):
        return {
            "kind": "paper",
            "price_range": None,
            "objective": dataclasses.asdict(nets.objective),
        }
    price_range = [nets.prices.low, nets.prices.high]
    if isinstance(nets, SavedRule):
        return {"kind": "rule", "price_range": price_range, "rule": nets.to_dict()}
    return {"kind": "universal", "price_range": price_range}


def stored_nets(stored: Stored, family: AbstractTaskFamily) -> AnyNets:
    """The networks of a file, or the rule that it names."""
    document = stored.document
    if document.get("kind") == "rule":
        restore_tree(stored, {})  # nothing that does not belong there
        return SavedRule.from_dict(document["rule"], family)
    check_sizes(stored, family.spec)
    return restore_tree(stored, skeleton(document, family))


def check_weights(document: dict[str, Any], nets: AnyNets) -> None:
    """Checks that they are those that were written.

    Raises:
        ValueError: they have another hash.
    """
    found = hash_of(nets)
    if document.get("weights", found) != found:  # the first files do not have it
        raise ValueError("its networks have changed since they were written")
