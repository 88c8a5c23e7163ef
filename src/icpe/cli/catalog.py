"""What there is by name: families and explorers, known without loading them.

The shipped ones are described in `catalog.json`, which `make catalog` writes and a test
compares with the registries. Once a module of the user's has been imported, which may
have registered more, the registries are asked.
"""

import functools as ft
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from icpe.core.errors import (
    UnknownNameError,
    UnsupportedError,
    not_served,
    suggesting,
)
from icpe.core.family_words import in_one_line

FILE = Path(__file__).with_name("catalog.json")
Card = dict[str, Any]


def family_cards() -> list[Card]:
    """The families and their parameters, sorted by name."""
    return [family_card(name) for name in family_names()]


def explorer_cards() -> list[Card]:
    """The explorers that need no training, and then those built on another one."""
    return [explorer_card(name) for name in (*baseline_names(), *wrapper_names())]


def family_names() -> tuple[str, ...]:
    """The names of all families, sorted."""
    registries = _registries()
    return tuple(_shipped("families")) if registries is None else registries.families()


def baseline_names() -> tuple[str, ...]:
    """The names of all explorers that stand for themselves, sorted."""
    registries = _registries()
    if registries is not None:
        return registries.baselines()
    cards = _shipped("explorers").values()
    return tuple(card["name"] for card in cards if not card["is_wrapper"])


def wrapper_names() -> tuple[str, ...]:
    """The names of all explorers that are built on another one."""
    registries = _registries()
    if registries is not None:
        return registries.wrappers()
    cards = _shipped("explorers").values()
    return tuple(card["name"] for card in cards if card["is_wrapper"])


def family_card(name: str) -> Card:
    """The card of one family.

    Raises:
        UnknownNameError: there is none of that name.
    """
    _check_named(name, "family", "families", family_names())
    registries = _registries()
    if registries is not None:
        return _as_json(registries.family_card(name))
    return _shipped("families")[name]


def explorer_card(name: str) -> Card:
    """The card of one explorer that needs no training.

    Raises:
        UnknownNameError: there is none of that name.
    """
    known = (*baseline_names(), *wrapper_names())
    _check_named(name, "baseline", "baselines", known)
    registries = _registries()
    if registries is not None:
        return _as_json(registries.explorer_card(name))
    return _shipped("explorers")[name]


def check_serves(name: str, family: str) -> None:
    """Complains about a baseline that cannot play a family as icpe ships them.

    Raises:
        UnsupportedError: it cannot.
    """
    known = _shipped("explorers")
    if _registries() is not None or name not in known or family not in family_names():
        return
    serving = [it["name"] for it in known.values() if family in it.get("families", ())]
    if name not in serving:
        served = known[name].get("families", ())
        raise UnsupportedError(not_served(name, family, served, serving))


def check_study(name: str) -> None:
    """Complains about a study that does not exist.

    Raises:
        UnknownNameError: there is none of that name.
    """
    _check_named(name, "study", "studies", study_names(), more="")


def study_names() -> tuple[str, ...]:
    """The names of all studies."""
    return tuple(_shipped("studies"))


def explorer_parameters(name: str) -> list[Card]:
    """The parameters of a baseline, with types in words."""
    registries = _registries()
    if registries is not None:
        return _as_json(registries.parameter_cards(name))
    return _shipped("explorers")[name]["parameters"]


def learner_settings(learner: str) -> list[Card]:
    """What `--train.x` sets of a learner, with types in words."""
    return _shipped("learners")[learner]["parameters"]


def describe_record(name: str, parameters: Mapping[str, Any]) -> str:
    """A family as files record it, in one line; rare parameters only where set."""
    known = family_card(name)["parameters"] if name in family_names() else ()
    usual = {it["name"]: _listed(it["default"]) for it in known if it["rare"]}
    words = {it["name"] for it in known if it["words"]}
    notable = {
        key: value
        for key, value in parameters.items()
        if key not in words and (key not in usual or _listed(value) != usual[key])
    }
    return in_one_line(name, notable)


def in_words(name: str, parameters: Mapping[str, Any]) -> str:
    """What problems of a family, as files record it, are like; empty if not known."""
    registries = _registries()
    if registries is not None:
        return registries.in_words(name, parameters)
    for problem in _everything()["problems"]:
        record = {"name": name, "parameters": _as_json(parameters)}
        if record == problem["family"]:
            return problem["words"]
    return ""


_MORE = " and those that you register, on the command line by --import MODULE"


def _check_named(
    name: str, kind: str, kinds: str, known: Iterable[str], more: str = _MORE
) -> None:
    known = tuple(known)
    if name not in known:
        listing = f"the {kinds} are {', '.join(known)}{more}."
        raise UnknownNameError(
            suggesting(f"There is no {kind} {name!r}", name, known, listing)
        )


def _registries():
    """The module that asks the registries, once there can be more than is shipped."""
    if "icpe.families" not in sys.modules:
        return None
    from icpe.cli import registry_cards

    return registry_cards


@ft.cache
def _everything() -> dict[str, list[Card]]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def _shipped(kind: str) -> dict[str, Card]:
    return {card["name"]: card for card in _everything()[kind]}


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def text() -> str:
    """What the file should hold."""
    import icpe.families  # noqa: F401, so that the registries are asked
    from icpe.cli.registry_cards import learner_cards, problem_cards
    from icpe.studies import catalog as studies

    cards = {
        "families": family_cards(),
        "explorers": explorer_cards(),
        "learners": learner_cards(),
        "problems": problem_cards(),
        "studies": [{"name": name} for name in studies.study_names()],
    }
    kinds = (
        f"{json.dumps(kind)}: [\n" + ",\n".join(map(json.dumps, listed)) + "\n]"
        for kind, listed in cards.items()
    )
    return "{" + ", ".join(kinds) + "}\n"  # a card is a line


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
