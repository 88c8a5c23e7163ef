"""What `--train.x VALUE` sets of a training."""

import dataclasses
import re
import typing
from collections.abc import Mapping

from icpe.cli.values import convert
from icpe.core.errors import InvalidParameterError, UnknownNameError, suggesting
from icpe.learn.config import TrainConfig
from icpe.learn.paper.config import PaperConfig


def changes_of(
    learner: str, settings: Mapping[str, str], error_prob: float | None
) -> dict:
    """What the user sets of a training, each value checked by itself.

    Args:
        learner: universal or paper.
        settings: the unparsed values.
        error_prob: what --error-prob asks for.

    Raises:
        UnknownNameError: no such setting.
        InvalidParameterError: a value that cannot be, or two requests at once.
    """
    settings_type = PaperConfig if learner == "paper" else TrainConfig
    changes = read_settings(settings_type, settings)
    try:
        settings_type.check_alone(**changes)
    except InvalidParameterError as error:
        sentence = str(error)
        for name in changes:
            sentence = re.sub(rf"\b{name}\b", _option(name), sentence)
        raise InvalidParameterError(sentence) from error
    if error_prob is not None:
        changes = {"error_prob": error_prob, **changes}
    return _for_one_request(changes) if learner == "paper" else changes


def read_settings(config_type: type, settings: Mapping[str, str]) -> dict:
    """Reads `--train.x VALUE` words; the seed has an option of its own.

    Raises:
        UnknownNameError: no such setting; the message names those there are.
        InvalidParameterError: a value of the wrong type.
    """
    hints = typing.get_type_hints(config_type)
    names = [field.name for field in dataclasses.fields(config_type)]
    allowed = {name: hints[name] for name in names if name != "seed"}
    values = {}
    for name, word in settings.items():
        if name not in allowed:
            raise UnknownNameError(
                suggesting(
                    f"Training has no setting {name!r}",
                    name,
                    allowed,
                    f"it has {', '.join(allowed)}.",
                )
            )
        values[name] = convert(_option(name), word, allowed[name])
    return values


def _option(name: str) -> str:
    return f"--train.{name.replace('_', '-')}"


def _for_one_request(changes: dict) -> dict:
    """The changes, where an error probability stands in for a budget of the preset."""
    if "error_prob" not in changes:
        return changes
    if changes.get("budget"):
        raise InvalidParameterError(
            "--train.error-prob cannot be combined with --train.budget, since the "
            "paper's learner trains for one request; leave one of them out."
        )
    return {**changes, "budget": 0}
