"""Everything that can be chosen about training, with its meaning beside it."""

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from icpe.core.checks import (
    check_at_least,
    check_between,
    check_one_of,
    check_positive,
)
from icpe.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from icpe.nets.transformer import TransformerConfig
else:
    TransformerConfig = Any  # which needs jax; settings are checked without it

_NUM_JUDGMENTS = 40


@dataclasses.dataclass(frozen=True)
class CommonConfig:
    """What all learners have in common: the loop, the optimizer, the Transformers."""

    num_iterations: int = 3000
    """Iterations of play and update."""
    batch_size: int = 512
    """Episodes played in an iteration."""
    minibatch_size: int = 512
    """Episodes in a gradient step."""
    updates_per_iteration: int = 3
    """Gradient steps in an iteration."""
    replay_size: int = 32768
    """Episodes kept for replay; a multiple of batch_size."""
    learning_rate: float = 5e-4
    """Peak step size of Adam."""
    decay_fraction: float = 0.4
    """Last part of training, over which the step size falls to a fiftieth."""
    max_grad_norm: float = 1.0
    """Largest global norm of each network's gradient."""
    width: int = 128
    """Width of the Transformers."""
    num_layers: int = 3
    """Blocks in each Transformer."""
    num_heads: int = 4
    """Attention heads in a block."""
    num_kv_heads: int = 1
    """Heads of keys and values, shared by groups of attention heads."""
    bfloat16: bool = False
    """Multiply matrices in bfloat16."""
    log_every: int = 50
    """Iterations in one compiled chunk, between two lines of the log."""
    seed: int = 0
    """Seed of everything random in training."""

    @classmethod
    def check_alone(cls, **values: Any) -> None:
        """Complains about values that are wrong whatever the other settings are.

        Raises:
            InvalidParameterError: one is.
        """
        config = object.__new__(cls)
        for field in dataclasses.fields(cls):
            value = values.get(field.name, field.default)
            object.__setattr__(config, field.name, value)
        config._check_each()

    def __post_init__(self):
        self._check_each()
        self._check_together()

    def _check_each(self) -> None:
        """The range of every setting by itself."""
        for name in (
            "num_iterations",
            "batch_size",
            "minibatch_size",
            "updates_per_iteration",
            "replay_size",
            "log_every",
            "width",
            "num_layers",
            "num_heads",
            "num_kv_heads",
        ):
            check_at_least(name, getattr(self, name), 1)
        check_positive("learning_rate", self.learning_rate)
        check_positive("max_grad_norm", self.max_grad_norm)
        check_between("decay_fraction", self.decay_fraction, 0.0, 1.0)

    def _check_together(self) -> None:
        """Settings that depend on others."""
        if self.replay_size % self.batch_size:
            raise InvalidParameterError(
                f"replay_size must be a multiple of batch_size {self.batch_size}; "
                f"got {self.replay_size}."
            )

    @property
    def transformer(self) -> TransformerConfig:
        """The Transformers' part of the configuration."""
        from icpe.nets.transformer import TransformerConfig

        return TransformerConfig(
            width=self.width,
            num_layers=self.num_layers,
            num_heads=self.num_heads,
            num_kv_heads=self.num_kv_heads,
            bfloat16=self.bfloat16,
        )

    @property
    def judge_every(self) -> int:
        """Iterations between two judgments, about forty in all."""
        chunks = max(1, round(self.num_iterations / (_NUM_JUDGMENTS * self.log_every)))
        return chunks * self.log_every

    @property
    def num_updates(self) -> int:
        """Gradient steps in the whole training."""
        return self.num_iterations * self.updates_per_iteration


@dataclasses.dataclass(frozen=True)
class TrainConfig(CommonConfig):
    """Configuration of the universal learner.

    One iteration plays `batch_size` episodes, puts them into the replay, and makes
    `updates_per_iteration` gradient steps on minibatches from it.
    """

    cropped_updates: int = 0
    """How many of these look at the first crop_steps steps of episodes alone."""
    crop_steps: int = 16
    """Steps in a cropped update; most episodes are much shorter than the horizon."""
    warmup_iterations: int = 300
    """First iterations, with random queries and no stopping."""
    trace_decay: float = 0.9
    """Lambda of the Watkins returns."""
    advantage_learning: float = 0.9
    """Widens the gap between the best query and any other by 1 / (1 - this), so that
    small differences survive errors of the query net."""
    target_rate: float = 0.01
    """Polyak rate of the averaged networks, which ship."""
    exploration_high: float = 0.4
    """Largest exploration rate in a batch."""
    exploration_low: float = 0.005
    """Smallest exploration rate in a batch."""
    exploration_anneal: float = 0.2
    """Fraction of training over which exploration falls from 1 to its spectrum."""
    ignore_stop_final: float = 0.2
    """Probability that a stop request is ignored, after annealing."""
    ignore_stop_anneal: float = 0.3
    """Fraction of training over which that probability falls from 1."""
    min_price: float = 0.0
    """Smallest price trained for; 0 means as the survey of the family suggests."""
    max_price: float = 0.0
    """Largest price trained for; 0 means as the survey of the family suggests."""
    caution: float = 0.25
    """What another query than the one the tables prefer must save to be made, in units
    of cost; small differences between learned values are noise. Measured anew when
    training has ended."""
    error_prob: float = 0.0
    """Train for this error probability alone and those around it; 0 means for all."""
    predictions: Literal["given", "counted", "none"] = "given"
    """Start from tables of what each hypothesis predicts of each query: by the family's
    own likelihood where it gives one, else as counted in simulated episodes."""

    def _check_each(self) -> None:
        super()._check_each()
        check_at_least("crop_steps", self.crop_steps, 1)
        check_at_least("warmup_iterations", self.warmup_iterations, 0)
        check_at_least("min_price", self.min_price, 0.0)
        check_at_least("max_price", self.max_price, 0.0)
        check_positive("target_rate", self.target_rate)
        check_between("error_prob", self.error_prob, 0.0, 0.5)
        check_one_of("predictions", self.predictions, ("given", "counted", "none"))
        check_at_least("caution", self.caution, 0.0)
        for name in _FRACTIONS:
            check_between(name, getattr(self, name), 0.0, 1.0)
        if not 0.0 <= self.advantage_learning < 1.0:
            raise InvalidParameterError(
                "advantage_learning must be at least 0 and less than 1; "
                f"got {self.advantage_learning}."
            )

    def _check_together(self) -> None:
        super()._check_together()
        if not 0.0 < self.exploration_low <= self.exploration_high < 1.0:
            raise InvalidParameterError(
                "exploration_low and exploration_high must satisfy 0 < low <= high < "
                f"1; got {self.exploration_low} and {self.exploration_high}."
            )
        if not 0 <= self.cropped_updates < self.updates_per_iteration:
            raise InvalidParameterError(
                "cropped_updates must be at least 0 and less than "
                f"updates_per_iteration {self.updates_per_iteration}; "
                f"got {self.cropped_updates}."
            )
        if self.max_price and not self.min_price < self.max_price:
            raise InvalidParameterError(
                f"min_price must be below max_price {self.max_price}; "
                f"got {self.min_price}."
            )
        _ = self.transformer


_FRACTIONS = (
    "trace_decay",
    "exploration_anneal",
    "ignore_stop_final",
    "ignore_stop_anneal",
)
