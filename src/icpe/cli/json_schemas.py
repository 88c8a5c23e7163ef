"""What `--json` prints, as JSON Schemas; `make schemas` writes them to `docs/schemas`.

Made from the records that are printed, so that a new field is described at once. Keys
may be added in later versions; those that are required stay.
"""

import dataclasses
import json
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icpe.artifact.certificate import Certificate
from icpe.artifact.operating_table import OperatingTable
from icpe.evaluate.equal_accuracy import AtAccuracy
from icpe.evaluate.limits import InstanceLimits
from icpe.evaluate.regret import RegretReport
from icpe.evaluate.report import Report
from icpe.zoo.cards import Card

Schema = dict[str, Any]
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    types.NoneType: {"type": "null"},
}
_WORDS = {"type": "array", "items": _PLAIN[str]}
_ANY: Schema = {}
_FAMILY: Schema = {
    "type": "object",
    "required": ["name", "parameters"],
    "properties": {"name": _PLAIN[str], "parameters": {"type": "object"}},
}


def schemas() -> dict[str, Schema]:
    """The schemas by command."""
    made = {
        "tasks": _list(_family_card()),
        "baselines": _list(_explorer_card()),
        "zoo": _list(_record(Card, family=_FAMILY)),
        "show": _document(),
        "calibrate": _record(OperatingTable),
        "certify": _record(Certificate),
        "evaluate": _one_or_several(_record(Report, family=_FAMILY)),
        "regret": _one_or_several(_record(RegretReport, family=_FAMILY)),
        "compare": _object(
            family=_FAMILY,
            accuracy=_PLAIN[float],
            episodes=_PLAIN[int],
            seed=_PLAIN[int],
            explorers=_list(_record(AtAccuracy)),
        ),
        "bounds": _bounds(),
        "play": _object(
            explorer=_PLAIN[str],
            family=_FAMILY,
            queries={"type": "array", "items": _PLAIN[int]},
            outcomes={"type": "array", "items": {"type": "array"}},
            stop_reason=_PLAIN[str],
            recommendation=_PLAIN[int],
            hypothesis=_PLAIN[int],
            correct=_PLAIN[bool],
        ),
    }
    return {
        name: {"$schema": _DRAFT, "title": f"icpe {name} --json", **schema}
        for name, schema in made.items()
    }


def _record(record: type, **known: Schema) -> Schema:
    """A dataclass as an object with its fields.

    Fields that are None if nothing is said may be left out, as older records do.
    """
    hints = typing.get_type_hints(record)
    fields = dataclasses.fields(typing.cast(Any, record))
    schema = _object(
        **{it.name: known.get(it.name) or _of(hints[it.name]) for it in fields}
    )
    schema["required"] = [it.name for it in fields if it.default is not None]
    return schema


def _of(hint: Any) -> Schema:
    """The schema of values of a type."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_of(part) for part in parts]}
    if dataclasses.is_dataclass(hint):
        return _record(typing.cast(type, hint))
    if origin is tuple and parts[-1] is not Ellipsis:
        items = [_of(part) for part in parts]
        return {"type": "array", "prefixItems": items, "minItems": len(items)}
    if origin in (tuple, list):
        return _list(_of(parts[0]))
    if hint in (dict, Mapping) or origin in (dict, Mapping):
        values = _of(parts[1]) if parts else _ANY
        return {"type": "object", "additionalProperties": values or True}
    return _ANY


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "required": [*properties], "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_or_several(schema: Schema) -> Schema:
    """An object for one explorer, a list for several."""
    return {"anyOf": [schema, _list(schema)]}


def _family_card() -> Schema:
    parameter = _object(
        name=_PLAIN[str],
        type=_PLAIN[str],
        default=_ANY,
        help=_PLAIN[str],
        rare=_PLAIN[bool],
        limits={"type": "object"},
    )
    return _object(name=_PLAIN[str], summary=_PLAIN[str], parameters=_list(parameter))


def _explorer_card() -> Schema:
    parameter = _object(
        name=_PLAIN[str], type=_PLAIN[str], default=_ANY, help=_PLAIN[str]
    )
    return _object(
        name=_PLAIN[str],
        is_wrapper=_PLAIN[bool],
        summary=_PLAIN[str],
        families=_WORDS,
        reference=_PLAIN[str],
        guarantee=_PLAIN[str],
        serves=_PLAIN[str],
        parameters=_list(parameter),
    )


def _bounds() -> Schema:
    """Of a family, with further bounds by name; or of one bandit with --means."""
    number = {"type": ["number", "null"]}
    family = {
        "type": "object",
        "required": ["family", "error_prob", "mean_queries", "max_queries"],
        "properties": {"family": _FAMILY, "price": number},
        "additionalProperties": number,
    }
    bandit = _record(InstanceLimits)
    bandit["required"] = ["family", *bandit["required"]]
    bandit["properties"] = {"family": _FAMILY, **bandit["properties"]}
    return {"anyOf": [bandit, family]}


def _document() -> Schema:
    """Everything in a file but the networks."""
    maybe_object = {"type": ["object", "null"]}
    properties = {
        "format_version": _PLAIN[int],
        "family": _FAMILY,
        "fingerprint": _PLAIN[str],
        "training": {"type": "object"},
        "provenance": {"type": "object"},
        "operating_table": {"anyOf": [_record(OperatingTable), _PLAIN[types.NoneType]]},
        "certificates": _list({"type": "object"}),
        "evaluation": maybe_object,
    }
    optional = {
        "networks": {"type": "object"},
        "weights": _PLAIN[str],
        "kind": _PLAIN[str],
        "price_range": {"type": ["array", "null"]},
        "guard": maybe_object,
    }
    return {
        "type": "object",
        "required": [*properties],
        "properties": {**properties, **optional},
    }


def write(folder: Path) -> None:
    """Writes one file for each command."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        text = json.dumps(schema, indent=2) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
