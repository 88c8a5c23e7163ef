import pytest

from icpe.evaluate import limits as module
from icpe.evaluate.limits import limits, register_limits
from icpe.exceptions import OperatingPointError
from icpe.tasks import BinarySearch, DeterministicBandit
from icpe.testing.toy_tasks import TwoDoors


def test_binary_search_has_its_exact_optimum():
    known = limits(BinarySearch(size=8), 0.01)
    assert known == {"mean_queries": 2.125, "max_queries": 3}


def test_all_revealed_arms_must_be_tried():
    known = limits(DeterministicBandit(num_arms=7))
    assert known["zero_error_queries"] == 7
    assert known["mean_queries"] is None


def test_a_family_without_limits_has_none():
    assert limits(TwoDoors()) == {"mean_queries": None, "max_queries": None}


def test_limits_can_be_registered(monkeypatch):
    monkeypatch.setattr(module, "_LIMITS", dict(module._LIMITS))
    family = TwoDoors()
    register_limits(type(family), lambda family, error_prob: {"bound": error_prob})
    assert limits(family, 0.1)["bound"] == 0.1


@pytest.mark.parametrize("error_prob", [0.0, 1.0, float("nan")])
def test_an_impossible_error_probability_is_refused(error_prob):
    with pytest.raises(OperatingPointError, match="error_prob must lie"):
        limits(BinarySearch(), error_prob)
