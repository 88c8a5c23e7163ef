"""Families that no recipe was tuned on, against the rule a careful user would write.

The rule has the exact posterior, makes the query of largest information per cost, and
stops at the threshold that is best for each accuracy. Both play the same episodes.
"""

import dataclasses
import functools as ft
from typing import Any

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec
from icpe.evaluate.compare import CostAtAccuracy, cost_at_accuracy, ratio_of_costs
from icpe.evaluate.equal_accuracy import PricePoints
from icpe.evaluate.thresholds import play_thresholds
from icpe.explorers import make_explorer
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.families import (
    AdaptiveTest,
    Battleship,
    GroupTesting,
    RandomTests,
    SourceOnALine,
)
from icpe.studies.models import Bench, Model
from icpe.studies.study import AbstractMeasure, Cell, Results, Size, Study
from icpe.studies.tables import (
    ABSENT,
    NOT_RUN,
    NOT_SERVED,
    Estimate,
    Table,
    shown,
    verdict,
)
from icpe.studies.tiny import EPISODES, tiny_model

ACCURACIES = (0.9, 0.95, 0.99)
_LOOSE_FROM = 0.95
_SHORT_OF_BEST = 0.01
"""Prices of the operating table on each side of an accuracy that are played."""


class HiddenNumber(AbstractTaskFamily):
    """A number among several; answers are lower, hit or higher, sometimes a lie.

    Noisy binary search under another name, which no table of names can know.
    """

    size: int = parameter(128, "how many numbers there are")
    lies: float = parameter(0.1, "probability that an answer is one of the others")
    horizon: int = parameter(60, "most queries in an episode")

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(
            self.size, self.size, outcome_size=1, horizon=self.horizon, reveals=False
        )

    def sample_task(self, *, key: PRNGKey) -> Int[Array, ""]:
        return jr.randint(key, (), 0, self.size)

    def reset(self, task: Int[Array, ""], *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Int[Array, ""], *, key: PRNGKey
    ) -> StepResult:
        lie_key, which_key = jr.split(key)
        truth = jnp.sign(task - query)
        other = (truth + 1 + jr.randint(which_key, (), 1, 3)) % 3 - 1
        lies = jr.uniform(lie_key) < self.lies
        answer = jnp.where(lies, other, truth).astype(jnp.float32)
        return plain_step(self.spec, answer[None])

    def hypothesis(self, task: Int[Array, ""]) -> Index:
        return task

    def log_likelihood(
        self, hypothesis: Index, query: Index, outcome: Float[Array, "outcome"]
    ) -> Scalar:
        answer = jnp.round(outcome[0]).astype(jnp.int32)
        agrees = jnp.sign(hypothesis - query) == answer
        return jnp.log(jnp.where(agrees, 1.0 - self.lies, self.lies / 2))


FAMILIES: dict[str, AbstractTaskFamily] = {
    "tests with costs": RandomTests(max_cost=4),
    "tests with four results": RandomTests(
        num_conditions=128, num_tests=64, num_results=4, once=False
    ),
    "adaptive test": AdaptiveTest(),
    "group testing": GroupTesting(),
    "hidden number": HiddenNumber(),
    "source on a line": SourceOnALine(),
    "battleship": Battleship(),
}
SMALL: dict[str, AbstractTaskFamily] = {
    "tests with costs": RandomTests(max_cost=4),
    "hidden number, 32": HiddenNumber(size=32, horizon=50),
    "battleship, 5 x 5": Battleship(size=5),
}
SEEDS = {"tests with costs": (0, 1, 2), "source on a line": (0, 1, 2)}


@dataclasses.dataclass(frozen=True)
class AgainstTheRule(AbstractMeasure):
    """Cost of a trained explorer over that of the greedy rule, at equal accuracy.

    Attributes:
        model: what is trained; its family is what both play.
        accuracies: at which they are compared; those that are out of reach are
            replaced by the best that is within reach less 0.01.
        episodes: of both.
    """

    model: Model
    accuracies: tuple[float, ...] = ACCURACIES
    episodes: int = 100_000

    def run(self, bench: Bench, seed: int) -> dict[str, Any]:
        """Trains, then plays both on the same episodes."""
        family = self.model.family
        artifact = bench.artifact(self.model)
        rule = make_explorer("information-gain", family)
        assert isinstance(rule, BeliefExplorer)
        theirs = play_thresholds(
            rule, family, self.episodes, seed=seed, progress=bench.progress
        )
        best = theirs.stopped_at(1.0).accuracy
        levels = dict.fromkeys(
            min(accuracy, round(best - _SHORT_OF_BEST, 4))
            for accuracy in self.accuracies
        )
        played = PricePoints(artifact, self.episodes, seed)
        rows = [
            _compare(level, played, cost_at_accuracy(theirs.around(level), level))
            for level in levels
        ]
        horizon = played.point(budget=family.spec.horizon)
        assert artifact.table is not None
        return {
            "levels": rows,
            "rule_at_horizon": best,
            "ours_at_horizon": horizon.accuracy,
            "smallest_error_prob": artifact.table.smallest_error_prob(),
            "training": artifact.training,
            "trained": artifact.provenance,
        }


