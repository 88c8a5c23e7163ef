"""The magic chain: arms that point to one another, beside the Bayes optimum."""

import dataclasses
import functools as ft
from typing import Any

import numpy as np

from icpe.evaluate.limits import limits
from icpe.evaluate.plots import Figure
from icpe.families.magic_chain import MagicChain
from icpe.studies import paper_values
from icpe.studies.figures import Panel, line, named, panels_figure
from icpe.studies.measures import Baseline, Evaluation, Trained, Wrapped, value_at
from icpe.studies.models import Bench, Model
from icpe.studies.study import AbstractMeasure, Cell, Results, Size, Study, entry
from icpe.studies.tables import (
    Table,
    all_of,
    is_at_least,
    is_at_most,
    misses,
    pair,
    queries_at,
    shown,
    verdict,
)
from icpe.studies.tiny import EPISODES, tiny_model
from icpe.theory.magic_chain_frontier import magic_chain_frontier

LENGTHS = tuple(range(1, 10))
NUM_ARMS = 10
ERROR_PROB = 0.01
_ASKED = f"{ERROR_PROB:g}"
_METHODS = ("ours", "i-ids", "information-gain")


@dataclasses.dataclass(frozen=True)
class ChainOptimum(AbstractMeasure):
    """The Bayes optimum at every accuracy, by dynamic programming."""

    family: MagicChain

    def run(self, bench: Bench, seed: int) -> dict[str, Any]:
        """Solves the chain at many prices."""
        prices = np.append(np.geomspace(1.0, 1e-4, 96), 1e-9)
        found = magic_chain_frontier(
            self.family.num_arms, self.family.num_magic, prices
        )
        points = sorted(
            {
                (float(cost), float(accuracy))
                for cost, accuracy in zip(found.mean_cost, found.accuracy, strict=True)
            }
        )
        curve = [{"mean_queries": cost, "accuracy": right} for cost, right in points]
        return {"curve": curve, **limits(self.family)}


def make(size: Size) -> Study:
    """Declares the study."""
    tiny = size == "tiny"
    arms = 4 if tiny else NUM_ARMS
    model = Model(MagicChain(num_arms=arms, vary_magic=True))
    model = tiny_model(model) if tiny else model
    cells = []
    for length in (2,) if tiny else LENGTHS:
        plain, row = MagicChain(num_arms=arms, num_magic=length), f"n={length}"
        level = MagicChain(
            num_arms=arms, vary_magic=True, fewest_magic=length, most_magic=length
        )

        def cell(method, family, explorer, episodes, seed=None, row=row) -> Cell:
            measure = Evaluation(
                family,
                explorer,
                error_probs=(ERROR_PROB,),
                episodes=EPISODES if tiny else episodes,
            )
            return Cell(row, method, measure, seed)

        cells += [
            Cell(row, "limit", ChainOptimum(plain)),
            cell("information-gain", plain, Baseline("information-gain"), 2_000),
            cell("ours", level, Trained(model, level), 20_000, 0),
            cell("i-ids", level, Wrapped("i-ids", Trained(model)), 2_000, 0),
        ]
    return Study(
        "magic-chain",
        "Magic chain",
        "Ten arms without noise, n of them magic: each points to the next, the last to "
        "the best arm. One explorer serves all lengths, which are revealed at reset. "
        "Paper: figure of the magic chain at error probability 0.01, without numbers; "
        "its expression for the optimum assumes that an arm shows its place in the "
        "chain and lies below what is attainable from n = 4 on. One training seed.",
        tuple(cells),
        _tables,
        _figures,
    )


_value = ft.partial(value_at, kind="error_prob", request=_ASKED)


def _bayes(results: Results, row: str, accuracy: float) -> float | None:
    limit = results.first(row, "limit")
    return None if limit is None else queries_at(limit["curve"], accuracy)


def _is_met(results: Results, row: str) -> bool | None:
    accuracy = _value(results, row, "ours", "accuracy")
    if accuracy is None:
        return None
    best = _bayes(results, row, accuracy.value)
    most = best and (1 + paper_values.CHAIN_MARGIN) * best
    return all_of(
        is_at_least(accuracy, 1.0 - ERROR_PROB),
        is_at_most(_value(results, row, "ours", "mean_queries"), most),
    )


def _tables(results: Results) -> list[Table]:
    rows = []
    for row in results.rows:
        limit = results.first(row, "limit")
        accuracy = _value(results, row, "ours", "accuracy")
        equal = accuracy and _bayes(results, row, accuracy.value)
        rows.append(
            (
                row,
                shown(entry(limit, "paper_expression"), 3),
                *(
                    pair(
                        _value(results, row, method, "mean_queries"),
                        _value(results, row, method, "accuracy"),
                    )
                    for method in _METHODS
                ),
                shown(equal, 3),
                shown(_bayes(results, row, 1.0 - ERROR_PROB), 3),
                shown(entry(limit, "mean_queries"), 3),
                verdict(_is_met(results, row)),
            )
        )
    return [
        Table(
            "magic-chain",
            "Mean queries and accuracy at error probability 0.01",
            (
                "",
                "paper's expression",
                "ours",
                "I-IDS",
                "exact IDS",
                "Bayes optimum at our accuracy",
                "Bayes optimum at 0.99",
                "without error, values ignored",
                "target",
            ),
            tuple(rows),
            (
                "Target: accuracy 0.99, within 2 % of the Bayes optimum at our "
                "accuracy. I-IDS and exact IDS were measured on 2,000 episodes, ours "
                "on 20,000. The last column is the optimum of those who never err and "
                "do not compare regular arms; comparing them takes fewer queries.",
                *misses(results.rows, lambda r: _is_met(results, r), results.notes),
            ),
        )
    ]


def _figures(results: Results) -> dict[str, Figure]:
    lengths = [int(row.removeprefix("n=")) for row in results.rows]
    series = [
        line(
            m,
            lengths,
            [_value(results, row, m, "mean_queries") for row in results.rows],
        )
        for m in _METHODS
    ]
    optimum = [_bayes(results, row, 1.0 - ERROR_PROB) for row in results.rows]
    series.append(line("limit", lengths, optimum))
    panel = Panel(
        series,
        "number of magic arms n",
        "mean number of queries",
        "Magic chain, error probability 0.01",
        x_ticks=lengths,
        y_range=(0, None),
    )
    return named(panels_figure([panel], width=6.0), "magic-chain")
