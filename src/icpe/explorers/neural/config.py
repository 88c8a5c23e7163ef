"""What the networks of a trained explorer are made of, and the prices they know."""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.errors import InvalidParameterError
from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.nets.evidence import NUM_FEATURES, PredictionShape
from icpe.nets.tokens import (
    AnySummary,
    EntrySummary,
    Summary,
    Token,
    summary_size,
    tokens_along,
)
from icpe.nets.transformer import TransformerConfig

_BELIEF_FEATURES = 2


@dataclasses.dataclass(frozen=True)
class NetConfig:
    """What the networks of an explorer are made of."""

    transformer: TransformerConfig
    summary: bool = True
    """Give each token the counts and mean outcomes of the queries so far."""
    belief: bool = False
    """Add a linear function of the posterior to the query net's output."""
    entry_summary: bool = False
    """Average entries of flagged outcomes over all queries, not over each; a tied head
    then learns which entries a query tells about."""
    tied_head: bool = False
    """Judge every query, and every hypothesis, by one network for all as well."""
    predictions: PredictionShape | None = None
    """Start from tables of what each hypothesis predicts of each query."""
    compares: bool = True
    """Let the network that judges queries compare them with each other."""
    outcome_shift: tuple[float, ...] = ()
    """What is subtracted from outcomes; empty means as the spec says."""
    outcome_scale: tuple[float, ...] = ()
    """What they are divided by; empty means as the spec says."""
    task_spread: tuple[float, ...] = ()
    """Spread of scaled outcomes within a task, where tasks differ more than that: tied
    heads then see how queries differ within the task. Empty means that they do not."""
    reads_worth: bool = False
    """Read off the belief and the tables how much asking on is worth."""

    def __post_init__(self):
        if self.reads_worth and self.predictions is None:
            raise InvalidParameterError(
                "reads_worth needs predictions to read; set reads_worth to False."
            )
        if self.tied_head and not self.summary:
            raise InvalidParameterError(
                "tied_head needs summary, by which it judges; set tied_head to False "
                "as well."
            )

    @property
    def context_size(self) -> int:
        """How many numbers tell the judges of queries of the history as a whole."""
        judges = self.tied_head or self.predictions is not None
        return max(16, self.transformer.width // 4) if judges else 0

    @property
    def num_gates(self) -> int:
        """Outputs that weigh what the tables believe."""
        return 0 if self.predictions is None else 1

    def sees_belief(self, spec: TaskSpec) -> bool:
        """Whether the judge of a query sees the belief about its hypothesis."""
        return self.tied_head or (
            self.predictions is not None and spec.asks_about_hypotheses
        )

    def num_judged(self, spec: TaskSpec) -> int:
        """Features by which a query is judged."""
        number = 0
        if self.tied_head:
            kind = self.summary_kind(spec)
            size = summary_size(kind, spec.num_queries, spec.outcome_size)
            number += size // spec.num_queries + len(self.task_spread)
        if self.sees_belief(spec):
            number += _BELIEF_FEATURES
        return number + (0 if self.predictions is None else NUM_FEATURES)

    def normalize(
        self, spec: TaskSpec, outcome: Float[Array, "*batch outcome"]
    ) -> Float[Array, "*batch outcome"]:
        """Raw outcomes as the networks see them: about zero mean and unit spread."""
        if self.outcome_scale:
            spec = dataclasses.replace(
                spec,
                outcome_shift=self.outcome_shift,
                outcome_scale=self.outcome_scale,
            )
        return spec.normalize(outcome)

    def check_tied(self, spec: TaskSpec) -> None:
        """Checks that tied heads have something to say of each query and hypothesis.

        Raises:
            InvalidParameterError: there are not as many hypotheses as queries, or as
                many entries of outcomes where these are summarized.
        """
        sizes = {spec.num_queries, spec.num_hypotheses}
        if self.entry_summary:
            sizes.add(spec.outcome_size // 2)
        if self.tied_head and len(sizes) > 1:
            raise InvalidParameterError(
                "tied_head needs a family with one hypothesis for each query, such as "
                f"the arms of a bandit; this one has {spec.num_queries} queries, "
                f"{spec.num_hypotheses} hypotheses and outcomes of size "
                f"{spec.outcome_size}; set tied_head to False."
            )

    def tokens(self, spec: TaskSpec, history: History) -> Token:
        """The tokens of a batch of histories of raw outcomes."""
        kind = self.summary_kind(spec)
        return jax.vmap(
            lambda queries, outcomes: tokens_along(
                queries, self.normalize(spec, outcomes), spec.num_queries, kind
            )
        )(history.queries, history.outcomes)

    def summary_kind(self, spec: TaskSpec) -> AnySummary | None:
        """How the tokens of a family summarize what came before, if they do.

        Raises:
            InvalidParameterError: the outcomes of the family have no flags, or there
                is to be no summary.
        """
        if self.entry_summary and not (spec.outcome_flags and self.summary):
            raise InvalidParameterError(
                "entry_summary needs summary, and a family whose outcomes have flags, "
                "such as feedback-graph; leave it out."
            )
        if not self.summary:
            return None
        return EntrySummary if self.entry_summary else Summary


@dataclasses.dataclass(frozen=True)
class PriceRange:
    """The prices an explorer was trained for."""

    low: float
    high: float

    def normalize(self, price: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """Log-price mapped to [-1, 1]; 0 where the price is 0."""
        middle = math.log(self.low * self.high) / 2
        half = max(math.log(self.high / self.low) / 2, 1e-6)
        priced = price > 0
        return jnp.where(
            priced, (jnp.log(jnp.where(priced, price, 1.0)) - middle) / half, 0.0
        )