def _compare(
    accuracy: float, played: PricePoints, theirs: CostAtAccuracy | None
) -> dict[str, Any]:
    ours = cost_at_accuracy(played.around(accuracy), accuracy)
    row: dict[str, Any] = {
        "accuracy": accuracy,
        "ours": None if ours is None else ours.cost,
        "rule": None if theirs is None else theirs.cost,
    }
    if ours is not None and theirs is not None:
        ratio = ratio_of_costs(ours, theirs)
        row |= {"ratio": ratio.value, "ratio_interval": (ratio.low, ratio.high)}
    return row


def make(size: Size) -> Study:
    """The families at full size, for a GPU."""
    if size == "tiny":
        families = {"hidden number": HiddenNumber(size=4, horizon=6)}
        return _study("gauntlet", families, {}, is_tiny=True)
    return _study("gauntlet", FAMILIES, SEEDS)


def make_small(size: Size) -> Study:
    """Three small families, for two cores."""
    if size == "tiny":
        families = {"battleship": Battleship(size=2, length=2)}
        return _study("gauntlet-cpu", families, {}, is_tiny=True)
    return _study("gauntlet-cpu", SMALL, {})


def _study(name: str, families, seeds, *, is_tiny: bool = False) -> Study:
    def measure(family: AbstractTaskFamily, seed: int) -> AgainstTheRule:
        model = Model(family, seed)
        if is_tiny:
            return AgainstTheRule(tiny_model(model), episodes=EPISODES)
        return AgainstTheRule(model)

    cells = [
        Cell(row, "ours", measure(family, seed), seed)
        for row, family in families.items()
        for seed in seeds.get(row, (0,))
    ]
    where = "two CPU cores" if name.endswith("cpu") else "one GPU"
    return Study(
        name,
        f"Families that nobody tuned for, on {where}",
        "One recipe, no settings of its own for any family, about ten minutes each at "
        "most. "
        "The rule it is held against has the exact posterior, makes the query of "
        "largest information per cost, and stops at the best threshold for each "
        "accuracy; both play the same episodes, and costs are compared at equal "
        "accuracy.",
        tuple(cells),
        ft.partial(_tables, is_small=name.endswith("cpu")),
    )


def _tables(results: Results, *, is_small: bool) -> list[Table]:
    rows, remarks = [], []
    for cell in results.cells:
        record = results.records.get(cell.name)
        name = cell.row if not cell.seed else f"{cell.row}, seed {cell.seed}"
        if record is None:
            rows.append((name, *[NOT_RUN] * (len(_HEADINGS) - 1)))
            continue
        found = record["result"]
        for level in found["levels"]:
            ratio = level.get("ratio")
            limit = _limit(level["accuracy"], is_small)
            met = False if ratio is None else ratio <= limit
            rows.append(
                (
                    name,
                    f"{level['accuracy']:.3f}",
                    shown(level["rule"], 2, ABSENT),
                    shown(level["ours"], 2, ABSENT),
                    _ratio(level),
                    f"{limit:.2f}",
                    verdict(met),
                )
            )
        served = found["smallest_error_prob"] <= 1.01 - found["ours_at_horizon"]
        remarks.append(
            f"{name}: trained in {found['trained']['seconds']:.0f} s; errs with "
            f"probability {1 - found['ours_at_horizon']:.4f} at the horizon and serves "
            f"down to {found['smallest_error_prob']:.4f} ({verdict(served)})."
        )
    caption = "Cost of the trained explorer and of the greedy rule at equal accuracy"
    return [Table("gauntlet", caption, _HEADINGS, tuple(rows), tuple(remarks))]


_HEADINGS = ("family", "accuracy", "rule", "ours", "ratio", "at most", "target")


def _limit(accuracy: float, is_small: bool) -> float:
    return 1.02 if accuracy <= _LOOSE_FROM and not is_small else 1.05


def _ratio(level: dict[str, Any]) -> str:
    if level.get("ratio") is None:
        return NOT_SERVED
    return Estimate(level["ratio"], tuple(level["ratio_interval"])).text(3)
