"""How far trained networks may depart from the tables they started from.

Where tables are exact, all that networks add to their belief is noise, and learned
values of queries differ by little. How much of the first counts, how much a query must
save that the tables do not prefer, and how much counts at all of what the query net has
learned, depends on how well the tables fit and on how long training was; so all three
are measured, on fresh episodes.

Where the tables are exact, the measure is the rule itself: greedy information gain with
the exact posterior, stopped by a threshold. Networks that do not save anything against
it, at equal accuracy, are not listened to.
"""

import functools as ft
import math

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.arrays import PRNGKey
from icpe.core.engine import LocalEngine, chosen_engine, in_order
from icpe.core.family import AbstractTaskFamily
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint, Regime
from icpe.evaluate.judge import Judgment, judge
from icpe.evaluate.thresholds import ThresholdEpisodes, read_positions
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.predicted import greedy_rule
from icpe.nets.exact import ExactPredictions
from icpe.play.rollout import rollout

CORRECTIONS = (0.0, 0.25, 0.5, 1.0)
CAUTIONS = (4.0, 1.0, 0.25, 0.1, 0.0)
"""In units of cost; with the first, the query that the tables prefer is made."""
SHARES = (1.0, 0.5, 0.0)
"""Of what the query net has learned; with the last, it is the rule."""
_NUM_PRICES = 8
_MOST_READ, _MOST_BELIEFS = 2048, 2**25
"""Episodes whose every position is read at once, and numbers in their beliefs."""
_MOST_PLAYED = 2048
_LEAST_COST = 0.5
"""Queries below which shares of a cost tell nothing."""
_NOISE = 0.01
"""How far ratios of costs are off on so many episodes."""
_BLAME = 10.0
_STREAM = 0x5E77


def settle(
    nets: ExplorerNets, family: AbstractTaskFamily, episodes: int, *, seed: int
) -> ExplorerNets:
    """The networks with the correction of least log loss, then the cheapest choice.

    Args:
        nets: trained networks; those without tables are returned as they are.
        family: where the episodes come from.
        episodes: played at each price, the same ones for each choice; 2048 at most.
        seed: of the episodes.
    """
    if nets.predictions is None:
        return nets
    tables, family = nets.predictions, family.with_data()
    prices = np.geomspace(nets.prices.low, nets.prices.high, _NUM_PRICES + 1)[:-1]
    read_key, play_key = jr.split(jr.fold_in(jr.key(seed), _STREAM))
    correction = 0.0
    if not _are_given(nets):
        each = (family.spec.horizon + 1) * family.spec.num_hypotheses
        read = min(episodes, _MOST_READ, max(64, _MOST_BELIEFS // each))
        losses = _log_losses(nets, family, jnp.asarray(prices), read, read_key)
        correction = CORRECTIONS[int(np.argmin(losses))]
    tables = tables.with_correction(correction)

    nets, at = nets.with_predictions(tables), tuple(map(float, prices))
    episodes = min(episodes, _MOST_PLAYED)
    judged = ft.partial(_judged, (nets, family, jr.key_data(play_key)), at, episodes)
    engine = chosen_engine() or LocalEngine()
    choices = [(caution, 1.0) for caution in CAUTIONS]
    found = list(in_order(engine, judged, choices))
    if _is_exact(nets) and family.spec.can_stop:
        loss = ft.partial(
            loss_against,
            rule=_play_rule(nets, family, episodes, play_key),
            mean_cost=family.spec.mean_cost,
        )
    else:
        loss = ft.partial(
            _loss_of_value, first=found[0], mean_cost=family.spec.mean_cost
        )
    best, _ = choices[int(np.argmin([loss(one) for one in found]))]
    less = [(best, share) for share in SHARES[1:-1]] + [(CAUTIONS[0], SHARES[-1])]
    choices += less
    found += in_order(engine, judged, less)
    caution, share = choices[int(np.argmin([loss(one) for one in found]))]
    return nets.with_predictions(tables.with_caution(caution)).with_query_share(share)


def _loss_of_value(judgment: Judgment, first: Judgment, mean_cost: float) -> float:
    """The share of the first one's cost that is wasted."""
    return -judgment.saves(first, mean_cost)


def loss_against(
    judgment: Judgment, rule: ThresholdEpisodes, mean_cost: float = 1.0
) -> float:
    """How much more is paid than by a rule that is as sure, as a logarithm.

    The mean over prices, and much more if the worst of them is a loss beyond noise:
    what is saved at one price is no excuse for what is wasted at another.
    """
    ratios = []
    for sure, cost in zip(judgment.sureness, judgment.mean_cost, strict=True):
        other = rule.expected_cost(sure)
        other = float(rule.paid[:, -1].mean()) if other is None else other
        if min(cost, other) >= _LEAST_COST * mean_cost:
            ratios.append(math.log(cost / other))
    if not ratios:
        return 0.0
    return float(np.mean(ratios)) + _BLAME * max(0.0, max(ratios) - _NOISE)


def _are_given(nets: ExplorerNets) -> bool:
    """Whether the family itself gave the tables: then all that is added is noise."""
    return isinstance(nets.predictions, ExactPredictions) or nets.config.reads_worth


def _is_exact(nets: ExplorerNets) -> bool:
    """Whether the posterior at a stop is the probability of being right."""
    assert nets.predictions is not None and nets.config.predictions is not None
    trusted = nets.config.predictions.trust >= 1.0
    return trusted and float(nets.predictions.correction) == 0.0


def _play_rule(
    nets: ExplorerNets, family: AbstractTaskFamily, episodes: int, key: PRNGKey
) -> ThresholdEpisodes:
    """The rule that the networks start from, on the episodes of a judgment."""
    assert nets.predictions is not None
    spec, explorer = family.spec, greedy_rule(nets.predictions, family.spec)
    point = OperatingPoint.at(spec.horizon, budget=spec.horizon)
    keys = jr.split(key, episodes)
    played = jit_program(rollout)(explorer, family, point, keys=keys)
    return read_positions(explorer.belief, spec, played)


def _judged(
    given: tuple,
    prices: tuple[float, ...],
    episodes: int,
    choice: tuple[float, float],
) -> Judgment:
    """With some caution and share; it may be played on another machine."""
    nets, family, key_data = given
    caution, share = choice
    tried = nets.with_predictions(nets.predictions.with_caution(caution))
    explorer = NeuralExplorer(tried.with_query_share(share).for_play())
    return judge(explorer, family, prices, episodes, key=jr.wrap_key_data(key_data))


@jit_program
def _log_losses(
    nets: ExplorerNets, family: AbstractTaskFamily, prices, episodes: int, key: PRNGKey
):
    """Cross-entropy of every position, with each correction, on the same episodes."""
    assert nets.predictions is not None
    horizon = family.spec.horizon
    price = jnp.resize(prices, (episodes,))
    caps = jnp.full(episodes, horizon, jnp.int32)
    point = OperatingPoint(price, jnp.zeros(episodes), caps, Regime.MIXED)
    explorer = NeuralExplorer(nets.for_play())
    played = rollout(explorer, family, point, keys=jr.split(key, episodes))
    seen = nets.see(played.history)
    reached = jnp.arange(horizon + 1)[None] <= played.history.length[:, None]
    truth = played.ending.hypothesis[:, None, None]
    losses = []
    for share in CORRECTIONS:
        tables = nets.predictions.with_correction(share)
        found = nets.with_predictions(tables).along(seen, price, caps).log_posterior
        error = -jnp.take_along_axis(found, truth, axis=2)[..., 0]
        losses.append(jnp.mean(error, where=reached))
    return jnp.stack(losses)
