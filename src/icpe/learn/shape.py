"""What the networks for a family are made of: a function of what the family is."""

from icpe.core.errors import InvalidParameterError
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.learn.config import TrainConfig
from icpe.learn.pilot import piloted_prices, price_for, prices_of_stops
from icpe.learn.survey import Survey
from icpe.nets.evidence import AbstractPredictions

_MOST_SUMMARY_FEATURES = 4096
"""Beyond this the embedding of the summary outweighs the rest of the networks."""
_MOST_COMPARED = 32
"""Comparing all queries with each other pays for few of them."""
_USUAL_PRICES = (0.2, 0.2)
"""Lowest (times the horizon) and highest price of a query where no pilot tells."""
_LITTLE_WITHIN = 0.7
"""Share of the spread of outcomes that is within tasks, below which what tasks have in
common hides how their queries differ."""
_MOST_OFF = 10.0
"""How many units of scale outcomes may lie from 0, or spread over."""


def net_config(config: TrainConfig, spec: TaskSpec, survey: Survey) -> NetConfig:
    """The networks that suit a family."""
    summary = spec.num_queries * (1 + spec.outcome_size) <= _MOST_SUMMARY_FEATURES
    entries = summary and spec.outcome_flags
    tied = summary and spec.queries_alike
    check_scale(spec, survey)
    tables = tables_of(config, survey)
    shape = None if tables is None else tables.shape(trust_of(config, survey))
    measured = not (spec.outcome_shift or spec.outcome_scale or spec.outcome_flags)
    return NetConfig(
        config.transformer,
        summary=summary,
        entry_summary=entries,
        tied_head=tied,
        predictions=shape,
        compares=tied and spec.num_queries <= _MOST_COMPARED,
        outcome_shift=survey.outcome_shift if measured else (),
        outcome_scale=survey.outcome_scale if measured else (),
        task_spread=_task_spread(spec, survey) if tied and not entries else (),
        reads_worth=tables is not None and tables is survey.given,
    )


def _task_spread(spec: TaskSpec, survey: Survey) -> tuple[float, ...]:
    """In units of the scaled outcomes, empty where tasks have little in common."""
    scales = spec.outcome_scale or survey.outcome_scale
    pairs = list(zip(survey.task_spread, survey.outcome_scale, strict=True))
    if all(within >= _LITTLE_WITHIN * spread or not within for within, spread in pairs):
        return ()
    return tuple(
        max(within / scale, 1e-3) if within else 1.0
        for within, scale in zip(survey.task_spread, scales, strict=True)
    )


def check_scale(spec: TaskSpec, survey: Survey) -> None:
    """Checks that a shift and a scale given with the spec fit the outcomes.

    Raises:
        InvalidParameterError: outcomes so scaled are far from 0 or from a spread of 1.
    """
    if spec.outcome_flags or not (spec.outcome_shift or spec.outcome_scale):
        return
    size = spec.outcome_size
    shifts = spec.outcome_shift or (0.0,) * size
    scales = spec.outcome_scale or (1.0,) * size
    found = zip(survey.outcome_shift, survey.outcome_scale, strict=True)
    for entry, (shift, scale, (mean, spread)) in enumerate(
        zip(shifts, scales, found, strict=True)
    ):
        is_far = abs(mean - shift) > _MOST_OFF * scale
        is_wide = spread > _MOST_OFF * scale
        is_narrow = 0 < spread < scale / _MOST_OFF**2
        if is_far or is_wide or is_narrow:
            raise InvalidParameterError(
                f"outcome_shift {shift:g} and outcome_scale {scale:g} do not fit entry "
                f"{entry} of the outcomes, whose mean is {mean:g} and whose standard "
                f"deviation is {spread:g} over tasks and queries; leave both out of "
                "the spec to have them measured, or correct them."
            )


def tables_of(config: TrainConfig, survey: Survey) -> AbstractPredictions | None:
    """The tables that networks start from."""
    if config.predictions == "none":
        return None
    given = survey.given if config.predictions == "given" else None
    return survey.predictions if given is None else given


def trust_of(config: TrainConfig, survey: Survey) -> float:
    """The share of the evidence of these tables that holds."""
    tables = tables_of(config, survey)
    if tables is None:
        return 0.0
    return 1.0 if tables is survey.given else survey.trust


def price_range(config: TrainConfig, spec: TaskSpec, survey: Survey) -> PriceRange:
    """The prices worth training for, with what the configuration fixes."""
    usual = _USUAL_PRICES[0] / spec.horizon / spec.mean_cost
    low, high = usual, _USUAL_PRICES[1] / spec.mean_cost
    trust = trust_of(config, survey)
    if survey.pilot is not None and trust >= 0.75:
        low, high = piloted_prices(survey.pilot, spec)
        if trust < 1.0:  # networks will get further than the greedy rule
            low = min(low, usual) / 2
        else:
            low, high = prices_of_stops(survey.pilot, spec)
        if config.error_prob:
            low = max(low, price_for(config.error_prob / 3, survey.pilot, spec))
            high = min(high, 4 * price_for(3 * config.error_prob, survey.pilot, spec))
    low, high = config.min_price or low, config.max_price or high
    return PriceRange(min(low, 0.5 * high), high)
