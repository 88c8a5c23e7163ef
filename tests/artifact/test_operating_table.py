"""The operating table: which row serves a request."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.core.errors import OperatingPointError

HORIZON = 20


def row(price, lower_bound, cost, cap=HORIZON):
    return OperatingRow(
        price=price,
        max_queries=cap,
        episodes=100,
        accuracy=min(1.0, lower_bound + 0.01),
        lower_bound=lower_bound,
        mean_queries=cost,
        quantiles=(1, 2, 3),
        longest=HORIZON,
        mean_cost=cost,
    )


def table(*rows):
    return OperatingTable(HORIZON, seed=3, rows=rows)


TABLE = table(
    row(0.1, 0.80, 3.0),
    row(0.01, 0.97, 9.0),
    row(0.02, 0.95, 7.0),
    row(0.05, 0.90, 5.0),
    row(0.01, 0.85, 4.5, cap=6),
    row(None, 0.5, 4.0, cap=4),
    row(None, 0.4, 2.0, cap=2),
)


@pytest.mark.parametrize(
    "error_prob, price", [(0.25, 0.1), (0.1, 0.05), (0.09, 0.02), (0.03, 0.01)]
)
def test_the_cheapest_row_that_is_accurate_enough_serves(error_prob, price):
    assert TABLE.row_for(error_prob).price == price


def test_only_the_lower_bound_counts():
    lucky = dataclasses.replace(row(0.1, 0.5, 1.0), accuracy=1.0)
    assert table(lucky, row(0.01, 0.95, 9.0)).row_for(0.1).price == 0.01


def test_a_dearer_price_that_costs_less_wins():
    assert table(row(0.01, 0.99, 9.0), row(0.1, 0.96, 4.0)).row_for(0.05).price == 0.1


def test_ties_go_to_the_smaller_price():
    tied = table(row(0.1, 0.95, 5.0), row(0.02, 0.95, 5.0), row(0.05, 0.95, 5.0))
    assert tied.row_for(0.1).price == 0.02


def test_a_cap_has_rows_of_its_own():
    assert TABLE.row_for(0.2, max_queries=6).mean_cost == 4.5
    assert TABLE.row_for(0.15, max_queries=HORIZON).price == 0.05
    with pytest.raises(OperatingPointError) as caught:
        TABLE.row_for(0.2, max_queries=7)
    assert str(caught.value) == (
        "max_queries=7 has no rows in the operating table, which has 6, 20; use one "
        "of these, or add it with icpe calibrate FILE --max-queries 7."
    )


def test_more_than_any_row_serves_is_refused_with_what_is_served():
    with pytest.raises(OperatingPointError, match=r"error_prob=0\.01 is smaller"):
        TABLE.row_for(0.01)
    with pytest.raises(OperatingPointError, match=r"the smallest is 0\.03"):
        TABLE.row_for(0.01)
    with pytest.raises(OperatingPointError, match=r"the smallest is 0\.15"):
        TABLE.row_for(0.1, max_queries=6)


def advice(given, error_prob, **words):
    with pytest.raises(OperatingPointError) as caught:
        table(given).row_for(error_prob, **words)
    return str(caught.value)


def test_the_advice_fits_what_is_in_the_way():
    slack = row(0.1, 0.9, 5.0)
    assert "train longer and with a smaller min_price" in advice(slack, 0.01)
    assert "use another rule, or train" in advice(slack, 0.01, trained=False)
    assert "by icpe calibrate" in advice(dataclasses.replace(slack, accuracy=1.0), 0.01)
    for quantiles, words in (
        ((5, 9, HORIZON), "one episode in a hundred or more reach"),
        ((HORIZON,) * 3, "half of all episodes or more reach"),
    ):
        capped = dataclasses.replace(slack, quantiles=quantiles)
        for trained in (True, False):
            said = advice(capped, 0.01, trained=trained)
            assert f"the cap of 20 queries, which {words}" in said
            assert "give the family a longer horizon" in said and "train" not in said
            said = advice(capped, 0.01, trained=trained, most_queries=HORIZON)
            assert "horizon" not in said and "other questions are needed" in said
            assert advice(capped, 0.01, most_queries=30) == advice(capped, 0.01)


@given(st.floats(0.0, 1.0))
def test_the_smallest_error_probability_is_served(lower_bound):
    single = table(row(0.1, lower_bound, 1.0))
    smallest = single.smallest_error_prob()
    assert single.row_for(smallest).price == 0.1
    assert smallest - (1 - lower_bound) < 2e-4


def test_rows_are_listed_in_order():
    assert [r.price for r in TABLE.priced()] == [0.01, 0.02, 0.05, 0.1]
    assert [r.max_queries for r in TABLE.budgets()] == [2, 4]


def test_a_table_survives_json():
    again = OperatingTable.from_dict(json.loads(json.dumps(TABLE.to_dict())))
    assert again == TABLE
