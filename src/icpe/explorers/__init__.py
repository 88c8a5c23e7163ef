"""Explorers: whoever asks the questions, learned or classical."""

from icpe.core.belief import AbstractBelief as AbstractBelief
from icpe.core.belief import AbstractPredictiveBelief as AbstractPredictiveBelief
from icpe.core.belief import belief_for as belief_for
from icpe.core.belief import families_with_belief as families_with_belief
from icpe.core.belief import register_belief as register_belief
from icpe.core.explorer import AbstractExplorer as AbstractExplorer
from icpe.explorers.registry import About as About
from icpe.explorers.registry import accepted_families as accepted_families
from icpe.explorers.registry import explorer_about as explorer_about
from icpe.explorers.registry import explorer_names as explorer_names
from icpe.explorers.registry import explorer_parameters as explorer_parameters
from icpe.explorers.registry import explorer_summary as explorer_summary
from icpe.explorers.registry import explorers_for as explorers_for
from icpe.explorers.registry import make_explorer as make_explorer
from icpe.explorers.registry import register_explorer as register_explorer
from icpe.explorers.rules.bisection import BisectionExplorer as BisectionExplorer
from icpe.explorers.rules.bisection import make_bisection as _make_bisection
from icpe.explorers.rules.information_gain import (
    InformationGainExplorer as InformationGainExplorer,
)
from icpe.explorers.rules.information_gain import (
    make_information_gain as _make_information_gain,
)
from icpe.explorers.rules.informed_greedy import (
    InformedGreedyExplorer as InformedGreedyExplorer,
)
from icpe.explorers.rules.informed_greedy import (
    make_informed_greedy as _make_informed_greedy,
)
from icpe.explorers.rules.top_two import TopTwoExplorer as TopTwoExplorer
from icpe.explorers.rules.top_two import make_top_two as _make_top_two
from icpe.explorers.rules.uniform import UniformExplorer as UniformExplorer
from icpe.explorers.rules.uniform import make_uniform as _make_uniform
from icpe.families import BernoulliBandit as _BernoulliBandit
from icpe.families import BinarySearch as _BinarySearch
from icpe.families import DeterministicBandit as _DeterministicBandit
from icpe.families import FeedbackGraph as _FeedbackGraph
from icpe.families import GaussianBandit as _GaussianBandit
from icpe.families import MagicAction as _MagicAction
from icpe.families import MagicChain as _MagicChain
from icpe.families import NoisyBinarySearch as _NoisyBinarySearch
from icpe.families import TwoPullBandit as _TwoPullBandit
from icpe.families.bandit_beliefs import BernoulliBelief as _BernoulliBelief
from icpe.families.bandit_beliefs import GaussianGapBelief as _GaussianGapBelief
from icpe.families.bandit_beliefs import RevealedMeansBelief as _RevealedMeansBelief
from icpe.families.feedback_graph.belief import graph_belief as _graph_belief
from icpe.families.magic_action.belief import MagicActionBelief as _MagicActionBelief
from icpe.families.magic_action.belief import TwoPullBelief as _TwoPullBelief
from icpe.families.magic_chain.belief import chain_belief as _chain_belief
from icpe.families.search_beliefs import VersionSpaceBelief as _VersionSpaceBelief
from icpe.families.search_beliefs import noisy_search_belief as _noisy_search_belief

register_belief(_BinarySearch, lambda family: _VersionSpaceBelief(family.size))
register_belief(_NoisyBinarySearch, _noisy_search_belief)
register_belief(_DeterministicBandit, _RevealedMeansBelief)
register_belief(_GaussianBandit, _GaussianGapBelief)
register_belief(_BernoulliBandit, _BernoulliBelief)
register_belief(_MagicAction, _MagicActionBelief)
register_belief(_MagicChain, _chain_belief)
register_belief(_TwoPullBandit, _TwoPullBelief)
register_belief(_FeedbackGraph, _graph_belief)

_BY_POSTERIOR = (
    "errs with probability at most delta on average over the prior, since it stops at "
    "exact posterior 1 - delta"
)

register_explorer(
    "uniform",
    _make_uniform,
    families_with_belief,
    "random queries, answers and stops by the exact posterior",
    About(guarantee=_BY_POSTERIOR),
)
register_explorer(
    "top-two",
    _make_top_two,
    (
        _BernoulliBandit,
        _DeterministicBandit,
        _GaussianBandit,
        _MagicAction,
        _MagicChain,
        _NoisyBinarySearch,
        _TwoPullBandit,
    ),
    "pulls the less sampled of the two arms most probable under the exact posterior",
    About(
        "after Russo 2020, Simple Bayesian algorithms for best-arm identification",
        _BY_POSTERIOR,
    ),
)
register_explorer(
    "information-gain",
    _make_information_gain,
    (
        _BinarySearch,
        _FeedbackGraph,
        _GaussianBandit,
        _MagicAction,
        _MagicChain,
        _NoisyBinarySearch,
        _TwoPullBandit,
    ),
    "exact information-directed sampling: asks what is expected to tell most",
    About(
        "Russo and Van Roy 2018, Learning to optimize via information-directed "
        "sampling",
        _BY_POSTERIOR,
    ),
)
register_explorer(
    "informed-greedy",
    _make_informed_greedy,
    (_FeedbackGraph,),
    "asks what reveals most rewards of the arms in doubt, knowing graph and prior",
    About(guarantee=_BY_POSTERIOR),
)
register_explorer(
    "exact-binary-search",
    _make_bisection,
    (_BinarySearch,),
    "optimal binary search without error, by dynamic programming",
    About(guarantee="never errs; least mean and largest number of queries"),
)

# Last, since it registers more explorers by the names above.
from icpe.explorers import classical as classical  # noqa: E402
from icpe.explorers import wrappers as wrappers  # noqa: E402
