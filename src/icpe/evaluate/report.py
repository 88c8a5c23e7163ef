"""What was measured of one explorer at one operating point, and its JSON."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from icpe.core.errors import InvalidParameterError, missing_extra
from icpe.core.family import AbstractTaskFamily, parameters
from icpe.families.registry import describe_record, family_name

if TYPE_CHECKING:
    from pandas import DataFrame
else:
    DataFrame = Any


@dataclasses.dataclass(frozen=True)
class Report:
    """How well an explorer did on fresh tasks of a family.

    Intervals are two-sided at 95 %: Clopper-Pearson for the accuracy, Student's t
    for the mean number of queries. Values that do not apply are None.

    Attributes:
        explorer: name of the explorer.
        family: `{"name": ..., "parameters": {...}}`, enough to rebuild the family.
        episodes: number of episodes, each on a task of its own.
        seed: seed of the episodes; equal seeds mean equal tasks and equal noise.
        price: price of one unit of cost, if that was asked for, or if a trained
            explorer serves `error_prob` by it.
        budget: number of queries, if that was asked for.
        error_prob: largest error probability, if that was asked for.
        query_cap: cap on the queries, if that was asked for.
        certified: whether a certificate of the explorer covers `error_prob`.
        confidence: of that certificate.
        attempt: which attempt that certificate was, counted from 1.
        accuracy: fraction of episodes whose recommendation was the truth.
        accuracy_interval: its interval.
        mean_queries: mean number of queries.
        mean_queries_interval: its interval.
        max_queries: largest number of queries seen in an episode.
        mean_cost: mean of the summed costs of the queries.
        query_quantiles: for "0.05" .. "0.95", the smallest t with P(tau <= t) at
            least that, where tau is the number of queries of an episode.
        survival: P(tau > t) for t = 0 .. max_queries.
        stop_reasons: number of episodes by the name of the reason they ended.
        promise: what `error_prob` is promised about, if that was asked for.
        undecided: with promise "belief", fraction of episodes that ended without it.
        decided_accuracy: fraction of right answers among the others.
        decided_accuracy_interval: its interval.
    """

    explorer: str
    family: Mapping[str, Any]
    episodes: int
    seed: int
    price: float | None
    budget: int | None
    error_prob: float | None
    query_cap: int | None
    certified: bool
    confidence: float | None
    attempt: int | None
    accuracy: float
    accuracy_interval: tuple[float, float]
    mean_queries: float
    mean_queries_interval: tuple[float, float]
    max_queries: int
    mean_cost: float
    query_quantiles: Mapping[str, int]
    survival: tuple[float, ...]
    stop_reasons: Mapping[str, int]
    promise: str | None = None
    undecided: float | None = None
    decided_accuracy: float | None = None
    decided_accuracy_interval: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-compatible values."""
        return {
            field.name: _plain(getattr(self, field.name))
            for field in dataclasses.fields(self)
        }

    def to_json(self) -> str:
        """The fields as one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Report":
        """The inverse of `to_dict`.

        Raises:
            InvalidParameterError: a field is missing or unknown.
        """
        names = [field.name for field in dataclasses.fields(Report)]
        given = {**dict.fromkeys(_YOUNGER), **values}
        odd = sorted(set(names).symmetric_difference(given))
        if odd:
            state = "lacks" if odd[0] in names else "has the unknown field"
            raise InvalidParameterError(
                f"A report {state} {odd[0]!r}; its fields are {', '.join(names)}."
            )
        return Report(**{name: _tupled(given[name]) for name in names})

    @staticmethod
    def from_json(text: str) -> "Report":
        """The inverse of `to_json`."""
        return Report.from_dict(json.loads(text))

    def to_frame(self) -> DataFrame:
        """The report as a data frame of one row; see `to_frame` for several."""
        return to_frame([self])

    @property
    def title(self) -> str:
        """Family and parameters in one line."""
        return describe_record(self.family["name"], self.family["parameters"])


_YOUNGER = (
    "promise",
    "undecided",
    "decided_accuracy",
    "decided_accuracy_interval",
)
"""Fields that older reports do not have."""


def to_frame(reports: Sequence[Report]) -> DataFrame:
    """Reports as a data frame, one row each.

    The family's parameters are columns `family.x`; intervals have columns `x_low` and
    `x_high`, quantiles of the number of queries `queries_0.5`, stop reasons `stop_x`.
    The survival function is left out.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise missing_extra("Data frames need pandas", "tables") from error
    return pandas.DataFrame([_flat(report.to_dict()) for report in reports])


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in values.items():
        match name:
            case "family":
                row["family"] = value["name"]
                row |= {f"family.{k}": v for k, v in value["parameters"].items()}
            case (
                "accuracy_interval"
                | "mean_queries_interval"
                | "decided_accuracy_interval"
            ):
                stem = name.removesuffix("_interval")
                row[f"{stem}_low"], row[f"{stem}_high"] = value or (None, None)
            case "query_quantiles":
                row |= {f"queries_{k}": v for k, v in value.items()}
            case "stop_reasons":
                row |= {f"stop_{k}": v for k, v in value.items()}
            case "survival":
                pass
            case _:
                row[name] = value
    return row


def family_record(family: AbstractTaskFamily) -> dict[str, Any]:
    """The family as a report names it: registered name and parameters."""
    return {"name": family_name(family), "parameters": _plain(parameters(family))}


def _plain(value: Any) -> Any:
    """The value with tuples as lists, as JSON reads them back."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value


def _tupled(value: Any) -> Any:
    """The value with lists as tuples, the only sequences of a report."""
    if isinstance(value, Mapping):
        return {key: _tupled(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return tuple(_tupled(entry) for entry in value)
    return value
