"""Settings of the explorers that are rewarded by a classifier."""

import pytest

from icpe.core.errors import InvalidParameterError
from icpe.studies.digits.confidence import ConfidenceConfig


@pytest.mark.parametrize(
    "bad",
    [
        {"num_updates": 0},
        {"learning_rate": 0.0},
        {"discount": 1.5},
        {"replay_size": 100, "batch_size": 200},
        {"exploration_low": 0.0},
    ],
)
def test_an_impossible_setting_is_refused_by_name(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        ConfidenceConfig(**bad)
