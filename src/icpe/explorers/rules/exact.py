"""Explorers that act on the exact belief of a family, by their names."""

from typing import Annotated

from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.errors import UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.likelihood import belief_for, has_belief, has_likelihood
from icpe.explorers.rules.belief_explorer import (
    AbstractScore,
    BeliefExplorer,
    PosteriorStopping,
)
from icpe.explorers.rules.scores import (
    InformationScore,
    RandomScore,
    RevealingScore,
    TopTwoScore,
)
from icpe.families.bandit.arms import GraphArms
from icpe.families.bandit.family import AbstractBandit
from icpe.families.registry import describe

Threshold = Annotated[
    float | None, "posterior at which it stops; 1 - error_prob if left out"
]


def make_uniform(
    family: AbstractTaskFamily, *, threshold: Threshold = None
) -> BeliefExplorer:
    """Random queries with the exact belief."""
    return _with_exact_belief("uniform", family, RandomScore(), threshold)


def make_top_two(
    family: AbstractTaskFamily, *, threshold: Threshold = None
) -> BeliefExplorer:
    """The top two, for a family whose queries are about its hypotheses."""
    return _with_exact_belief("top-two", family, TopTwoScore(), threshold)


def make_information_gain(
    family: AbstractTaskFamily, *, threshold: Threshold = None
) -> BeliefExplorer:
    """Exact information-directed sampling.

    Raises:
        UnsupportedError: the expected gains of this family are not known.
    """
    score = InformationScore(family.spec.costs)
    explorer = _with_exact_belief("information-gain", family, score, threshold)
    if not isinstance(explorer.belief, AbstractPredictiveBelief):
        raise UnsupportedError(
            f"Explorer 'information-gain' does not know the expected gains of "
            f"{describe(family)}; choose another explorer."
        )
    return explorer


def make_informed_greedy(
    family: AbstractTaskFamily, *, threshold: Threshold = None
) -> BeliefExplorer:
    """The greedy rule for a feedback graph."""
    assert isinstance(family, AbstractBandit)
    arms = family.arms()
    assert isinstance(arms, GraphArms)
    score = RevealingScore(arms.edges)
    return _with_exact_belief("informed-greedy", family, score, threshold)


def make_optimal(family: AbstractTaskFamily) -> AbstractExplorer:
    """The family's own optimal explorer."""
    explorer = family.optimal_explorer()
    assert explorer is not None
    return explorer


def asks_about_hypotheses(family: AbstractTaskFamily) -> bool:
    """Whether queries are about hypotheses, and the belief about these is exact."""
    return family.spec.asks_about_hypotheses and has_belief(family)


def predicts(family: AbstractTaskFamily) -> bool:
    """Whether what each query is expected to tell is known."""
    if not has_belief(family):
        return False
    if has_likelihood(family):
        return True
    return isinstance(family.exact_belief(), AbstractPredictiveBelief)


def lacks_gains(family: AbstractTaskFamily) -> str:
    """What keeps a family with an exact belief from `information-gain`, in words."""
    belief = family.exact_belief()
    if belief is None or isinstance(belief, AbstractPredictiveBelief):
        return ""
    return (
        f"its exact belief {type(belief).__name__!r} does not say what queries are "
        "expected to tell, as an icpe.core.belief.AbstractPredictiveBelief does with "
        "the method information_gains(state)"
    )


def lacks_arms(family: AbstractTaskFamily) -> str:
    """What keeps a family with an exact belief from `top-two`, in words."""
    spec = family.spec
    if not has_belief(family) or spec.asks_about_hypotheses:
        return ""
    if not spec.can_stop:
        return "an explorer cannot stop and answer there (TaskSpec.can_stop)"
    return (
        f"its {spec.num_queries} queries are not about its {spec.num_hypotheses} "
        "hypotheses one by one, with the same number and names"
    )


def has_optimum(family: AbstractTaskFamily) -> bool:
    """Whether an optimal explorer is known."""
    return family.optimal_explorer() is not None


def _with_exact_belief(
    name: str,
    family: AbstractTaskFamily,
    score: AbstractScore,
    threshold: float | None,
) -> BeliefExplorer:
    belief = belief_for(family)
    return BeliefExplorer(
        name, belief, score, PosteriorStopping(threshold), family.spec
    )
