"""Everything that can be chosen about the paper's learner."""

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from icpe.core.checks import check_at_least, check_between, check_positive
from icpe.core.errors import InvalidParameterError
from icpe.learn.config import CommonConfig

if TYPE_CHECKING:
    from icpe.explorers.neural.config import NetConfig
    from icpe.explorers.neural.paper import Objective
else:
    NetConfig = Objective = Any  # which need jax; settings are checked without it

Reward = Literal["max", "truth", "log-truth", "environment"]
"""What an episode earns when it ends at D: the largest posterior probability, that of
the true hypothesis, or its logarithm. With `environment` it earns the first entry of
each outcome instead, which is plain DQN with an inference net beside it."""


@dataclasses.dataclass(frozen=True)
class PaperConfig(CommonConfig):
    """Configuration of the paper's learner.

    One iteration plays `batch_size` episodes, puts their partial trajectories into the
    replay, updates the cost of a query, and makes `updates_per_iteration` gradient
    steps on transitions from the replay.
    """

    error_prob: float = 0.1
    """Fixed confidence: the error probability to train for, where no budget is set."""
    budget: int = 0
    """Fixed budget: the number of queries to train for; 0 means fixed confidence."""
    reward: Reward = "max"
    """What the end of an episode earns."""
    num_iterations: int = 2000
    """Iterations of play and update."""
    batch_size: int = 256
    """Episodes played in an iteration."""
    updates_per_iteration: int = 8
    """Gradient steps in an iteration."""
    replay_size: int = 16384
    """Episodes whose transitions are kept for replay; a multiple of batch_size."""
    discount: float = 1.0
    """Discount of the value of the next history."""
    inference_period: int = 50
    """Gradient steps between two refreshes of the target inference net."""
    query_period: int = 50
    """Gradient steps between two refreshes of the target query net."""
    exploration_start: float = 1.0
    """Probability of a random query at first."""
    exploration_end: float = 0.05
    """Probability of a random query after annealing."""
    exploration_anneal: float = 0.3
    """Fraction of training over which that probability falls."""
    greedy_fraction: float = 0.25
    """Part of a batch that never explores; its accuracy moves the cost."""
    initial_cost: float = 0.03
    """Fixed confidence: price of a query at first, 1 / lambda in the paper."""
    min_cost: float = 0.005
    """Fixed confidence: the price never falls below this; where queries are almost
    free, none is worth more than another."""
    dual_rate: float = 2e-3
    """Fixed confidence: step size of the price."""
    dual_start: float = 0.3
    """Fixed confidence: fraction of training before which the price stays as it is,
    since the accuracy of untrained networks says nothing about it."""
    dropout: float = 0.0
    """Probability of dropping out in embeddings, attention and residuals."""
    summary: bool = False
    """Give tokens the counts and mean outcomes of the queries so far."""

    def _check_each(self) -> None:
        super()._check_each()
        check_at_least("inference_period", self.inference_period, 1)
        check_at_least("query_period", self.query_period, 1)
        check_at_least("budget", self.budget, 0)
        check_positive("min_cost", self.min_cost)
        check_positive("initial_cost", self.initial_cost)
        for name in _FRACTIONS:
            check_between(name, getattr(self, name), 0.0, 1.0)
        if not 0.0 <= self.dropout < 1.0:
            raise InvalidParameterError(
                f"dropout must be at least 0 and less than 1; got {self.dropout}."
            )

    def _check_together(self) -> None:
        super()._check_together()
        if not self.min_cost <= self.initial_cost:
            raise InvalidParameterError(
                f"initial_cost must be at least min_cost {self.min_cost}; "
                f"got {self.initial_cost}."
            )
        if self.reward == "environment" and not self.budget:
            raise InvalidParameterError(
                "reward environment needs a budget, since such rewards say nothing "
                "about when to stop; set budget."
            )
        _ = self.net_config, self.objective

    @property
    def objective(self) -> Objective:
        """The one request that is trained for."""
        from icpe.explorers.neural.paper import Objective

        if self.budget:
            return Objective(budget=self.budget)
        return Objective(error_prob=self.error_prob)

    @property
    def net_config(self) -> NetConfig:
        """The networks' part of the configuration."""
        from icpe.explorers.neural.config import NetConfig

        return NetConfig(self.transformer, self.summary)

    @property
    def num_greedy(self) -> int:
        """Episodes of a batch that never explore, at least one."""
        return max(1, round(self.greedy_fraction * self.batch_size))


_FRACTIONS = (
    "discount",
    "exploration_start",
    "exploration_end",
    "exploration_anneal",
    "greedy_fraction",
    "dual_rate",
    "dual_start",
)
