"""The promise of the valid thresholds: at most delta errors on every task."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.explorers import make_explorer
from icpe.rollout import rollout
from icpe.tasks import BernoulliBandit, FeedbackGraph, GaussianBandit
from icpe.types import OperatingPoint, StopReason

pytestmark = pytest.mark.slow

DELTA = 0.1
EPISODES = 1000
GAUSSIAN = GaussianBandit(num_arms=3, noise=0.5, min_gap=0.0, horizon=400)
BERNOULLI = BernoulliBandit(num_arms=3, horizon=500)
GRAPH = FeedbackGraph(kind="ring", num_arms=4, horizon=300)

# One clear task, one with a close rival, one with all rivals close.
GAUSSIAN_TASKS = ([1.0, 0.5, 0.0], [1.0, 0.75, 0.0], [0.5, 0.2, 0.2])
BERNOULLI_TASKS = ([0.9, 0.4, 0.1], [0.8, 0.55, 0.1], [0.6, 0.3, 0.3])
GRAPH_TASKS = ([1.0, 0.5, 0.5, 0.5], [0.9, 0.2, 0.75, 0.4])

# LUCB's intervals are wide: within the horizon it stops on easy tasks only.
EASY_GAUSSIAN_TASKS = ([2.0, 0.5, 0.0], [2.0, 1.0, 1.0])
EASY_BERNOULLI_TASKS = ([0.95, 0.05, 0.05], [0.95, 0.2, 0.05])

PLAIN = ("track-and-stop", "ttps", "ttts", "eb-tc", "uniform-sampling")
CASES = [
    ("lucb", GAUSSIAN, EASY_GAUSSIAN_TASKS, {}),
    ("lucb", BERNOULLI, EASY_BERNOULLI_TASKS, {}),
    *((name, GAUSSIAN, GAUSSIAN_TASKS, {}) for name in PLAIN),
    *((name, BERNOULLI, BERNOULLI_TASKS, {}) for name in (*PLAIN, "kl-lucb")),
    ("track-and-stop", GAUSSIAN, GAUSSIAN_TASKS, {"tracking": "C"}),
    ("eb-tc", GAUSSIAN, GAUSSIAN_TASKS, {"improved": True}),
    ("tas-fg", GRAPH, GRAPH_TASKS, {}),
    ("tas-fg", GRAPH, GRAPH_TASKS, {"graph": "unknown"}),
    ("exp3-g", GRAPH, GRAPH_TASKS, {}),
    ("uniform-sampling", GRAPH, GRAPH_TASKS, {}),
]


@pytest.mark.parametrize(("name", "family", "tasks", "given"), CASES)
def test_errors_are_at_most_delta_on_every_task(name, family, tasks, given):
    """Errors among the episodes that it ended by itself, on each of the tasks.

    With 1,000 episodes a true rate of 0.1 is seen above 0.15 with probability below
    1e-6 (Chernoff), below 1e-4 for all cases together.
    """
    explorer = make_explorer(name, family, threshold="valid", **given)

    @eqx.filter_jit
    def play(task, point, keys):
        tasks = jnp.broadcast_to(task, (keys.shape[0], *task.shape))
        return rollout(explorer, family, point, keys=keys, tasks=tasks).ending

    point = OperatingPoint.at(family.horizon, error_prob=DELTA)
    stopped_at_all = 0
    for i, means in enumerate(tasks):
        keys = jr.split(jr.key(i), EPISODES)
        ending = jax.device_get(play(jnp.asarray(means), point, keys))
        stopped = ending.stop_reason == StopReason.EXPLORER
        assert np.mean(stopped & ~ending.correct) <= 0.15
        stopped_at_all += int(stopped.sum())
    # A rule that never stops would pass; these do.
    assert stopped_at_all > EPISODES / 2
