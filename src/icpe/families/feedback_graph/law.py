"""Bandits on feedback graphs: pulling an arm may reveal the rewards of others."""

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.arrays import Index, PRNGKey
from icpe.core.checks import check_at_least, check_between, check_positive
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    TaskSpec,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.families.bandits import Means, arm_names

Matrix = tuple[tuple[float, ...], ...]

_KINDS = ("loopy-star", "ring", "loopless-clique", "matrix")
_PRIORS = ("uniform", "one-best")


def _as_matrix(rows: Any) -> Matrix:
    return tuple(tuple(float(entry) for entry in row) for row in rows)


class FeedbackGraph(AbstractTaskFamily):
    """Arms whose pull may also, or only, reveal the rewards of other arms.

    Pulling arm u reveals the reward of each arm v with probability G[u, v], each
    independently of the others. Rewards are normal around the means, independent
    between arms and pulls. An outcome is the K rewards, 0 where not revealed, and then
    K flags that say which were. The graph is fixed and known:

    * `loopy-star`: arm 0 is the center and reveals itself with probability q, the last
      leaf with p and the other leaves with r; a leaf reveals only itself, with
      probability 1 - p the last one and (1 - 2p)+ the others.
    * `ring`: an arm reveals its right neighbor with probability p and its left one
      with 1 - p, and never itself.
    * `loopless-clique`: the u-th arm, u counted from 1, reveals every other arm, those
      with an odd number (from 0) with probability p / u, the others with 1 - p / u.
    * `matrix`: the probabilities are given as `matrix`, one row per pulled arm.
    """

    kind: str = parameter("loopy-star", f"one of {', '.join(_KINDS)}")
    num_arms: int = parameter(5, "number of arms K")
    prior: str = parameter(
        "uniform", "means: uniform on [0, 1], or one-best: 1 and 0.5"
    )
    noise: float = parameter(0.2, "standard deviation of a reward")
    horizon: int = parameter(0, "most queries in an episode; 0 means 5 * num_arms")
    p: float = parameter(
        0.0, "probability p; 0: 0.25 star, 0.3 ring, 0.5 clique", rare=True
    )
    q: float = parameter(0.3, "loopy-star: the center reveals itself", rare=True)
    r: float = parameter(0.35, "loopy-star: the center reveals a leaf", rare=True)
    matrix: Matrix = parameter(
        (),
        "kind matrix: a row of probabilities for each arm",
        rare=True,
        converter=_as_matrix,
    )

    def __check_init__(self):
        for name, allowed in (("kind", _KINDS), ("prior", _PRIORS)):
            if getattr(self, name) not in allowed:
                raise InvalidParameterError(
                    f"{name} must be one of {', '.join(allowed)}; "
                    f"got {getattr(self, name)!r}."
                )
        check_at_least("num_arms", self.num_arms, 3 if self.kind != "matrix" else 2)
        check_positive("noise", self.noise)
        check_at_least("horizon", self.horizon, 0)
        for name in ("p", "q", "r"):
            check_between(name, getattr(self, name), 0.0, 1.0)
        if self.kind == "matrix":
            _check_matrix(self.matrix, self.num_arms)
        elif self.matrix:
            raise InvalidParameterError(
                f"matrix is given but kind is {self.kind!r}; set kind to 'matrix'."
            )
        hidden = np.flatnonzero(self.graph.max(0) == 0)
        if hidden.size:
            raise InvalidParameterError(
                f"no query ever reveals arm {hidden[0]} of the feedback graph; give "
                "every arm a positive probability somewhere."
            )

    @property
    def graph(self) -> np.ndarray:
        """The probabilities G[u, v]."""
        if self.kind == "matrix":
            return np.array(self.matrix)
        builders = {
            "loopy-star": lambda: _loopy_star(
                self.num_arms, self.p or 0.25, self.q, self.r
            ),
            "ring": lambda: _ring(self.num_arms, self.p or 0.3),
            "loopless-clique": lambda: _loopless_clique(self.num_arms, self.p or 0.5),
        }
        return builders[self.kind]()

    @property
    def spec(self) -> TaskSpec:
        """A query pulls an arm; the hypotheses are the arms."""
        names = arm_names(self.num_arms)
        return TaskSpec(
            num_queries=self.num_arms,
            num_hypotheses=self.num_arms,
            outcome_size=2 * self.num_arms,
            horizon=self.horizon or 5 * self.num_arms,
            # No shift, so that an arm which is not revealed stays at 0.
            outcome_scale=(0.5,) * self.num_arms + (1.0,) * self.num_arms,
            query_names=names,
            hypothesis_names=names,
            outcome_names=tuple(f"reward of {name}" for name in names)
            + tuple(f"{name} revealed" for name in names),
            question="Pull {query}: which rewards were revealed?",
            outcome_flags=True,
            queries_alike=True,
        )

    def sample_task(self, *, key: PRNGKey) -> Means:
        """Draws the means."""
        if self.prior == "uniform":
            return jr.uniform(key, (self.num_arms,))
        best = jr.randint(key, (), 0, self.num_arms)
        return jnp.where(jnp.arange(self.num_arms) == best, 1.0, 0.5)

    def reset(self, task: Means, *, key: PRNGKey) -> StepResult:
        """Reveals nothing."""
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Means, *, key: PRNGKey
    ) -> StepResult:
        """Reveals the rewards along the edges that fire."""
        edge_key, noise_key = jr.split(key)
        probabilities = jnp.asarray(self.graph, jnp.float32)[query]
        revealed = jr.uniform(edge_key, task.shape) < probabilities
        rewards = task + self.noise * jr.normal(noise_key, task.shape)
        return plain_step(
            self.spec,
            jnp.concatenate(
                [jnp.where(revealed, rewards, 0.0), revealed.astype(jnp.float32)]
            ),
        )

    def hypothesis(self, task: Means) -> Index:
        """The best arm."""
        return jnp.argmax(task)


def _loopy_star(size: int, p: float, q: float, r: float) -> np.ndarray:
    graph = np.diag([q] + [max(0.0, 1 - 2 * p)] * (size - 2) + [1 - p])
    graph[0, 1:-1] = r
    graph[0, -1] = p
    return graph


def _ring(size: int, p: float) -> np.ndarray:
    step = np.roll(np.eye(size), 1, axis=1)  # step[u, u + 1] = 1
    return p * step + (1 - p) * step.T


def _loopless_clique(size: int, p: float) -> np.ndarray:
    share = p / np.arange(1, size + 1)[:, None]
    odd = np.arange(size)[None, :] % 2 == 1
    return np.where(odd, share, 1 - share) * (1 - np.eye(size))


def _check_matrix(matrix: Matrix, size: int) -> None:
    if len(matrix) != size or any(len(row) != size for row in matrix):
        raise InvalidParameterError(
            f"matrix must have num_arms = {size} rows of {size} entries; got rows of "
            f"{[len(row) for row in matrix]}."
        )
    for row in matrix:
        for entry in row:
            check_between("every entry of matrix", entry, 0.0, 1.0)
