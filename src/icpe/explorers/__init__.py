"""Explorers: whoever asks the questions, learned or classical."""

from icpe.explorers.base import AbstractExplorer as AbstractExplorer
from icpe.explorers.belief import AbstractBelief as AbstractBelief
from icpe.explorers.belief import belief_for as belief_for
from icpe.explorers.belief import families_with_belief as families_with_belief
from icpe.explorers.belief import register_belief as register_belief
from icpe.explorers.bisection import BisectionExplorer as BisectionExplorer
from icpe.explorers.bisection import make_bisection as _make_bisection
from icpe.explorers.registry import accepted_families as accepted_families
from icpe.explorers.registry import explorer_names as explorer_names
from icpe.explorers.registry import explorer_parameters as explorer_parameters
from icpe.explorers.registry import explorer_summary as explorer_summary
from icpe.explorers.registry import explorers_for as explorers_for
from icpe.explorers.registry import make_explorer as make_explorer
from icpe.explorers.registry import register_explorer as register_explorer
from icpe.explorers.top_two import TopTwoExplorer as TopTwoExplorer
from icpe.explorers.top_two import make_top_two as _make_top_two
from icpe.explorers.uniform import UniformExplorer as UniformExplorer
from icpe.explorers.uniform import make_uniform as _make_uniform
from icpe.tasks import BinarySearch as _BinarySearch
from icpe.tasks import DeterministicBandit as _DeterministicBandit
from icpe.tasks import GaussianBandit as _GaussianBandit

register_explorer(
    "uniform",
    _make_uniform,
    families_with_belief,
    "random queries, answers and stops by the exact posterior",
)
register_explorer(
    "top-two",
    _make_top_two,
    (_DeterministicBandit, _GaussianBandit),
    "pulls the less sampled of the two arms most probable under the exact posterior",
)
register_explorer(
    "exact-binary-search",
    _make_bisection,
    (_BinarySearch,),
    "optimal binary search without error, by dynamic programming",
)
