"""The README's table at equal accuracy, from the results of the studies.

    python benchmarks/readme_table.py

Track-and-Stop with the scale of its threshold tuned to the accuracy is in
docs/data/tuned-track-and-stop.json, a list of what this printed with 4 and 10 arms:

    icpe compare track-and-stop top-two --family gaussian-bandit --family.num-arms K \
        --accuracy 0.91 --episodes 5000 --json
"""

import json
import re
from pathlib import Path

from icpe.studies import paper_values
from icpe.studies.catalog import make_study
from icpe.studies.stochastic_bandits import at_accuracy
from icpe.studies.study import Results

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "data"
ACCURACY = 0.91
BEGIN, END = "<!-- equal accuracy -->", "<!-- /equal accuracy -->"
NONE = "–"
HEADER = (
    "| queries on average | the paper | icpe | exact-posterior rule "
    "| Track-and-Stop, tuned | limit |\n|---|---|---|---|---|---|"
)


def table() -> str:
    """The table as Markdown."""
    rows = [*(_fewest_bold(row) for row in _bandits()), *_searches()]
    return "\n".join([HEADER, *(f"| {' | '.join(row)} |" for row in rows)])


def _fewest_bold(row: tuple[str, ...]) -> tuple[str, ...]:
    """The row with the fewest queries of all methods in bold."""
    what, *methods, limit = row
    fewest = min((it for it in methods if it != NONE), key=float)
    marked = (f"**{it}**" if it == fewest else it for it in methods)
    return (what, *marked, limit)


def rule_ahead(arms: int, accuracy: float) -> str:
    """What the README says of the rule where it is ahead of the trained explorer."""
    results = _results("stochastic-bandits")
    ours, rule = (
        at_accuracy(results, f"K={arms}", method, accuracy)
        for method in ("ours", "top-two")
    )
    assert ours is not None and rule is not None
    fewer = 1 - rule.value / ours.value
    return (
        f"at accuracy {accuracy:g} the rule needs {100 * fewer:.0f} % fewer queries "
        "than the trained explorer"
    )


def _results(study: str) -> Results:
    return make_study(study).results(DATA / "results")


def _bandits() -> list[tuple[str, ...]]:
    results = _results("stochastic-bandits")
    tuned = json.loads((DATA / "tuned-track-and-stop.json").read_text())
    rows = []
    for compared in tuned:
        assert compared["accuracy"] == ACCURACY
        arms = compared["family"]["parameters"]["num_arms"]
        (theirs,) = (
            it for it in compared["explorers"] if it["explorer"] == "track-and-stop"
        )
        found = [
            at_accuracy(results, f"K={arms}", method, ACCURACY)
            for method in ("ours", "top-two")
        ]
        ours, exact = (NONE if it is None else f"{it.value:.2f}" for it in found)
        printed = paper_values.DISTRIBUTION_SHIFT[arms][0.0]
        assert printed.accuracy.value == ACCURACY
        rows.append(
            (
                f"best of {arms} noisy arms, right in {ACCURACY:.0%}".replace(
                    "%", " %"
                ),
                f"{printed.queries.value:.2f}",
                ours,
                exact,
                f"{theirs['mean_cost']:.2f}",
                "not known",
            )
        )
    return rows


def _searches() -> list[tuple[str, ...]]:
    """Bold is what cannot be told from the limit: means of samples fall around it."""
    results = _results("binary-search")
    rows = []
    for size in (16, 256):
        limit = results.first(f"K={size}", "limit")
        rule = results.first(f"K={size}", "information-gain")
        assert limit is not None and rule is not None
        fewest = limit["mean_queries"]
        ours = [it["error_prob"]["0.01"] for it in results.of(f"K={size}", "ours")]
        printed = paper_values.BINARY_SEARCH[size]
        rows.append(
            (
                f"a number among {size}, always right",
                f"{printed.mean.value:.2f}",
                _sampled(ours, fewest),
                _sampled([rule["error_prob"]["0.01"]], fewest),
                NONE,
                f"{fewest:.2f}",
            )
        )
    return rows


def _sampled(reports: list[dict], fewest: float) -> str:
    """The mean over seeds, in bold where some seed's interval holds the limit."""
    assert all(it["accuracy"] == 1.0 for it in reports)
    mean = sum(it["mean_queries"] for it in reports) / len(reports)
    at_limit = any(it["mean_queries_interval"][0] <= fewest for it in reports)
    return f"**{mean:.2f}**" if at_limit else f"{mean:.2f}"


def with_table(readme: str) -> str:
    """The README with the table as it should be."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n{table()}\n{END}", readme)


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(with_table(path.read_text(encoding="utf-8")), encoding="utf-8")
