import math

import jax
import numpy as np
import pytest

from icpe.core.checks import check_at_least, check_positive
from icpe.core.episode import StopReason
from icpe.core.errors import IcpeError, InvalidParameterError, OperatingPointError
from icpe.core.request import OperatingPoint, Regime


def values(point):
    return (
        pytest.approx(float(point.price)),
        pytest.approx(float(point.error_prob)),
        int(point.max_queries),
        point.regime,
    )


def test_each_request_becomes_its_regime_with_unused_numbers_zero():
    at = OperatingPoint.at
    assert values(at(9, budget=4)) == (0, 0, 4, Regime.BUDGET)
    assert values(at(9, price=0.1)) == (0.1, 0, 9, Regime.PRICE)
    assert values(at(9, error_prob=0.2)) == (0, 0.2, 9, Regime.ERROR_PROB)
    assert values(at(9, price=0.1, max_queries=3)) == (0.1, 0, 3, Regime.PRICE)
    capped = at(9, error_prob=0.2, max_queries=9)
    assert values(capped) == (0, 0.2, 9, Regime.ERROR_PROB)


def test_numbers_of_an_operating_point_are_leaves_and_the_regime_is_not():
    leaves, structure = jax.tree.flatten(OperatingPoint.at(9, price=0.1))
    assert [leaf.dtype for leaf in leaves] == [np.float32, np.float32, np.int32]
    assert structure == jax.tree.structure(OperatingPoint.at(5, price=0.2))
    assert structure != jax.tree.structure(OperatingPoint.at(5, budget=2))


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({}, "got none of them"),
        ({"max_queries": 3}, "got none of them"),
        ({"budget": 3, "price": 0.1}, "got budget and price"),
        ({"error_prob": 0.1, "budget": 3, "price": 0.1}, "error_prob and budget and"),
        ({"budget": 3, "max_queries": 3}, "max_queries cannot be combined with budget"),
        ({"budget": 0}, "budget must be between 1 and the family's horizon 9; got 0"),
        ({"budget": 10}, "budget must be between 1 and the family's horizon 9; got 10"),
        ({"price": 0.1, "max_queries": 0}, "max_queries must be between 1 and"),
        ({"error_prob": 0.1, "max_queries": 10}, "max_queries must be between 1 and"),
        ({"error_prob": 0.0}, "error_prob must lie strictly between 0 and 1; got 0.0"),
        ({"error_prob": 1.0}, "error_prob must lie strictly between 0 and 1; got 1.0"),
        ({"error_prob": math.nan}, "error_prob must lie strictly between 0 and 1"),
        ({"price": 0.0}, "price must be positive and finite; got 0.0"),
        ({"price": -0.1}, "price must be positive and finite; got -0.1"),
        ({"price": math.inf}, "price must be positive and finite; got inf"),
        ({"price": math.nan}, "price must be positive and finite; got nan"),
    ],
)
def test_an_impossible_request_is_refused_with_what_was_given(request_, sentence):
    with pytest.raises(OperatingPointError) as caught:
        OperatingPoint.at(9, **request_)
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")


def test_every_reason_to_stop_has_words_of_its_own():
    sentences = {reason.sentence for reason in StopReason}
    assert len(sentences) == len(StopReason)


def test_checks_of_parameters_name_the_argument_and_refuse_nan():
    check_at_least("size", 2, 2)
    check_positive("noise", 1e-9)
    with pytest.raises(InvalidParameterError, match="size must be at least 2; got 1"):
        check_at_least("size", 1, 2)
    with pytest.raises(InvalidParameterError, match="size"):
        check_at_least("size", math.nan, 2)
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidParameterError, match="noise must be a positive"):
            check_positive("noise", bad)


def test_errors_can_be_caught_by_their_builtin_and_by_their_root():
    assert issubclass(OperatingPointError, ValueError)
    assert issubclass(OperatingPointError, IcpeError)
