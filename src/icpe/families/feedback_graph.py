"""Bandits on feedback graphs: pulling an arm may reveal the rewards of others."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PRNGKey
from icpe.core.belief import AbstractBelief, AbstractPredictiveBelief
from icpe.core.checks import check_at_least, check_between
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    Difficulty,
    Limits,
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec
from icpe.families.bandit.arms import GraphArms
from icpe.families.bandit.bounds import sample_tasks, time_bounds
from icpe.families.bandit.family import AbstractBandit, gap_difficulty
from icpe.families.bandit.rewards import Means, RewardSums, arm_names
from icpe.theory.gaussian_gap import best_arm_log_posterior, nodes_needed
from icpe.theory.one_best import one_best_information_gains, one_best_log_posterior

Matrix = tuple[tuple[float, ...], ...]

_KINDS = ("loopy-star", "ring", "loopless-clique", "matrix")
_PRIORS = ("uniform", "one-best")
_HIGH, _LOW = 1.0, 0.5
"""Means of the prior `one-best`."""


def _as_matrix(rows: Any) -> Matrix:
    return tuple(tuple(float(entry) for entry in row) for row in rows)


class FeedbackGraph(AbstractBandit):
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

    kind: str = parameter("loopy-star", f"one of {', '.join(_KINDS)}", one_of=_KINDS)
    num_arms: int = parameter(5, "number of arms K", at_least=2)
    prior: str = parameter(
        "uniform", "means: uniform on [0, 1], or one-best: 1 and 0.5", one_of=_PRIORS
    )
    noise: float = parameter(0.2, "standard deviation of a reward", positive=True)
    horizon: int = parameter(
        0, "most queries in an episode; 0 means 5 * num_arms", rare=True, at_least=0
    )
    p: float = parameter(
        0.0,
        "probability p; 0: 0.25 star, 0.3 ring, 0.5 clique",
        rare=True,
        at_least=0.0,
        at_most=1.0,
    )
    q: float = parameter(
        0.3,
        "loopy-star: the center reveals itself",
        rare=True,
        at_least=0.0,
        at_most=1.0,
    )
    r: float = parameter(
        0.35,
        "loopy-star: the center reveals a leaf",
        rare=True,
        at_least=0.0,
        at_most=1.0,
    )
    matrix: Matrix = parameter(
        (),
        "kind matrix: a row of probabilities for each arm",
        rare=True,
        converter=_as_matrix,
    )

    def __check_init__(self):
        check_ranges(self)
        if self.kind == "matrix":
            _check_matrix(self.matrix, self.num_arms)
        else:
            check_at_least("num_arms", self.num_arms, 3)
        if self.matrix and self.kind != "matrix":
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

    def in_words(self) -> str:
        means = "means between 0 and 1"
        if self.prior == "one-best":
            means = "means of 0.5, and 1 for the best"
        return (
            f"{self.num_arms} arms with {means}; a reward has standard deviation "
            f"{self.noise:g}; which arms a pull shows follows a graph, {self.kind}"
        )

    @property
    def spec(self) -> TaskSpec:
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
            reveals=False,
            may_end=False,
        )

    def sample_task(self, *, key: PRNGKey) -> Means:
        if self.prior == "uniform":
            return jr.uniform(key, (self.num_arms,))
        best = jr.randint(key, (), 0, self.num_arms)
        return jnp.where(jnp.arange(self.num_arms) == best, _HIGH, _LOW)

    def reset(self, task: Means, *, key: PRNGKey) -> StepResult:
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
        return jnp.argmax(task)

    def exact_belief(self) -> "GraphMeansBelief | OneBestBelief":
        """The one of the family's prior."""
        belief = OneBestBelief if self.prior == "one-best" else GraphMeansBelief
        return belief(self)

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """The characteristic time of the graph; exact where there are only K tasks."""
        few = self.prior == "one-best"
        arms = self.arms()
        means = _LOW + (_HIGH - _LOW) * jnp.eye(self.num_arms)
        if not few:
            means = sample_tasks(self, key)
        times = jax.vmap(lambda means: arms.characteristic_time(means).time)(means)
        return time_bounds(times, error_prob, finite_mean=few, exact=few)

    def task_difficulty(self) -> Difficulty:
        return gap_difficulty()

    def arms(self) -> GraphArms:
        edges = tuple(tuple(row) for row in self.graph.tolist())
        return GraphArms(self.num_arms, float(self.noise), edges)

    def check_means(self, means: Sequence[float]) -> None:
        for mean in means:
            check_between("means", mean, 0.0, 1.0)


class GraphMeansBelief(AbstractBelief):
    """The prior `uniform`: means independent and uniform on [0, 1].

    Whoever revealed a reward, it counts for its own arm, so the posterior is that of a
    Gaussian bandit without a minimum gap.
    """

    family: FeedbackGraph

    def init(self, first_outcome: Float[Array, "outcome"]) -> RewardSums:
        return RewardSums.none(self.family.num_arms, first_outcome.dtype)

    def update(
        self, state: RewardSums, query: Index, outcome: Float[Array, "outcome"]
    ) -> RewardSums:
        return state.add_revealed(outcome)

    def log_posterior(self, state: RewardSums) -> Float[Array, "hypotheses"]:
        noise = self.family.noise
        return best_arm_log_posterior(
            state.counts,
            state.sums,
            min_gap=0.0,
            noise=noise,
            mean_range=1.0,
            num_nodes=nodes_needed(0.0, noise, self.family.spec.horizon),
        )


class OneBestBelief(AbstractPredictiveBelief):
    """The prior `one-best`: one arm at random has mean 1, the others 0.5."""

    family: FeedbackGraph

    def init(self, first_outcome: Float[Array, "outcome"]) -> RewardSums:
        return RewardSums.none(self.family.num_arms, first_outcome.dtype)

    def update(
        self, state: RewardSums, query: Index, outcome: Float[Array, "outcome"]
    ) -> RewardSums:
        return state.add_revealed(outcome)

    def log_posterior(self, state: RewardSums) -> Float[Array, "hypotheses"]:
        noise = self.family.noise
        return one_best_log_posterior(
            state.counts, state.sums, high=_HIGH, low=_LOW, noise=noise
        )

    def information_gains(self, state: RewardSums) -> Float[Array, "queries"]:
        """Of all rewards that a query may reveal, together."""
        return one_best_information_gains(
            self.log_posterior(state),
            jnp.asarray(self.family.graph, state.sums.dtype),
            (_HIGH - _LOW) / self.family.noise,
        )


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
