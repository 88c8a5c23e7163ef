"""What the paper prints, and what is aimed at: data, each with its source.

"Paper" is Russo, Welch and Pacchiano, "In-Context Learning for Pure Exploration" (ICLR
2026). Where it shows a figure without numbers there is nothing here.
"""

from typing import NamedTuple


class Printed(NamedTuple):
    """A number of the paper and the half width of its 95 % interval, if printed."""

    value: float
    margin: float | None = None

    def text(self, digits: int) -> str:
        """As the paper prints it."""
        if self.margin is None:
            return f"{self.value:.{digits}f}"
        return f"{self.value:.{digits}f} ± {self.margin:.{digits}f}"


class SearchRow(NamedTuple):
    """Queries of the paper's explorer in binary search; its accuracy is 1.00."""

    mean: Printed
    longest: int


BINARY_SEARCH = {
    8: SearchRow(Printed(2.13, 0.12), 3),
    16: SearchRow(Printed(2.93, 0.12), 4),
    32: SearchRow(Printed(3.71, 0.15), 5),
    64: SearchRow(Printed(4.50, 0.21), 6),
    128: SearchRow(Printed(5.49, 0.23), 7),
    256: SearchRow(Printed(6.61, 0.26), 8),
}
"""Table "ICPE performance on the binary search task", error probability 0.01."""

BINARY_SEARCH_MARGIN = 0.01
"""Target: the optimum, its mean within this share, and the same largest number."""


class Shifted(NamedTuple):
    """Accuracy and queries of the paper's explorer under a shifted prior."""

    accuracy: Printed
    queries: Printed


SHIFTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


def _shift_rows(*rows: tuple[float, float, float, float]) -> dict[float, Shifted]:
    return {
        shift: Shifted(Printed(a, da), Printed(q, dq))
        for shift, (a, da, q, dq) in zip(SHIFTS, rows, strict=True)
    }


DISTRIBUTION_SHIFT = {
    4: _shift_rows(
        (0.91, 0.01, 7.76, 0.20),
        (0.91, 0.01, 7.59, 0.19),
        (0.90, 0.01, 7.65, 0.21),
        (0.90, 0.01, 7.68, 0.20),
        (0.89, 0.01, 7.63, 0.21),
        (0.89, 0.01, 7.73, 0.22),
    ),
    6: _shift_rows(
        (0.91, 0.01, 9.78, 0.22),
        (0.91, 0.01, 9.97, 0.26),
        (0.91, 0.01, 9.79, 0.26),
        (0.90, 0.01, 9.89, 0.28),
        (0.90, 0.01, 9.86, 0.28),
        (0.90, 0.01, 10.07, 0.28),
    ),
    8: _shift_rows(
        (0.90, 0.01, 11.37, 0.22),
        (0.89, 0.01, 11.45, 0.26),
        (0.89, 0.01, 11.54, 0.26),
        (0.90, 0.01, 11.33, 0.24),
        (0.89, 0.01, 11.41, 0.28),
        (0.88, 0.01, 11.47, 0.28),
    ),
    10: _shift_rows(
        (0.91, 0.01, 15.41, 0.37),
        (0.92, 0.01, 15.13, 0.37),
        (0.91, 0.01, 15.35, 0.40),
        (0.90, 0.01, 15.33, 0.42),
        (0.91, 0.01, 15.54, 0.41),
        (0.91, 0.01, 15.22, 0.40),
    ),
    12: _shift_rows(
        (0.91, 0.01, 18.86, 0.51),
        (0.91, 0.02, 18.28, 0.52),
        (0.91, 0.01, 18.55, 0.53),
        (0.90, 0.01, 18.78, 0.52),
        (0.91, 0.01, 19.00, 0.60),
        (0.91, 0.01, 18.52, 0.54),
    ),
    14: _shift_rows(
        (0.91, 0.01, 22.23, 0.72),
        (0.92, 0.01, 22.63, 0.71),
        (0.91, 0.01, 22.18, 0.75),
        (0.91, 0.01, 22.36, 0.72),
        (0.91, 0.01, 22.57, 0.75),
        (0.91, 0.01, 22.97, 0.75),
    ),
}
"""Table of the distribution shift (appendix); the first rows, without a shift, are also
the numbers behind the figure of stochastic bandits at error probability 0.1."""

ORACLE_ACCURACIES = (0.9, 0.91, 0.95, 0.98, 0.99)

