"""What a well-formed document of a trained explorer is; one sentence if it is not.

A seal shows that nothing has changed since the file was written. Whoever wrote it may
have been wrong, or another program, so the values are checked as well.
"""

from collections.abc import Mapping
from typing import Any

from icpe.artifact.belief_table import BeliefTable
from icpe.artifact.certificate import Certificate
from icpe.artifact.operating_table import OperatingTable
from icpe.artifact.records import LimitsRecord, NetworkRecord, ObjectiveRecord
from icpe.artifact.rule_gain import RuleGain
from icpe.core.typed_values import check_record, check_value, shown

_DEEPEST = 32
_REQUIRED = (
    "family",
    "fingerprint",
    "networks",
    "training",
    "provenance",
    "operating_table",
    "certificates",
    "evaluation",
)
_SHARES = ("accuracy", "lower_bound", "confidence", "error_prob", "level")
_COUNTS = ("successes", "bound_successes", "mean_queries", "mean_cost", "longest")
_POSITIVE = ("episodes", "price", "max_queries", "horizon", "budget")


def check_document(document: Mapping[str, Any]) -> None:
    """Checks everything that is used of a document.

    Raises:
        ValueError: an entry is missing, of the wrong type, or cannot be.
    """
    _check_depth(document)
    for name in _REQUIRED:
        if name not in document:
            raise ValueError(f"{name!r} is missing")
    check_value(document["fingerprint"], str, "fingerprint")
    check_value(document.get("weights"), str | None, "weights")
    check_value(document["training"], dict, "training")
    check_value(document["evaluation"], dict | None, "evaluation")
    _check_family(document["family"])
    _check_kind(document)
    _check_networks(document)
    check_value(document.get("against_rule"), RuleGain | None, "against_rule")
    if document.get("belief_table") is not None:
        _check_beliefs(document["belief_table"])
    _check_provenance(document["provenance"])
    if document["operating_table"] is not None:
        _check_table(document["operating_table"])
    _check_certificates(document["certificates"])
    if document.get("guard") is not None:
        _check_guard(document["guard"])


def _check_depth(document: Any) -> None:
    level: list[Any] = [document]
    for _ in range(_DEEPEST):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, Mapping) else value)
            if isinstance(inner, Mapping | list)
        ]
        if not level:
            return
    raise ValueError("its document is nested too deeply")


def _check_family(family: Any) -> None:
    check_value(family, dict, "family")
    for name, kind in (("name", str), ("parameters", dict)):
        if name not in family:
            raise ValueError(f"family lacks {name!r}")
        check_value(family[name], kind, f"family.{name}")
    check_value(family.get("source"), str | None, "family.source")
    if "data" in family:
        check_value(family["data"], dict, "family.data")
        check_value(family["data"].get("stored"), bool, "family.data.stored")


def _check_networks(document: Mapping[str, Any]) -> None:
    """Entries with defaults are younger than the first files."""
    if document.get("kind") != "rule":
        check_record(document["networks"], NetworkRecord, "networks")
        return
    check_value(document.get("rule"), dict, "rule")
    for name, kind in (("score", str), ("beliefs", tuple[float, ...])):
        if name not in document["rule"]:
            raise ValueError(f"rule lacks {name!r}")
        check_value(document["rule"][name], kind, f"rule.{name}")


def _check_kind(document: Mapping[str, Any]) -> None:
    kind = document.get("kind", "universal")  # the first files do not have it
    if kind == "paper":
        check_record(document.get("objective"), ObjectiveRecord, "objective")
        if document["evaluation"] is not None:
            _check_evaluation(document["evaluation"])
        return
    if kind not in ("universal", "rule"):
        raise ValueError(f"its kind of explorer {shown(kind)} is not known")
    if "price_range" not in document:
        raise ValueError("'price_range' is missing")
    prices = document["price_range"]
    if not isinstance(prices, list | tuple) or len(prices) != 2:
        raise ValueError(f"price_range must be low and high; it is {shown(prices)}")
    check_value(prices, tuple[float, float], "price_range")
    if not 0 < prices[0] < prices[1]:
        raise ValueError(f"price_range must rise from above 0; it is {shown(prices)}")


