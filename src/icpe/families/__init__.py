"""Task families: what the world can be."""

from icpe.core.family import AbstractTaskFamily as AbstractTaskFamily
from icpe.core.family import StepResult as StepResult
from icpe.core.family import TaskSpec as TaskSpec
from icpe.core.family import parameter as parameter
from icpe.core.family import plain_reset as plain_reset
from icpe.core.family import plain_step as plain_step
from icpe.core.fingerprint import fingerprint as fingerprint
from icpe.families.bandits import DeterministicBandit as DeterministicBandit
from icpe.families.bandits import GaussianBandit as GaussianBandit
from icpe.families.bernoulli_bandit import BernoulliBandit as BernoulliBandit
from icpe.families.feedback_graph.law import FeedbackGraph as FeedbackGraph
from icpe.families.magic_action.law import MagicAction as MagicAction
from icpe.families.magic_chain.law import MagicChain as MagicChain
from icpe.families.magic_room import MagicRoom as MagicRoom
from icpe.families.patches.drawn_digits import (
    drawn_digits_source as _drawn_digits_source,
)
from icpe.families.patches.images import register_images as register_images
from icpe.families.patches.law import Patches as Patches
from icpe.families.patches.mnist import mnist_source as _mnist_source
from icpe.families.registry import make as make
from icpe.families.registry import register as register
from icpe.families.search import BinarySearch as BinarySearch
from icpe.families.search import NoisyBinarySearch as NoisyBinarySearch
from icpe.families.shifted_gaussian_bandit import (
    ShiftedGaussianBandit as ShiftedGaussianBandit,
)
from icpe.families.two_pull_bandit import TwoPullBandit as TwoPullBandit

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
