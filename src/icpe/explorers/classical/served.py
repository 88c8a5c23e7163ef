"""Which families classical methods serve, and the arms they play there."""

from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.families.bandit.arms import (
    AbstractArms,
    BernoulliArms,
    GaussianArms,
    GraphArms,
    PlainArms,
)
from icpe.families.bandit.family import AbstractBandit
from icpe.families.finite import AbstractFiniteFamily
from icpe.families.item_test import AbstractItemTest


def known_arms(family: AbstractTaskFamily) -> AbstractArms | None:
    """The law of a family's arms, None if it has none that is known."""
    return family.arms() if isinstance(family, AbstractBandit) else None


def has_arms(family: AbstractTaskFamily) -> bool:
    """Whether rewards have a known law."""
    return known_arms(family) is not None


def has_plain_arms(family: AbstractTaskFamily) -> bool:
    """Whether, moreover, a query reveals a reward of the arm pulled alone."""
    return isinstance(known_arms(family), GaussianArms | BernoulliArms)


def has_bernoulli_arms(family: AbstractTaskFamily) -> bool:
    """Whether rewards are successes and failures."""
    return isinstance(known_arms(family), BernoulliArms)


def has_graph_arms(family: AbstractTaskFamily) -> bool:
    """Whether rewards are revealed along the edges of a graph."""
    return isinstance(known_arms(family), GraphArms)


def pays_rewards(family: AbstractTaskFamily) -> bool:
    """Whether an outcome is a reward that one may want to be large."""
    noise = type(family).reward_noise if isinstance(family, AbstractBandit) else None
    return noise is not None and noise is not AbstractBandit.reward_noise


def pays_for_itself(family: AbstractTaskFamily) -> bool:
    """Whether, moreover, no arm tells about another."""
    return pays_rewards(family) and family.spec.queries_alike


def is_finite(family: AbstractTaskFamily) -> bool:
    """Whether the family is a finite model."""
    return isinstance(family, AbstractFiniteFamily)


def has_items(family: AbstractTaskFamily) -> bool:
    """Whether the family is a test of items with a known response model."""
    return isinstance(family, AbstractItemTest)


def arms_of(family: AbstractTaskFamily) -> AbstractArms:
    """The arms of a family, without its prior.

    Raises:
        UnsupportedError: some arms may be missing.
    """
    count_arms(family)
    arms = known_arms(family)
    assert arms is not None
    return arms


def plain_arms_of(family: AbstractTaskFamily) -> PlainArms:
    """The arms of a plain bandit, without its prior.

    Raises:
        UnsupportedError: some arms may be missing.
    """
    arms = arms_of(family)
    assert isinstance(arms, GaussianArms | BernoulliArms)
    return arms


def count_arms(family: AbstractTaskFamily) -> int:
    """The number of arms of a bandit.

    Raises:
        UnsupportedError: it varies.
    """
    if family.spec.masks_queries:
        raise UnsupportedError(
            "Classical methods take a fixed number of arms, and vary_arms is set; set "
            "fewest_arms and most_arms to one number, or leave vary_arms out."
        )
    return family.spec.num_queries
