"""One episode step by step is the same episode that rollout runs."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.artifact.player import Player
from icpe.cli.episode import Exchange, SimulatedWorld, episode_key, run_episode
from icpe.core.request import OperatingPoint
from icpe.explorers import AbstractExplorer, make_explorer
from icpe.families import BinarySearch, DeterministicBandit
from icpe.play.rollout import rollout_chunks
from support.toy_tasks import Corridor, Lockers

EPISODES = 4
BANDIT = DeterministicBandit(num_arms=5, horizon=3)


class Random(AbstractExplorer):
    """Asks any allowed query and never stops by itself."""

    def init(self, spec, operating_point, first_outcome):
        return jnp.zeros(())

    def ask(self, state, query_mask, *, key):
        return jnp.argmax(
            jnp.where(query_mask, jr.uniform(key, query_mask.shape), -1.0)
        )

    def tell(self, state, query, outcome):
        return state + 1.0

    def recommend(self, state):
        return jnp.zeros((), jnp.int32)

    def log_posterior(self, state):
        return None


@pytest.mark.parametrize(
    "explorer, family, request_",
    [
        ("exact-binary-search", BinarySearch(size=8), {"error_prob": 0.1}),
        ("uniform", BANDIT, {"error_prob": 0.1}),
        ("uniform", BANDIT, {"error_prob": 0.1, "max_queries": 2}),
        ("uniform", BANDIT, {"budget": 3}),
        (Random(), Lockers(), {"error_prob": 0.1}),
        (Random(), Corridor(), {"error_prob": 0.1}),
    ],
    ids=["stops", "horizon", "cap", "budget", "no query left", "terminates"],
)
def test_a_played_episode_is_the_one_that_rollout_runs(explorer, family, request_):
    spec = family.spec
    if isinstance(explorer, str):
        explorer = make_explorer(explorer, family)
    point = OperatingPoint.at(spec.horizon, **request_)
    [transcript] = rollout_chunks(explorer, family, point, EPISODES, key=jr.key(5))
    ending = transcript.ending
    for i in range(EPISODES):
        world = SimulatedWorld(family, key=episode_key(5, i))
        seen: list[Exchange] = []
        end = run_episode(
            Player(explorer, point),
            family,
            world,
            key=world.explorer_key,
            on_exchange=lambda exchange, history, seen=seen: seen.append(exchange),
        )
        length = ending.num_queries[i]
        assert tuple(seen) == end.exchanges
        assert [it.number for it in end.exchanges] == list(range(1, length + 1))
        assert [it.query for it in end.exchanges] == list(
            transcript.history.queries[i, :length]
        )
        for t, it in enumerate(end.exchanges):
            np.testing.assert_allclose(
                it.outcome, transcript.history.outcomes[i, t + 1], rtol=1e-5
            )
        assert end.stop_reason == ending.stop_reason[i]
        assert end.recommendation == ending.recommendation[i]
        assert world.truth == ending.hypothesis[i]
