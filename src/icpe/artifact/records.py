"""What documents of trained explorers hold, as plain records that need no jax.

A test compares each with the class it stands for.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class TransformerRecord:
    """`icpe.nets.transformer.TransformerConfig`."""

    width: int = 128
    num_layers: int = 3
    num_heads: int = 4
    num_kv_heads: int = 1
    bfloat16: bool = False


@dataclasses.dataclass(frozen=True)
class PredictionRecord:
    """`icpe.nets.evidence.PredictionShape`."""

    kind: str
    num_each: int
    num_cells: int
    first_kind: str
    first_cells: int
    trust: float
    class_share: float = 0.0


@dataclasses.dataclass(frozen=True)
class NetworkRecord:
    """`icpe.explorers.neural.config.NetConfig`."""

    transformer: TransformerRecord
    summary: bool = True
    belief: bool = False
    entry_summary: bool = False
    tied_head: bool = False
    predictions: PredictionRecord | None = None
    compares: bool = True
    outcome_shift: tuple[float, ...] = ()
    outcome_scale: tuple[float, ...] = ()
    task_spread: tuple[float, ...] = ()
    reads_worth: bool = False


@dataclasses.dataclass(frozen=True)
class ObjectiveRecord:
    """`icpe.explorers.neural.paper.Objective`."""

    error_prob: float | None = None
    budget: int | None = None


@dataclasses.dataclass(frozen=True)
class LimitsRecord:
    """`icpe.artifact.guard.Limits`."""

    one: float
    together: float
    first: int = 0
    first_one: float = 0.0
    first_together: float = 0.0
    first_wider: bool = False
