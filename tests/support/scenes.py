"""Sessions as the drawings see them, made up without any explorer."""

from typing import Any

import numpy as np

from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import Request
from icpe.service.drawings.scene import Moment, Scene, Weighed


def scene(
    family: AbstractTaskFamily,
    answers: list[tuple[int, Any]],
    *,
    belief: Any = None,
    weighed: list[tuple[float, float]] | None = None,
    **facts: Any,
) -> Scene:
    """A scene after these queries and outcomes, shown at its end.

    Args:
        family: whose session it is.
        answers: queries with their outcomes.
        belief: at the end; uniform before.
        weighed: values of stopping and asking, before the first answer and after each.
        facts: further fields of the scene.
    """
    spec = family.spec
    uniform = np.full(spec.num_hypotheses, 1.0 / spec.num_hypotheses)
    belief = uniform if belief is None else np.asarray(belief, float)
    made = [(None, np.zeros(spec.outcome_size)), *answers]
    values = [None] * len(made) if weighed is None else weighed
    moments = []
    for i, ((query, outcome), value) in enumerate(zip(made, values, strict=True)):
        now = belief if i == len(made) - 1 else uniform
        moments.append(
            Moment(
                query=query,
                outcome=np.atleast_1d(np.asarray(outcome, float)),
                asked=True,
                posterior=now,
                recommendation=int(np.argmax(now)),
                weighed=value
                and Weighed(value[0], value[1], value[1] - value[0], "values"),
            )
        )
    known: dict[str, Any] = {
        "shown": len(answers),
        "request": Request(error_prob=0.1),
        "price": 0.01,
        "max_queries": spec.horizon,
        "open_queries": (0,),
        "allowed": np.ones(spec.num_queries, bool),
    }
    return Scene(family, spec, tuple(moments), **{**known, **facts})


def table(horizon: int) -> OperatingTable:
    """One row at the price of the scenes: 7.5 questions, 11 at most in 9 of 10."""
    row = OperatingRow(
        price=0.01,
        max_queries=horizon,
        episodes=4000,
        accuracy=0.912,
        lower_bound=0.9,
        mean_queries=7.5,
        quantiles=(7, 11, 15),
        longest=18,
        mean_cost=7.5,
    )
    return OperatingTable(horizon=horizon, seed=0, rows=(row,))
