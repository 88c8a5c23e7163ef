"""How fast an environment on the host is played by a policy on the device."""

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import jax
import jax.random as jr

from icpe.core.arrays import PRNGKey
from icpe.core.explorer import AbstractExplorer
from icpe.core.host import explained
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint
from icpe.core.stopping import random_query
from icpe.play.rollout import rollout

if TYPE_CHECKING:
    from icpe.integrations.gymnasium.family import HostFamily


@dataclasses.dataclass(frozen=True)
class HostSpeed:
    """Steps a second, in episodes of random queries.

    Attributes:
        environment: its id.
        device: where the policy runs.
        episodes: played side by side.
        steps: made in all.
        steps_per_second: of the whole, compilation left out.
        alone_steps_per_second: of the environment, stepped by itself.
    """

    environment: str
    device: str
    episodes: int
    steps: int
    steps_per_second: float
    alone_steps_per_second: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values."""
        return dataclasses.asdict(self)


@explained()
def measure_host_speed(family: "HostFamily", episodes: int, *, seed: int = 0):
    """Plays episodes once to compile and make environments, and once for time."""
    point = OperatingPoint.at(family.horizon, budget=family.horizon)
    play = jit_program(rollout)

    def run(number: int) -> tuple[int, float]:
        keys = jr.split(jr.fold_in(jr.key(seed), number), episodes)
        began, before = time.perf_counter(), family.world.num_steps
        jax.block_until_ready(play(_Random(), family, point, keys=keys).history)
        return family.world.num_steps - before, time.perf_counter() - began

    run(0)
    steps, seconds = run(1)
    return HostSpeed(
        family.environment,
        jax.devices()[0].device_kind,
        episodes,
        steps,
        steps / seconds,
        family.steps_alone(min(steps, 2000), seed=seed),
    )


class _Random(AbstractExplorer):
    """Makes any allowed query and never stops."""

    def init(self, spec, operating_point, first_outcome):
        return jax.numpy.zeros(())

    def ask(self, state, query_mask, *, key: PRNGKey):
        return random_query(query_mask, key=key)

    def tell(self, state, query, outcome):
        return state

    def recommend(self, state):
        return jax.numpy.zeros((), jax.numpy.int32)

    def log_posterior(self, state):
        return None
