"""Learning on families whose optimum is known.

A value is P(correct) - price * cost; it is compared with the best possible one. With
2000 episodes a mean has a standard error of at most 0.011, so that a margin of 0.05
fails an optimal explorer with probability less than 1e-5.
"""

import jax.random as jr
import pytest

from icpe.core.request import OperatingPoint
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.learn.config import TrainConfig
from icpe.learn.fit import fit
from icpe.play.rollout import run_episodes
from support.toy_tasks import Corridor, Hint, Lockers, TwoBits, TwoDoors

pytestmark = pytest.mark.usefixtures("optax_dtypes")
EPISODES = 2000
MARGIN = 0.05
CONFIG = TrainConfig(
    num_iterations=300,
    batch_size=64,
    minibatch_size=64,
    updates_per_iteration=2,
    replay_size=1024,
    warmup_iterations=10,
    learning_rate=3e-3,
    target_rate=0.05,
    max_price=0.4,
    width=16,
    num_layers=1,
    num_heads=1,
)


def shortfall(explorer, family, **request):
    """By how much an explorer misses the optimal value of a request."""
    point = OperatingPoint.at(family.spec.horizon, **request)
    ending = run_episodes(explorer, family, point, EPISODES, key=jr.key(1))
    price = request.get("price", 0.0)
    value = ending.correct.mean() - price * ending.cost.mean()
    cap = request.get("max_queries", request.get("budget"))
    return family.optimal_value(price=price, max_queries=cap) - value


def assert_learns(family, requests):
    nets = fit(family, CONFIG).nets
    assert isinstance(nets, ExplorerNets)
    explorer = NeuralExplorer(nets)
    for request in requests:
        assert shortfall(explorer, family, **request) < MARGIN, request


@pytest.mark.slow
def test_it_peeks_once_if_that_is_cheap_and_never_knocks():
    assert_learns(TwoDoors(horizon=2), [{"price": 0.1}, {"price": 0.35}])


REQUESTS = [
    {"price": 0.06},
    {"price": 0.35},
    {"price": 0.1, "max_queries": 2},
    {"budget": 1},
    {"budget": 2},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "family",
    [TwoDoors(), TwoDoors(0.8, 6), Lockers(), Corridor(), Hint(), TwoBits()],
    ids=["doors", "noisy doors", "lockers", "corridor", "hint", "bits"],
)
def test_one_model_reaches_the_optimum_of_every_request(family):
    assert_learns(family, REQUESTS)
