"""Accuracy against regions: one evaluation tells of all smaller budgets."""

import pytest

from icpe.core.request import OperatingPoint
from icpe.explorers.registry import make_explorer
from icpe.families import BinarySearch
from icpe.studies.statistics.regions import score_along, score_regions


def test_scores_along_are_those_of_smaller_budgets():
    family = BinarySearch(size=8)
    explorer = make_explorer("uniform", family)
    along = score_along(explorer, family, 3, episodes=50, seed=4, chunk_size=32)
    assert len(along) == 3
    for budget, score in enumerate(along, 1):
        point = OperatingPoint.at(family.spec.horizon, budget=budget)
        alone = score_regions(
            explorer, family, point, episodes=50, seed=4, chunk_size=32
        )
        assert score.to_dict() == alone.to_dict()
    assert along[0].accuracy < along[2].accuracy


def test_a_budget_beyond_the_horizon_is_refused():
    family = BinarySearch(size=8)
    explorer = make_explorer("uniform", family)
    with pytest.raises(ValueError, match="budget"):
        score_along(explorer, family, 99, episodes=2)
