"""The learners there are, and the configuration that chooses between them."""

from jax.sharding import Mesh

from icpe.core.family import AbstractTaskFamily
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.paper import PaperNets
from icpe.learn.config import TrainConfig
from icpe.learn.learner import LearnerState, Metrics, UniversalLearner
from icpe.learn.paper.config import PaperConfig
from icpe.learn.paper.learner import PaperLearner, PaperLearnerState, PaperMetrics
from icpe.learn.side_by_side import SideBySide
from icpe.learn.survey import machine_here, survey
from icpe.learn.worth import first_worth

AnyConfig = TrainConfig | PaperConfig
AnyLearner = UniversalLearner | PaperLearner | SideBySide
AnyMetrics = Metrics | PaperMetrics
AnyNets = ExplorerNets | PaperNets
AnyState = LearnerState | PaperLearnerState


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
