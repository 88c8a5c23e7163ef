"""Explorers built on another explorer, such as a trained one, by name."""

from collections.abc import Callable
from typing import NamedTuple

from icpe.core.errors import InvalidParameterError, UnknownNameError, suggesting
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import OperatingPoint
from icpe.explorers.registry import About, Serves, families_that
from icpe.explorers.rules.borrowed import (
    has_one_number,
    make_posterior_greedy,
    make_posterior_information,
)
from icpe.explorers.rules.explore_then_commit import make_explore_then_commit


class Wrapper(NamedTuple):
    """How to build one, and what there is to say about it.

    `explores` says whether the explorer inside chooses queries itself, and so must be
    told what is asked of it; else its belief alone is used.
    """

    factory: Callable[..., AbstractExplorer]
    fits: Serves
    summary: str
    about: About
    explores: bool = False

    @property
    def families(self) -> tuple[str, ...]:
        """The names of the registered families it can serve, sorted."""
        return families_that(self.fits)


def _asks_about_hypotheses(family: AbstractTaskFamily) -> bool:
    return family.spec.asks_about_hypotheses


WRAPPERS = {
    "i-dpt": Wrapper(
        make_posterior_greedy,
        _asks_about_hypotheses,
        "asks about the most probable hypothesis, by the belief of EXPLORER",
        About(
            "the paper, after Lee et al. 2023, Supervised pretraining can learn "
            "in-context reinforcement learning",
            "stops at posterior 1 - delta, which is as good as the belief",
        ),
    ),
    "i-ids": Wrapper(
        make_posterior_information,
        has_one_number,
        "asks what lowers the entropy of the belief of EXPLORER most",
        About(
            "the paper, after Russo and Van Roy 2018, Learning to optimize via "
            "information-directed sampling",
            "stops at posterior 1 - delta, which is as good as the belief",
        ),
    ),
    "explore-then-commit": Wrapper(
        make_explore_then_commit,
        _asks_about_hypotheses,
        "explores with EXPLORER until it stops, then pulls its answer (for regret)",
        About(
            "the paper, In-Context Explore-then-Commit",
            "regret at most that of exploring plus delta times the horizon, in units "
            "of the largest gap",
            serves="budget",
        ),
        explores=True,
    ),
}


def wrapper_named(name: str) -> Wrapper:
    """The wrapper of a name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in WRAPPERS:
        raise UnknownNameError(
            suggesting(
                f"There is no explorer {name!r} that is built on another",
                name,
                WRAPPERS,
                f"they are {', '.join(WRAPPERS)}.",
            )
        )
    return WRAPPERS[name]


def wrap_explorer(
    name: str,
    inner: AbstractExplorer,
    family: AbstractTaskFamily,
    inner_point: OperatingPoint | None = None,
) -> AbstractExplorer:
    """Builds an explorer on top of another one.

    Args:
        name: one of `WRAPPERS`.
        inner: the explorer inside, made for the family.
        family: the family it plays.
        inner_point: what is asked of the explorer inside, where it explores itself.

    Raises:
        UnknownNameError: no such wrapper.
        UnsupportedError: it cannot serve the family; the message names those it can.
        InvalidParameterError: `inner_point` is missing.
    """
    wrapper = wrapper_named(name)
    if not wrapper.explores:
        return wrapper.factory(inner, family)
    if inner_point is None:
        raise InvalidParameterError(
            f"inner_point is missing; {name!r} needs to know what to ask of the "
            "explorer inside, such as OperatingPoint.at(horizon, error_prob=0.1)."
        )
    return wrapper.factory(inner, family, inner_point)
