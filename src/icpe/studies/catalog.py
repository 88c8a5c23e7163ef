"""All studies by name, in the order of the paper; ours at the end."""

from collections.abc import Callable

from icpe.core.errors import UnknownNameError, suggesting
from icpe.studies import (
    ablation,
    any_error_prob,
    binary_search,
    deterministic_bandits,
    distribution_shift,
    feedback_graphs,
    finite_sample,
    gauntlet,
    magic_action,
    magic_chain,
    magic_room,
    policy_statistics,
    stochastic_bandits,
    stochastic_bandits_budget,
)
from icpe.studies.digits import pixel_sampling
from icpe.studies.study import Size, Study

_STUDIES: dict[str, Callable[[Size], Study]] = {
    "stochastic-bandits": stochastic_bandits.make,
    "stochastic-bandits-budget": stochastic_bandits_budget.make,
    "distribution-shift": distribution_shift.make,
    "policy-statistics": policy_statistics.make,
    "deterministic-bandits": deterministic_bandits.make,
    "magic-action": magic_action.make,
    "regret": magic_action.make_regret,
    "magic-chain": magic_chain.make,
    "binary-search": binary_search.make,
    "feedback-graphs-budget": feedback_graphs.make_budget,
    "feedback-graphs": feedback_graphs.make,
    "magic-room": magic_room.make,
    "digits": pixel_sampling.make,
    "finite-sample": finite_sample.make,
    "any-error-probability": any_error_prob.make,
    "gauntlet": gauntlet.make,
    "gauntlet-cpu": gauntlet.make_small,
    "ablation": ablation.make,
}


def study_names() -> tuple[str, ...]:
    """The names of all studies."""
    return tuple(_STUDIES)


def make_study(name: str, size: Size = "full") -> Study:
    """A study by name.

    Raises:
        UnknownNameError: there is none of that name.
    """
    if name not in _STUDIES:
        raise UnknownNameError(
            suggesting(
                f"There is no study {name!r}",
                name,
                _STUDIES,
                f"the studies are {', '.join(_STUDIES)}.",
            )
        )
    return _STUDIES[name](size)
