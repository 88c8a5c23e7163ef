"""Task families: what the world can be. One file or folder each."""

from icpe.core.family import AbstractTaskFamily as AbstractTaskFamily
from icpe.core.family import StepResult as StepResult
from icpe.core.family import data as data
from icpe.core.family import parameter as parameter
from icpe.core.family import plain_reset as plain_reset
from icpe.core.family import plain_step as plain_step
from icpe.core.fingerprint import fingerprint as fingerprint
from icpe.core.spec import TaskSpec as TaskSpec
from icpe.families.adaptive_test import AdaptiveTest as AdaptiveTest
from icpe.families.bandit.family import AbstractBandit as AbstractBandit
from icpe.families.battleship import Battleship as Battleship
from icpe.families.bernoulli_bandit import BernoulliBandit as BernoulliBandit
from icpe.families.best_of_k import BestOfK as BestOfK
from icpe.families.binary_search import BinarySearch as BinarySearch
from icpe.families.deterministic_bandit import (
    DeterministicBandit as DeterministicBandit,
)
from icpe.families.feedback_graph import FeedbackGraph as FeedbackGraph
from icpe.families.finite import AbstractFiniteFamily as AbstractFiniteFamily
from icpe.families.gaussian_bandit import GaussianBandit as GaussianBandit
from icpe.families.group_testing import GroupTesting as GroupTesting
from icpe.families.item_bank import ItemBank as ItemBank
from icpe.families.item_bank import from_item_bank as from_item_bank
from icpe.families.likelihoods import Likelihoods as Likelihoods
from icpe.families.likelihoods import from_likelihoods as from_likelihoods
from icpe.families.magic_action import MagicAction as MagicAction
from icpe.families.magic_chain import MagicChain as MagicChain
from icpe.families.magic_room import MagicRoom as MagicRoom
from icpe.families.network import Network as Network
from icpe.families.network import from_network as from_network
from icpe.families.noisy_binary_search import NoisyBinarySearch as NoisyBinarySearch
from icpe.families.patches.drawn_digits import (
    drawn_digits_source as _drawn_digits_source,
)
from icpe.families.patches.images import register_images as register_images
from icpe.families.patches.law import Patches as Patches
from icpe.families.patches.mnist import mnist_source as _mnist_source
from icpe.families.random_tests import RandomTests as RandomTests
from icpe.families.registry import make as make
from icpe.families.registry import register as register
from icpe.families.shifted_gaussian_bandit import (
    ShiftedGaussianBandit as ShiftedGaussianBandit,
)
from icpe.families.source_on_a_line import SourceOnALine as SourceOnALine
from icpe.families.table import CaseTable as CaseTable
from icpe.families.two_pull_bandit import TwoPullBandit as TwoPullBandit

register("binary-search", BinarySearch)
register("noisy-binary-search", NoisyBinarySearch)
register("deterministic-bandit", DeterministicBandit)
register("gaussian-bandit", GaussianBandit)
register("shifted-gaussian-bandit", ShiftedGaussianBandit)
register("bernoulli-bandit", BernoulliBandit)
register("best-of-k", BestOfK)
register("magic-action", MagicAction)
register("magic-chain", MagicChain)
register("two-pull-bandit", TwoPullBandit)
register("feedback-graph", FeedbackGraph)
register("magic-room", MagicRoom)
register("patches", Patches)
register("random-tests", RandomTests)
register("adaptive-test", AdaptiveTest)
register("group-testing", GroupTesting)
register("source-on-a-line", SourceOnALine)
register("battleship", Battleship)
register("likelihoods", Likelihoods)
register("network", Network)
register("item-bank", ItemBank)
register("table", CaseTable)
register_images("mnist", _mnist_source)
register_images("drawn-digits", _drawn_digits_source)
