"""The learners there are, and the configuration that chooses between them."""

import jax
from jax.sharding import Mesh

from icpe.core.family import AbstractTaskFamily
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.paper import PaperNets
from icpe.learn.config import TrainConfig
from icpe.learn.learner import LearnerState, Metrics, UniversalLearner
from icpe.learn.paper.config import PaperConfig
from icpe.learn.paper.learner import PaperLearner, PaperLearnerState, PaperMetrics
from icpe.learn.shape import price_range, tables_of
from icpe.learn.side_by_side import SideBySide
from icpe.learn.survey import Survey, machine_here, survey
from icpe.learn.worth import fit_worth
from icpe.nets.worth_head import WorthHead

AnyConfig = TrainConfig | PaperConfig
AnyLearner = UniversalLearner | PaperLearner | SideBySide
AnyMetrics = Metrics | PaperMetrics
AnyNets = ExplorerNets | PaperNets
AnyState = LearnerState | PaperLearnerState

_MOST_UPDATES, _UPDATES_PER_ITERATION = 4000, 30
_FEWEST_EPISODES, _MOST_OPERATIONS = 256, 2.0**35
"""Fewer episodes are looked at where a belief takes long."""


def make_learner(
    family: AbstractTaskFamily, config: AnyConfig, mesh: Mesh | None = None
) -> AnyLearner:
    """The learner that a configuration is for."""
    if isinstance(config, PaperConfig):
        return PaperLearner(family, config, mesh)
    counts = config.predictions == "counted"
    found = survey(family, machine_here(), counts=counts)
    worth = first_worth(family.spec, config, found)
    return UniversalLearner(family, config, found, mesh, worth)


def first_worth(spec: TaskSpec, config: TrainConfig, found: Survey) -> WorthHead | None:
    """What networks start with, None where they do not start from an exact rule.

    A short training gets a short fit.

    Args:
        spec: of the family.
        config: of the training.
        found: the survey, with episodes of the greedy rule that never stopped.
    """
    tables = tables_of(config, found)
    if tables is None or tables is not found.given or found.greedy is None:
        return None
    if not spec.can_stop:
        return None
    prices = price_range(config, spec, found)
    updates = min(_MOST_UPDATES, _UPDATES_PER_ITERATION * config.num_iterations)
    number = int(max(_FEWEST_EPISODES, _MOST_OPERATIONS / max(found.operations, 1.0)))
    history = jax.tree.map(lambda leaf: leaf[:number], found.greedy)
    return fit_worth(spec, tables, history, prices, updates)
