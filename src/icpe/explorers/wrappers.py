"""Explorers built on another explorer, such as a trained one, by name."""

import difflib
from collections.abc import Callable
from typing import NamedTuple

from icpe.exceptions import UnknownNameError
from icpe.explorers.base import AbstractExplorer
from icpe.explorers.explore_then_commit import make_explore_then_commit
from icpe.explorers.posterior_greedy import (
    asks_about_hypotheses,
    make_posterior_greedy,
)
from icpe.explorers.posterior_information import (
    has_one_number,
    make_posterior_information,
)
from icpe.explorers.registry import About
from icpe.tasks.base import AbstractTaskFamily, TaskSpec
from icpe.tasks.registry import family_names, make
from icpe.types import OperatingPoint


class Wrapper(NamedTuple):
    """How to build one, and what there is to say about it."""

    factory: Callable[
        [AbstractExplorer, AbstractTaskFamily, OperatingPoint], AbstractExplorer
    ]
    fits: Callable[[TaskSpec], bool]
    summary: str
    about: About

    @property
    def families(self) -> tuple[str, ...]:
        """The names of the registered families it can serve, sorted."""
        return tuple(name for name in family_names() if self.fits(make(name).spec))


WRAPPERS = {
    "i-dpt": Wrapper(
        lambda inner, family, inner_point: make_posterior_greedy(inner, family),
        asks_about_hypotheses,
        "asks about the most probable hypothesis, by the belief of EXPLORER",
        About(
            "the paper, after Lee et al. 2023, Supervised pretraining can learn "
            "in-context reinforcement learning",
            "stops at posterior 1 - delta, which is as good as the belief",
        ),
    ),
    "i-ids": Wrapper(
        lambda inner, family, inner_point: make_posterior_information(inner, family),
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
        asks_about_hypotheses,
        "explores with EXPLORER until it stops, then pulls its answer (for regret)",
        About(
            "the paper, In-Context Explore-then-Commit",
            "regret at most that of exploring plus delta times the horizon, in units "
            "of the largest gap",
            serves="budget",
        ),
    ),
}


def wrapper_named(name: str) -> Wrapper:
    """The wrapper of a name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in WRAPPERS:
        close = difflib.get_close_matches(name, WRAPPERS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownNameError(
            f"There is no explorer {name!r} that is built on another; they are "
            f"{', '.join(WRAPPERS)}.{hint}"
        )
    return WRAPPERS[name]


def wrap_explorer(
    name: str,
    inner: AbstractExplorer,
    family: AbstractTaskFamily,
    inner_point: OperatingPoint,
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
    """
    return wrapper_named(name).factory(inner, family, inner_point)
