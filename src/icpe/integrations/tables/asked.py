"""Which features are measured together, and what each measurement costs."""

import math
import numbers
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from icpe.core.csv_text import one_line, read_rows
from icpe.core.errors import (
    DataError,
    InvalidParameterError,
    UnknownNameError,
    suggesting,
)
from icpe.portable.decimals import as_number

Costs = Mapping[Any, Any] | Sequence[Any] | np.ndarray | None
Groups = Mapping[Any, Any] | Sequence[Any] | np.ndarray | None


class Measurement(NamedTuple):
    """One query: its name, the features it reveals, and its cost."""

    name: str
    features: tuple[int, ...]
    cost: float


def measurements(
    names: Sequence[str], groups: Groups = None, costs: Costs = None
) -> list[Measurement]:
    """The queries, those of groups where the first of their features stands.

    Args:
        names: of all features.
        groups: features that are measured together: names or numbers of features by
            the name of the group, a list of such lists, or a label for every feature.
        costs: the cost of a feature or a group by its name or number, 1 where it is
            not named; or a number for every query, or for every feature.

    Raises:
        UnknownNameError: a feature or group is not there.
        InvalidParameterError: a feature is in two groups, or a cost is impossible.
    """
    together = _together(list(names), groups)
    taken: dict[int, str] = {}
    for label, members in together:
        for feature in members:
            if feature in taken:
                raise InvalidParameterError(
                    f"groups has feature {names[feature]!r} in both {taken[feature]!r} "
                    f"and {label!r}; a feature is measured with one group."
                )
            taken[feature] = label
    found = {members[0]: (label, members) for label, members in together}
    parts = []
    for feature, name in enumerate(names):
        if feature in found:
            parts.append(found[feature])
        elif feature not in taken:
            parts.append((name, (feature,)))
    prices = _prices(list(names), parts, costs)
    return [
        Measurement(label, members, price)
        for (label, members), price in zip(parts, prices, strict=True)
    ]


def read_costs(path: Path) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Costs by feature or group, and groups, of a comma-separated file.

    Its columns are `feature` and `cost`, and `group` where some features are measured
    together; the cost of a group stands beside one of its features, or is the same
    beside all.

    Raises:
        DataError: the file is something else.
    """
    cells = read_rows(path)
    header, rows = cells.header, cells.rows
    lower = [name.lower() for name in header]
    known = {
        "feature": ("feature", "column", "query", "name"),
        "cost": ("cost", "costs", "price"),
        "group": ("group", "groups"),
    }
    place = {
        role: next((lower.index(word) for word in words if word in lower), None)
        for role, words in known.items()
    }
    if place["feature"] is None or place["cost"] is None:
        raise DataError(
            f"{path} must have the columns feature and cost, and may have group; it "
            f"has {', '.join(header)}."
        )
    costs: dict[str, float] = {}
    groups: dict[str, list[str]] = {}
    for number, row in zip(cells.lines, rows, strict=True):
        feature = one_line(row[place["feature"]])
        word = row[place["cost"]].strip()
        group = "" if place["group"] is None else row[place["group"]].strip()
        if group:
            groups.setdefault(group, []).append(feature)
        if not word and group:
            continue
        try:
            cost = as_number(word, cells.decimal)
        except ValueError:
            raise DataError(
                f"{path}, line {number}: the cost of {feature} must be a number; got "
                f"{word!r}."
            ) from None
        label = group or feature
        if costs.setdefault(label, cost) != cost:
            raise DataError(
                f"{path}, line {number}: {label} costs {costs[label]:g} and {cost:g}; "
                "give one cost."
            )
    return costs, groups


def _together(names: list[str], groups: Groups) -> list[tuple[str, tuple[int, ...]]]:
    """The label and the features of each group."""
    if groups is None or len(groups) == 0:
        return []
    if isinstance(groups, Mapping):
        named = [(str(label), members) for label, members in groups.items()]
    elif all(isinstance(it, list | tuple | np.ndarray | set) for it in groups):
        named = [(None, members) for members in groups]
    elif len(groups) == len(names):
        labels: dict[Any, list[int]] = {}
        for feature, label in enumerate(groups):
            labels.setdefault(label, []).append(feature)
        named = [
            (str(label) if len(members) > 1 else names[members[0]], members)
            for label, members in labels.items()
        ]
    else:
        raise InvalidParameterError(
            "groups must be lists of features, with or without names, or one label "
            f"for each of the {len(names)} features; got {groups!r}."
        )
    found = []
    for label, members in named:
        members = sorted({_feature(names, it, "groups") for it in members})
        if not members:
            raise InvalidParameterError(
                f"groups has no features in {label or 'a group'!r}; name at least one."
            )
        own = " + ".join(names[it] for it in members)
        found.append((own if label is None else label, tuple(members)))
    shown = [label for label, members in found if len(members) > 1]
    twice = {it for it in shown if shown.count(it) > 1}
    if twice:
        raise InvalidParameterError(
            f"groups has several groups named {', '.join(sorted(twice))}; name each "
            "once."
        )
    return found


def _feature(names: list[str], given: Any, where: str) -> int:
    if isinstance(given, numbers.Integral) and not isinstance(given, bool):
        if 0 <= int(given) < len(names):
            return int(given)
    elif given in names:
        return names.index(given)
    raise UnknownNameError(
        suggesting(
            f"{where} names {given!r}, which is no feature",
            str(given),
            names,
            f"the features are {_listed(names)}.",
        )
    )


def _prices(
    names: list[str], parts: list[tuple[str, tuple[int, ...]]], costs: Costs
) -> list[float]:
    if costs is None:
        return [1.0] * len(parts)
    if isinstance(costs, Mapping):
        return _prices_by_name(names, parts, costs)
    given = [float(it) for it in costs]
    if len(given) == len(names) and len(parts) != len(names):
        prices = []
        for label, members in parts:
            own = {given[it] for it in members}
            if len(own) > 1:
                raise InvalidParameterError(
                    f"costs has different costs for the features of {label!r}, which "
                    "are measured together at one cost; give one by its name."
                )
            prices.append(own.pop())
    elif len(given) == len(parts):
        prices = given
    else:
        raise InvalidParameterError(
            f"costs must have a number for each of the {len(parts)} queries, or be "
            f"given by name; got {len(given)} numbers."
        )
    return [
        _checked(price, label) for price, (label, _) in zip(prices, parts, strict=True)
    ]


def _prices_by_name(names, parts, costs: Mapping[Any, Any]) -> list[float]:
    labels = [label for label, _ in parts]
    prices: dict[int, float] = {}
    for given, cost in costs.items():
        if given in labels:
            query = labels.index(given)
        else:
            known = [*labels, *names]
            if given not in names and not isinstance(given, numbers.Integral):
                raise UnknownNameError(
                    suggesting(
                        f"costs names {given!r}, which is no feature or group",
                        str(given),
                        known,
                        f"there are {_listed(labels)}.",
                    )
                )
            feature = _feature(names, given, "costs")
            query = next(i for i, (_, own) in enumerate(parts) if feature in own)
        if prices.setdefault(query, cost) != cost:
            raise InvalidParameterError(
                f"costs gives {labels[query]!r} the costs {prices[query]:g} and "
                f"{cost:g}; features that are measured together have one."
            )
    return [_checked(prices.get(i, 1.0), label) for i, label in enumerate(labels)]


def _checked(cost: Any, label: str) -> float:
    try:
        number = float(cost)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise InvalidParameterError(
            f"costs must be positive numbers; that of {label!r} is {cost!r}."
        )
    return number


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(str, names[:12]))
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")
