"""Who plays, and how: a request put to an explorer or to a trained file."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from icpe.artifact.artifact import Artifact
from icpe.artifact.player import Player
from icpe.artifact.saved_rule import is_rule
from icpe.core.errors import (
    IcpeError,
    InvalidParameterError,
    OperatingPointError,
    UnsupportedError,
)
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, same_family
from icpe.core.request import OperatingPoint, Promise, Request
from icpe.core.spec import TaskSpec
from icpe.families.registry import describe

Contender = AbstractExplorer | Artifact
"""Who can be asked: a trained explorer looks up its price in its artifact."""


def serve(contender: Contender, request: Request, family: AbstractTaskFamily) -> Player:
    """Who plays on a family, and at which operating point.

    Raises:
        InvalidParameterError: the contender is neither an artifact nor an explorer.
        UnsupportedError: the explorer was made for another kind of family.
        OperatingPointError: the request cannot be served.
    """
    check_contender(contender)
    if not isinstance(contender, Artifact):
        point = request.at(family.spec.horizon)
        _check_fit(contender, point, family)
        return Player(contender, point, doubt=_doubt(contender, request))
    check_numbers(contender.family.spec, family)
    player = contender.serve(request)
    if same_family(family, contender.family):
        return player
    return dataclasses.replace(player, certificate=None)


def _doubt(explorer: AbstractExplorer, request: Request) -> float | None:
    """The doubt at which a rule decides, None where no belief is promised.

    Raises:
        OperatingPointError: the explorer cannot keep the promise.
    """
    if request.promise is Promise.AVERAGE:
        return None
    if request.promise is Promise.BELIEF and is_rule(explorer):
        return request.error_prob
    raise OperatingPointError(
        f"promise {request.promise} is for rules with an exact belief, and for "
        "certified files; leave it out here."
    )


def check_contender(contender: Any) -> None:
    """Raises one sentence unless it is an artifact or an explorer."""
    if not isinstance(contender, Artifact | AbstractExplorer):
        raise InvalidParameterError(
            f"explorer must be an artifact or an explorer; got {contender!r}: load a "
            "file by Artifact.load(FILE), one of the zoo by zoo.load(NAME)."
        )


def check_numbers(made_for: TaskSpec, family: AbstractTaskFamily) -> None:
    """Raises one sentence unless an explorer for one spec can play a family.

    Raises:
        UnsupportedError: a number of the two differs; the message names the first.
    """
    numbers = family.spec.numbers()
    for name, value in made_for.numbers().items():
        if numbers[name] != value:
            raise UnsupportedError(
                f"The explorer was made for a family with {name}={value} and cannot "
                f"play {describe(family)}, where it is {numbers[name]}; make or train "
                "one for that."
            )


def _check_fit(
    explorer: AbstractExplorer, point: OperatingPoint, family: AbstractTaskFamily
) -> None:
    """Raises one sentence unless an explorer can play a family; tries its shapes."""
    made_for = explorer.made_for
    if made_for is not None:
        check_numbers(made_for, family)
    spec = family.spec

    def one_step(explorer: AbstractExplorer, point: OperatingPoint):
        outcome = jnp.zeros(spec.outcome_size)
        state = explorer.init(spec, point, outcome)
        query = explorer.ask(state, jnp.ones(spec.num_queries, bool), key=jr.key(0))
        state = explorer.tell(state, query, outcome)
        return explorer.recommend(state)

    try:
        eqx.filter_eval_shape(one_step, explorer, point)
    except IcpeError:
        raise
    except (TypeError, ValueError, IndexError) as error:
        raise UnsupportedError(
            f"Explorer {type(explorer).__name__} cannot play {describe(family)}; it "
            "was made for other numbers of queries, hypotheses or outcomes."
        ) from error
