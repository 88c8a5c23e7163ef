"""Rules that act on a belief, by name: whoever knows the prior needs no training."""

from icpe.core.likelihood import has_belief
from icpe.explorers.classical.served import has_graph_arms
from icpe.explorers.registry import About, register_explorer
from icpe.explorers.rules.exact import (
    asks_about_hypotheses,
    has_optimum,
    lacks_arms,
    lacks_gains,
    make_information_gain,
    make_informed_greedy,
    make_optimal,
    make_top_two,
    make_uniform,
    predicts,
)

_BY_POSTERIOR = (
    "errs with probability at most delta on average over the prior, since it stops at "
    "exact posterior 1 - delta"
)

register_explorer(
    "uniform",
    make_uniform,
    has_belief,
    "random queries, answers and stops by the exact posterior",
    About(guarantee=_BY_POSTERIOR),
)
register_explorer(
    "top-two",
    make_top_two,
    asks_about_hypotheses,
    "pulls the less sampled of the two arms most probable under the exact posterior",
    About(
        "after Russo 2020, Simple Bayesian algorithms for best-arm identification",
        _BY_POSTERIOR,
    ),
    lacks_arms,
)
register_explorer(
    "information-gain",
    make_information_gain,
    predicts,
    "exact information-directed sampling: asks what is expected to tell most",
    About(
        "Russo and Van Roy 2018, Learning to optimize via information-directed "
        "sampling",
        _BY_POSTERIOR,
    ),
    lacks_gains,
)
register_explorer(
    "informed-greedy",
    make_informed_greedy,
    has_graph_arms,
    "asks what reveals most rewards of the arms in doubt, knowing graph and prior",
    About(guarantee=_BY_POSTERIOR),
)
register_explorer(
    "exact-binary-search",
    make_optimal,
    has_optimum,
    "optimal binary search without error, by dynamic programming",
    About(guarantee="never errs; least mean and largest number of queries"),
)
