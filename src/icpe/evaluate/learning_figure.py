"""How an explorer got better in training, from its log of metrics."""

import json
from pathlib import Path

import numpy as np

from icpe.evaluate.plots import COLORS, Figure, figure_type, tidy


def learning_figure(metrics: Path) -> Figure:
    """Accuracy and queries of the explorer that would have shipped, over time.

    Args:
        metrics: the log of a training, with what its judge said.
    """
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    judged = [line for line in lines if line.get("judged")]
    figure = figure_type()(figsize=(7.2, 4.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    if judged:
        seconds = np.array([line["seconds"] for line in judged])
        prices = judged[0]["judged"]["prices"]
        for i, price in enumerate(prices):
            color = COLORS[i % len(COLORS)]
            accuracy = [line["judged"]["accuracy"][i] for line in judged]
            queries = [line["judged"]["mean_queries"][i] for line in judged]
            above.plot(seconds, accuracy, color=color, label=f"price {price:.2g}")
            below.plot(seconds, queries, color=color)
        above.legend(frameon=False, fontsize=8)
    above.set_ylabel("accuracy")
    below.set_ylabel("mean queries")
    below.set_xlabel("seconds of training")
    tidy(above)
    tidy(below)
    return figure
