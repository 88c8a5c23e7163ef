"""Registered families and explorers as JSON-compatible values; needs jax.

`icpe.cli.catalog` keeps them in a file, so that listing them does not.
"""

import ast
import dataclasses
import inspect
import typing
from collections.abc import Mapping
from typing import Any

from icpe import zoo
from icpe.cli.values import describe_type
from icpe.core.errors import IcpeError
from icpe.core.family import AbstractTaskFamily
from icpe.explorers import (
    accepted_families,
    explorer_about,
    explorer_names,
    explorer_parameters,
    explorer_summary,
)
from icpe.explorers.wrappers import WRAPPERS, wrapper_named
from icpe.families.registry import family_names, get_factory, parameter_fields
from icpe.learn.config import TrainConfig
from icpe.learn.paper.config import PaperConfig


def families() -> tuple[str, ...]:
    """The names of all registered families, sorted."""
    return family_names()


def baselines() -> tuple[str, ...]:
    """The names of all registered explorers, sorted."""
    return explorer_names()


def wrappers() -> tuple[str, ...]:
    """The names of all explorers that are built on another one."""
    return tuple(WRAPPERS)


def family_card(name: str) -> dict[str, Any]:
    """A registered family."""
    factory = get_factory(name)
    hints = typing.get_type_hints(factory)
    return {
        "name": name,
        "summary": (inspect.getdoc(factory) or "").split("\n")[0],
        "parameters": [
            {
                "name": field.name,
                "type": describe_type(hints[field.name]),
                "default": field.default,
                "help": field.metadata.get("help", ""),
                "rare": bool(field.metadata.get("rare", False)),
                "words": bool(field.metadata.get("words", False)),
                "limits": dict(field.metadata.get("limits", {})),
            }
            for field in parameter_fields(name).values()
        ],
    }


def learner_cards() -> list[dict[str, Any]]:
    """The learners, with what `--train.x` sets; the seed has an option of its own."""
    learners = {"universal": TrainConfig, "paper": PaperConfig}
    return [_learner_card(name, config) for name, config in learners.items()]


def _learner_card(name: str, config: type) -> dict[str, Any]:
    hints = typing.get_type_hints(config)
    helps = field_docs(config)
    fields = dataclasses.fields(typing.cast(Any, config))
    return {
        "name": name,
        "parameters": [
            {
                "name": field.name,
                "type": describe_type(hints[field.name]),
                "help": helps.get(field.name, ""),
            }
            for field in fields
            if field.name != "seed"
        ],
    }


def field_docs(config: Any) -> dict[str, str]:
    """The strings below the fields of a dataclass and of its bases."""
    docs: dict[str, str] = {}
    for cls in reversed(config.__mro__):
        if not dataclasses.is_dataclass(cls):
            continue
        (definition,) = ast.parse(inspect.getsource(typing.cast(Any, cls))).body
        assert isinstance(definition, ast.ClassDef)
        for field, text in zip(definition.body, definition.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                assert isinstance(field.target, ast.Name)
                docs[field.target.id] = " ".join(ast.literal_eval(text.value).split())
    return docs


def explorer_card(name: str) -> dict[str, Any]:
    """A registered explorer, or one that is built on another."""
    if name in WRAPPERS:
        return _wrapper_card(name)
    return {
        "name": name,
        "is_wrapper": False,
        "summary": explorer_summary(name),
        "families": list(accepted_families(name)),
        **explorer_about(name)._asdict(),
        "parameters": parameter_cards(name),
    }


def parameter_cards(name: str) -> list[dict[str, Any]]:
    """The parameters of a registered explorer."""
    return [
        {
            "name": parameter,
            "type": describe_type(described.annotation),
            "default": described.default,
            "help": described.help,
        }
        for parameter, described in explorer_parameters(name).items()
    ]


def _wrapper_card(name: str) -> dict[str, Any]:
    """An explorer that is built on another one."""
    wrapper = wrapper_named(name)
    error_prob = {
        "name": "error_prob",
        "type": "a number",
        "default": 0.1,
        "help": f"asked of EXPLORER, written last: {name}:EXPLORER,error_prob=0.05",
    }
    return {
        "name": name,
        "is_wrapper": True,
        "summary": wrapper.summary,
        "families": list(wrapper.families),
        **wrapper.about._asdict(),
        "parameters": [error_prob] if wrapper.explores else [],
    }


def in_words(name: str, parameters: Mapping[str, Any]) -> str:
    """What problems of a family, as files record it, are like; empty if not known."""
    if name not in family_names():
        return ""
    factory = get_factory(name)
    silent = AbstractTaskFamily.in_words
    if getattr(factory, "in_words", silent) is silent:
        return ""
    given = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in parameters.items()
    }
    try:
        return factory(**given).in_words()
    except (IcpeError, TypeError):  # as recorded by a version with other parameters
        return ""


def problem_cards() -> list[dict[str, Any]]:
    """What problems of the zoo's explorers are like."""
    records = [zoo.card(name).family for name in zoo.names()]
    cards = [
        {"family": record, "words": in_words(record["name"], record["parameters"])}
        for record in records
    ]
    return [card for card in cards if card["words"]]