ORACLE_QUERIES = {
    4: (5.9, 6.2, 7.5, 9.8, 11.9),
    6: (7.3, 7.6, 9.1, 11.5, 13.0),
    8: (8.8, 9.1, 11.0, 13.4, 15.6),
    10: (10.2, 10.4, 12.4, 14.6, 16.4),
    12: (11.8, 12.1, 13.8, 16.4, 17.9),
    14: (13.0, 13.5, 15.4, 18.4, 20.8),
}
"""Targets of the Gaussian bandit at `ORACLE_ACCURACIES`: mean queries of the exact
posterior with a tuned threshold, by simulation of 2,500 to 4,000 tasks (accuracy within
0.005)."""

BUDGETS = (10, 20, 30)

BUDGET_ACCURACY = {
    4: (0.911, 0.980, 0.991),
    6: (0.882, 0.969, 0.988),
    8: (0.848, 0.966, 0.988),
    10: (0.798, 0.961, 0.988),
    12: (0.695, 0.947, 0.985),
    14: (0.605, 0.933, 0.979),
}
"""Targets of the Gaussian bandit with `BUDGETS`: accuracy of the exact posterior, by
simulation of 3,000 tasks (within 0.004)."""

BUDGET_SLACK = 0.005
"""How far below that rule is still on target."""

DETERMINISTIC_ACCURACY = 0.99
DETERMINISTIC_DISTINCT = 0.995
"""Targets of the deterministic bandit with budget K; the limit is 1 for both."""

MAGIC_ACTION_ACCURACY = 0.9
"""Target of the magic action: fewer queries than I-IDS with this accuracy."""

CHAIN_MARGIN = 0.02
"""Target of the magic chain: the Bayes dynamic program at equal accuracy, plus this
share."""


class RoomRow(NamedTuple):
    """Accuracy and queries of the paper's explorer in the magic room."""

    accuracy: float
    accuracy_interval: tuple[float, float]
    queries: float
    queries_interval: tuple[float, float]


MAGIC_ROOM = {
    6: RoomRow(0.953, (0.940, 0.968), 13.721, (13.298, 14.165)),
    8: RoomRow(0.948, (0.941, 0.954), 27.704, (27.296, 28.086)),
}
"""Table "Magic Room" (appendix), error probability 0.05."""

MAGIC_ROOM_ACCURACIES = (0.95, 0.999)
"""Targets of the magic room: fewer queries than the paper at the first of these, and a
second operating point at the other."""


class GraphColumn(NamedTuple):
    """Accuracy with a fixed budget on a feedback graph."""

    ours: Printed
    tas_fg: Printed
    exp3_g: Printed
    uniform: Printed
    target: float


GRAPH_BUDGETS = {
    ("loopy-star", 5): GraphColumn(
        Printed(0.88, 0.01),
        Printed(0.82, 0.01),
        Printed(0.66, 0.02),
        Printed(0.73, 0.02),
        0.815,
    ),
    ("loopy-star", 10): GraphColumn(
        Printed(0.59, 0.02),
        Printed(0.73, 0.02),
        Printed(0.40, 0.01),
        Printed(0.60, 0.02),
        0.776,
    ),
    ("loopless-clique", 5): GraphColumn(
        Printed(0.95, 0.01),
        Printed(0.84, 0.01),
        Printed(0.84, 0.01),
        Printed(0.86, 0.01),
        0.857,
    ),
    ("loopless-clique", 10): GraphColumn(
        Printed(0.79, 0.04),
        Printed(0.83, 0.01),
        Printed(0.78, 0.02),
        Printed(0.79, 0.02),
        0.810,
    ),
    ("ring", 5): GraphColumn(
        Printed(0.79, 0.01),
        Printed(0.70, 0.02),
        Printed(0.77, 0.02),
        Printed(0.78, 0.02),
        0.817,
    ),
    ("ring", 10): GraphColumn(
        Printed(0.51, 0.03),
        Printed(0.56, 0.02),
        Printed(0.52, 0.02),
        Printed(0.62, 0.02),
        0.734,
    ),
}
"""Table of feedback graphs with a fixed budget (appendix), 5 queries for each arm. The
target is the accuracy of the greedy rule that knows graph and prior, by simulation."""


class PixelRow(NamedTuple):
    """Accuracy of a method of pixel sampling, and the distinct patches it used."""

    accuracy: float
    patches: float


PIXELS = {
    "paper": PixelRow(0.91, 10.09),
    "deep-cmab": PixelRow(0.66, 7.90),
    "uniform": PixelRow(0.25, 10.42),
}
"""Table of pixel sampling."""

FROZEN_PIXEL_TARGET = PixelRow(0.93, 10.0)
"""What ours is to reach with the paper's frozen classifier: at least this accuracy with
at most so many patches."""

PIXEL_TARGETS = {7: 0.95, 10: 0.97}
"""Accuracy that ours is to reach with an inference net of its own, by patches."""