def _check_evaluation(evaluation: Any) -> None:
    check_value(evaluation, dict, "evaluation")
    for name in ("accuracy", "mean_queries", "max_queries", "episodes"):
        check_value(evaluation.get(name), float, f"evaluation.{name}")


def _check_provenance(provenance: Any) -> None:
    check_value(provenance, dict, "provenance")
    for name in ("seconds", "iterations"):
        check_value(provenance.get(name), float | None, f"provenance.{name}")
    for name in ("icpe", "jax", "device", "command", "ended"):
        check_value(provenance.get(name), str | None, f"provenance.{name}")


def _check_table(table: Any) -> None:
    check_record(table, OperatingTable, "operating_table")
    _check_ranges(table, "operating_table")
    for index, row in enumerate(table["rows"]):
        _check_ranges(row, f"operating_table.rows[{index}]")
        if row["max_queries"] > table["horizon"]:
            raise ValueError(
                f"operating_table.rows[{index}].max_queries is beyond the horizon "
                f"{table['horizon']}; it is {row['max_queries']}"
            )
    priced = [row for row in table["rows"] if row["price"] is not None]
    if not any(row["max_queries"] == table["horizon"] for row in priced):
        raise ValueError("operating_table has no row with a price and without a cap")


def _check_beliefs(table: Any) -> None:
    check_record(table, BeliefTable, "belief_table")
    _check_ranges(table, "belief_table")
    for index, row in enumerate(table["rows"]):
        where = f"belief_table.rows[{index}]"
        _check_ranges(row, where)
        if not 0 < row["doubt"] < 1:
            raise ValueError(f"{where}.doubt must lie between 0 and 1")
        if not 0 <= row["successes"] <= row["decided"] <= row["episodes"]:
            raise ValueError(f"{where} counts more than were played")


def _check_certificates(certificates: Any) -> None:
    """What is missing or unknown in one is told when it is used."""
    check_value(certificates, list, "certificates")
    for index, certificate in enumerate(certificates):
        where = f"certificates[{index}]"
        check_record(certificate, Certificate, where, whole=False)
        _check_ranges(certificate, where)
        for name in ("by_hypothesis", "by_difficulty"):
            for group in certificate.get(name, ()):
                _check_ranges(group, f"{where}.{name}")
        for test in certificate.get("ladder", ()):
            played = {"successes": test.get("episodes")}  # none where not tested
            _check_ranges({**test, "episodes": None}, f"{where}.ladder")
            _check_ranges(played, f"{where}.ladder")


_OLD_LIMITS = (
    {"one", "together", "first", "first_one", "first_together"},
    {"one", "together"},
    {"one", "more", "less"},
)
"""Of guards that hold the first answers against all laws, of those without limits for
these, and of those before, which are not used any more."""


def _check_guard(guard: Any) -> None:
    check_value(guard, dict, "guard")
    limits = guard.get("limits")
    check_value(limits, dict, "guard.limits")
    names = set(LimitsRecord.__annotations__)
    numbers = {name: it for name, it in limits.items() if name != "first_wider"}
    if set(limits) not in (names, *_OLD_LIMITS) or not all(
        map(_is_number, numbers.values())
    ):
        wanted = ", ".join(sorted(names - {"first_wider"}))
        raise ValueError(f"guard.limits must be the numbers {wanted}")
    check_value(limits.get("first_wider", False), bool, "guard.limits.first_wider")
    check_value(guard.get("record"), dict, "guard.record")
    check_value(guard["record"].get("upper_bound"), float, "guard.record.upper_bound")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_ranges(values: Mapping[str, Any], where: str) -> None:
    """Shares lie in 0 .. 1, counts are not negative, sizes and prices positive."""
    for name, value in values.items():
        if value is None:
            continue
        if name in _SHARES and not 0 <= value <= 1:
            wanted = "must lie between 0 and 1"
        elif name in _COUNTS and not value >= 0:
            wanted = "must not be negative"
        elif name in _POSITIVE and not value > 0:
            wanted = "must be positive"
        else:
            continue
        raise ValueError(f"{where}.{name} {wanted}; it is {shown(value)}")
