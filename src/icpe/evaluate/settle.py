"""How far trained networks may depart from the tables they started from.

Where tables are exact, all that networks add to their belief is noise, and learned
values of queries differ by little. How much of the first counts, and how much a query
must save that the tables do not prefer, depends on how well the tables fit and on how
long training was; so both are measured, on fresh episodes.
"""

import functools as ft

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.arrays import PRNGKey
from icpe.core.engine import LocalEngine, chosen_engine, in_order
from icpe.core.family import AbstractTaskFamily
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint, Regime
from icpe.evaluate.judge import Judgment, judge
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.play.rollout import rollout

CORRECTIONS = (0.0, 0.25, 0.5, 1.0)
CAUTIONS = (4.0, 1.0, 0.5, 0.25, 0.1, 0.05, 0.0)
"""In units of cost; with the first, the query that the tables prefer is made."""
_NUM_PRICES = 4
_MOST_READ = 2048
"""Episodes whose every position is read at once."""
_STREAM = 0x5E77


def settle(
    nets: ExplorerNets, family: AbstractTaskFamily, episodes: int, *, seed: int
) -> ExplorerNets:
    """The networks with the correction of least log loss, then the cheapest caution.

    Args:
        nets: trained networks; those without tables are returned as they are.
        family: where the episodes come from.
        episodes: played at each price, the same ones for each caution.
        seed: of the episodes.
    """
    if nets.predictions is None:
        return nets
    tables, family = nets.predictions, family.with_data()
    prices = np.geomspace(nets.prices.low, nets.prices.high, _NUM_PRICES + 2)[:-2]
    read_key, play_key = jr.split(jr.fold_in(jr.key(seed), _STREAM))
    read = min(episodes, _MOST_READ)
    losses = _log_losses(nets, family, jnp.asarray(prices), read, read_key)
    tables = tables.with_correction(CORRECTIONS[int(np.argmin(losses))])

    nets, at = nets.with_predictions(tables), tuple(map(float, prices))
    judged = ft.partial(_judged, (nets, family, jr.key_data(play_key)), at, episodes)
    engine = chosen_engine() or LocalEngine()
    first, *others = in_order(engine, judged, CAUTIONS)
    saved = [0.0, *(other.saves(first) for other in others)]
    best = CAUTIONS[int(np.argmax(saved))]
    return nets.with_predictions(tables.with_caution(best))


def _judged(
    given: tuple, prices: tuple[float, ...], episodes: int, caution: float
) -> Judgment:
    """With some caution; it may be played on another machine."""
    nets, family, key_data = given
    tried = nets.with_predictions(nets.predictions.with_caution(caution))
    explorer, key = NeuralExplorer(tried.for_play()), jr.wrap_key_data(key_data)
    return judge(explorer, family, prices, episodes, key=key)


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
