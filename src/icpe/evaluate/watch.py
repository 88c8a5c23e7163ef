"""One episode, step by step, as it would be shown to a person."""

import dataclasses
import functools as ft
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Bool, Float

from icpe.explorers.base import AbstractExplorer
from icpe.tasks.base import AbstractTaskFamily, TaskSpec
from icpe.types import STOP, OperatingPoint, PRNGKey


class Step(NamedTuple):
    """A query, what it showed, and the belief after it (None without one)."""

    query: int
    outcome: Float[np.ndarray, "outcome"]
    belief: Float[np.ndarray, "hypotheses"] | None


@dataclasses.dataclass(frozen=True)
class Episode:
    """What was asked and seen, what was answered, and the truth."""

    spec: TaskSpec
    steps: tuple[Step, ...]
    recommendation: int
    truth: int

    @property
    def correct(self) -> bool:
        """Whether the answer is the truth."""
        return self.recommendation == self.truth

    def canvas(self, number: int) -> Float[np.ndarray, "rows columns"]:
        """The picture after so many steps, NaN where it is hidden."""
        (rows, columns), (height, width) = self.spec.query_grid, self.spec.outcome_shape
        tiles = np.full((rows * columns, height, width), np.nan)
        for step in self.steps[:number]:
            tiles[step.query] = step.outcome.reshape(height, width)
        placed = tiles.reshape(rows, columns, height, width).swapaxes(1, 2)
        return placed.reshape(rows * height, columns * width)


def watch(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    operating_point: OperatingPoint,
    *,
    key: PRNGKey,
) -> Episode:
    """Plays one episode and keeps everything; the same key gives the same episode."""
    spec = family.spec
    ask, tell, step = _compiled(explorer, family)
    task_key, reset_key, ask_key, step_key = jr.split(key, 4)
    task = family.sample_task(key=task_key)
    world = family.reset(task, key=reset_key)
    state = explorer.init(spec, operating_point, world.outcome)
    steps = []
    for t in range(int(operating_point.max_queries)):
        mask: Bool[np.ndarray, "queries"] = np.asarray(world.query_mask)
        query = int(ask(state, world.query_mask, jr.fold_in(ask_key, t)))
        if query == STOP or not mask.any():
            break
        asked = jnp.asarray(query)
        world = step(world.state, asked, task, jr.fold_in(step_key, t))
        state, log_posterior = tell(state, asked, world.outcome)
        belief = None if log_posterior is None else np.exp(np.asarray(log_posterior))
        steps.append(Step(query, np.asarray(world.outcome), belief))
        if bool(world.terminated):
            break
    return Episode(
        spec,
        tuple(steps),
        int(explorer.recommend(state)),
        int(family.hypothesis(task)),
    )


@ft.lru_cache(maxsize=8)
def _functions(family: AbstractTaskFamily):
    @eqx.filter_jit
    def ask(explorer, state, mask, key):
        return explorer.ask(state, mask, key=key)

    @eqx.filter_jit
    def tell(explorer, state, query, outcome):
        state = explorer.tell(state, query, outcome)
        return state, explorer.log_posterior(state)

    step = jax.jit(
        lambda state, query, task, key: family.step(state, query, task, key=key)
    )
    return ask, tell, step


def _compiled(explorer: AbstractExplorer, family: AbstractTaskFamily):
    ask, tell, step = _functions(family)
    return ft.partial(ask, explorer), ft.partial(tell, explorer), step
