"""The operating table of a rule, from one set of episodes that it plays to the end.

What a rule asks does not depend on where it will stop. So every doubt, every cap and
every budget is a place where the same episodes may be cut.
"""

import numpy as np

from icpe.artifact.operating_table import OperatingRow
from icpe.evaluate.thresholds import ThresholdEpisodes
from icpe.theory.intervals import clopper_pearson_lower

QUANTILES = (0.5, 0.9, 0.99)


def rule_row(
    played: ThresholdEpisodes, price: float | None, max_queries: int
) -> OperatingRow:
    """What comes of stopping at a doubt, or at a fixed budget if there is none.

    Args:
        played: episodes that went on as long as the family let them.
        price: the doubt at which the rule stops.
        max_queries: the most queries.
    """
    threshold = np.inf if price is None else 1.0 - price
    stop = np.minimum(played.stops(threshold), max_queries)
    point = played.cut(stop)
    queries = np.sort(np.minimum(stop, played.length))
    episodes = len(queries)
    correct = int(point.correct.sum())
    half, most, nearly_all = (
        int(queries[int(np.ceil(q * episodes)) - 1]) for q in QUANTILES
    )
    return OperatingRow(
        price=price,
        max_queries=max_queries,
        episodes=episodes,
        accuracy=correct / episodes,
        lower_bound=float(clopper_pearson_lower(correct, episodes)),
        mean_queries=float(queries.mean()),
        quantiles=(half, most, nearly_all),
        longest=int(queries[-1]),
        mean_cost=point.mean_cost,
    )
