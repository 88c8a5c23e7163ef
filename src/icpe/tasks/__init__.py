"""Task families: what the world can be."""

from icpe.tasks.bandits import DeterministicBandit as DeterministicBandit
from icpe.tasks.bandits import GaussianBandit as GaussianBandit
from icpe.tasks.base import AbstractTaskFamily as AbstractTaskFamily
from icpe.tasks.base import StepResult as StepResult
from icpe.tasks.base import TaskSpec as TaskSpec
from icpe.tasks.fingerprint import fingerprint as fingerprint
from icpe.tasks.registry import make as make
from icpe.tasks.registry import register as register
from icpe.tasks.search import BinarySearch as BinarySearch

register("binary-search", BinarySearch)
register("deterministic-bandit", DeterministicBandit)
register("gaussian-bandit", GaussianBandit)
