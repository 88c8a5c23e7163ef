"""Task families: what the world can be."""

from icpe.tasks.bandits import DeterministicBandit as DeterministicBandit
from icpe.tasks.bandits import GaussianBandit as GaussianBandit
from icpe.tasks.base import AbstractTaskFamily as AbstractTaskFamily
from icpe.tasks.base import StepResult as StepResult
from icpe.tasks.base import TaskSpec as TaskSpec
from icpe.tasks.base import parameter as parameter
from icpe.tasks.base import plain_reset as plain_reset
from icpe.tasks.base import plain_step as plain_step
from icpe.tasks.bernoulli import BernoulliBandit as BernoulliBandit
from icpe.tasks.drawn_digits import drawn_digits_source as _drawn_digits_source
from icpe.tasks.feedback_graph import FeedbackGraph as FeedbackGraph
from icpe.tasks.fingerprint import fingerprint as fingerprint
from icpe.tasks.images import register_images as register_images
from icpe.tasks.magic_action import MagicAction as MagicAction
from icpe.tasks.magic_chain import MagicChain as MagicChain
from icpe.tasks.magic_room import MagicRoom as MagicRoom
from icpe.tasks.mnist import mnist_source as _mnist_source
from icpe.tasks.patches import Patches as Patches
from icpe.tasks.registry import make as make
from icpe.tasks.registry import register as register
from icpe.tasks.search import BinarySearch as BinarySearch
from icpe.tasks.search import NoisyBinarySearch as NoisyBinarySearch
from icpe.tasks.shifted import ShiftedGaussianBandit as ShiftedGaussianBandit
from icpe.tasks.two_pull import TwoPullBandit as TwoPullBandit

register("binary-search", BinarySearch)
register("noisy-binary-search", NoisyBinarySearch)
register("deterministic-bandit", DeterministicBandit)
register("gaussian-bandit", GaussianBandit)
register("shifted-gaussian-bandit", ShiftedGaussianBandit)
register("bernoulli-bandit", BernoulliBandit)
register("magic-action", MagicAction)
register("magic-chain", MagicChain)
register("two-pull-bandit", TwoPullBandit)
register("feedback-graph", FeedbackGraph)
register("magic-room", MagicRoom)
register("patches", Patches)
register_images("mnist", _mnist_source)
register_images("drawn-digits", _drawn_digits_source)
