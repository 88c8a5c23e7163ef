"""What can be asked for, and what it is served with."""

import dataclasses
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from icpe.portable.errors import InvalidParameterError, OperatingPointError
from icpe.portable.units import is_whole

PROMISES = ("average", "belief", "every-hypothesis")
"""What an error probability may be promised about."""
UNDECIDED = (
    "it ended without the belief that was asked for, and the certificate is about "
    "sessions that reach it"
)
"""Why a session that was to reach a belief has lost its certificate."""
LEAST_CONFIDENCE = 0.95
"""Requests are served by certificates of this confidence or more, if none is named."""
_SLACK = 1e-6
"""Relative tolerance of a price at the ends of the trained range."""


@dataclasses.dataclass(frozen=True)
class OperatingPoint:
    """The price or budget by which a request is served; a price of 0 is a budget."""

    price: float
    max_queries: int
    is_budget: bool
    doubt: float | None = None
    """Where a belief is promised: one minus the posterior at which it stops."""


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What was shown about the error probability at a price; see `icpe show FILE`.

    `promise` is None for the average; with "belief" the price is a doubt.
    """

    error_prob: float
    confidence: float
    price: float
    lower_bound: float
    episodes: int
    mean_queries: float
    digest: str
    promise: str | None = None
    test: str | None = None
    cases: str | None = None


def check_request(
    asked: dict[str, Any], max_queries: Any, confidence: Any, promise: Any, horizon: int
) -> None:
    """As `icpe.core.request` does, in the same words."""
    named = [name for name, value in asked.items() if value is not None]
    name = named[0] if named else ""
    value = asked.get(name)
    problem = None
    if promise not in PROMISES:
        problem = f"promise must be one of {', '.join(PROMISES)}; got {promise!r}."
    elif promise != "average" and asked["error_prob"] is None:
        problem = (
            f"promise {promise} is about error_prob, which is missing; give it, or "
            "leave the promise out."
        )
    elif len(named) != 1:
        problem = (
            "Exactly one of error_prob, budget and price must be given; got "
            f"{' and '.join(named) if named else 'none of them'}."
        )
    elif name == "budget" and max_queries is not None:
        problem = (
            "max_queries cannot be combined with budget, which already fixes the "
            "number of queries; leave one of them out."
        )
    elif name != "budget" and (
        isinstance(value, bool) or not isinstance(value, numbers.Real)
    ):
        problem = f"{name} must be a number such as 0.1; got {value!r}."
    elif name == "error_prob" and not 0.0 < float(value or 0) < 1.0:
        problem = f"error_prob must lie strictly between 0 and 1; got {value}."
    elif name == "price" and not 0.0 < float(value or 0) < math.inf:
        problem = (
            f"price must be positive and finite; got {value}. For a fixed number of "
            "queries use budget."
        )
    if problem is not None:
        raise OperatingPointError(problem)
    if not 0.0 <= confidence <= 1.0:
        raise InvalidParameterError(
            f"confidence must be between 0.0 and 1.0; got {confidence}."
        )
    for name, value in (("budget", asked["budget"]), ("max_queries", max_queries)):
        if value is not None and not is_whole(value):
            raise OperatingPointError(
                f"{name} must be a whole number from 1 to {horizon}; got {value!r}."
            )
        if value is not None and not 1 <= int(value) <= horizon:
            raise OperatingPointError(
                f"{name} must be between 1 and the family's horizon {horizon}; got "
                f"{value}."
            )


def check_trained_price(price: float, low: float, high: float) -> None:
    """Raises one sentence unless networks were trained for a price.

    Raises:
        OperatingPointError: they were not.
    """
    if not low * (1 - _SLACK) <= price <= high * (1 + _SLACK):
        raise OperatingPointError(
            f"price must lie in the trained range [{low:g}, {high:g}]; got {price}."
        )


def out_of_reach(
    error_prob: float,
    smallest: float,
    rows: Sequence[Mapping[str, Any]],
    *,
    trained: bool,
    most_queries: int | None = None,
) -> str:
    """Why an error probability is not served, and what would help.

    Args:
        error_prob: what was asked for.
        smallest: what is served.
        rows: the operating table at the cap in question.
        trained: whether the explorer was trained; rules are not.
        most_queries: how many there are, if each can be made once; else None.
    """
    best = max(rows, key=lambda row: (row["lower_bound"], row["accuracy"]))
    if best["accuracy"] + error_prob >= 1.0:
        remedy = "measure it on more episodes by icpe calibrate"
    elif best["max_queries"] == most_queries:
        remedy = "other questions are needed, since all of them can be asked already"
    elif best["quantiles"][-1] >= best["max_queries"]:
        often = "one episode in a hundred or more"
        if best["quantiles"][0] >= best["max_queries"]:
            often = "half of all episodes or more"
        remedy = (
            f"the cap of {best['max_queries']} queries, which {often} reach, must be "
            "larger: give the family a longer horizon, if there is more to ask"
        )
    elif trained:
        remedy = "train longer and with a smaller min_price"
    else:
        remedy = "use another rule, or train an explorer"
    return (
        f"error_prob={error_prob} is smaller than this explorer can serve; the "
        f"smallest is {smallest} (for less, {remedy}, or ask for a budget)."
    )
