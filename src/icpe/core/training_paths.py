"""What lies beside the file of an explorer while it is trained."""

from pathlib import Path


def checkpoint_path(out: Path) -> Path:
    """Where the checkpoints of a training that ends in `out` are kept."""
    return out.with_name(out.name + ".checkpoint")


def metrics_path(out: Path) -> Path:
    """Where the metrics of a training that ends in `out` are kept."""
    return out.with_name(out.name + ".metrics.jsonl")
