"""Which encoders suit the outcomes of a family."""

from icpe.core.arrays import PRNGKey
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import NetConfig
from icpe.nets.canvas import AbstractSummaryEncoder, CanvasEncoder
from icpe.nets.encoders import AbstractOutcomeEncoder, LinearEncoder, PatchEncoder


def outcome_encoder(
    spec: TaskSpec, config: NetConfig, *, key: PRNGKey
) -> AbstractOutcomeEncoder:
    """The encoder that suits the outcomes of a family."""
    encoder = PatchEncoder if spec.outcome_shape else LinearEncoder
    return encoder(spec.outcome_size, config.transformer.width, key=key)


def summary_encoder(
    spec: TaskSpec, config: NetConfig, *, key: PRNGKey
) -> AbstractSummaryEncoder | None:
    """A reader of the picture seen so far, None where the summary is no picture."""
    if not (config.summary and spec.outcome_shape and spec.query_grid):
        return None
    rows, columns = spec.query_grid
    height, width = spec.outcome_shape
    return CanvasEncoder(
        (rows, columns),
        (height, width),
        config.transformer.width,
        bfloat16=config.transformer.bfloat16,
        key=key,
    )
