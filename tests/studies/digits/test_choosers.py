"""Who chooses the next tile."""

import functools as ft

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.errors import OperatingPointError, UnsupportedError
from icpe.core.request import OperatingPoint
from icpe.families import Patches, TwoPullBandit
from icpe.nets.tokens import Summary
from icpe.studies.digits.choosers import (
    Believed,
    OrderChooser,
    RandomChooser,
    ThompsonChooser,
    ValueChooser,
)
from icpe.studies.digits.classified import ClassifierExplorer
from icpe.studies.digits.entropy import EntropyChooser
from icpe.studies.digits.nets import MaskedPictureNet, PictureClassifier
from icpe.studies.digits.redirected import RedirectedExplorer
from icpe.testing import check_explorer
from support.random_weights import random_weights

FAMILY = Patches(images="drawn-digits", patch_size=14)
REPEATING = Patches(images="drawn-digits", patch_size=14, horizon=6, repeats=True)
SPEC = FAMILY.spec
BUDGET = OperatingPoint.at(4, budget=3)
NONE = jnp.zeros(4, bool)


@pytest.fixture(scope="module")
def believer():
    build = ft.partial(PictureClassifier, (28, 28), 10, channels=2, width=8)
    return ClassifierExplorer(random_weights(lambda key: build(key=key)), SPEC)


@pytest.fixture(scope="module")
def values_net():
    """A network that values the four tiles at 0.1, 0.3, 0.2 and 0, whatever it sees."""
    build = ft.partial(MaskedPictureNet, (2, 2), (14, 14), 4, channels=2, width=8)
    net = random_weights(lambda key: build(key=key))
    values = jnp.array([0.1, 0.3, 0.2, 0.0])
    return eqx.tree_at(
        lambda n: (n.head.weight, n.head.bias),
        net,
        (jnp.zeros_like(net.head.weight), values),
    )


def believed(believer, *shown):
    counts = jnp.zeros(4).at[jnp.array(shown, int)].set(1.0)
    state = believer.init(SPEC, BUDGET, jnp.zeros(196))
    return Believed(Summary(counts, jnp.zeros((4, 196))), believer, state)


def choose(chooser, believed, mask=None, seed=0):
    mask = jnp.ones(4, bool) if mask is None else mask
    return int(_choose(chooser, believed, mask, jr.key(seed)))


@eqx.filter_jit
def _choose(chooser, believed, mask, key):
    return chooser.choose(None, believed, mask, key=key)


def test_an_order_passes_over_what_is_seen_or_forbidden(believer):
    chooser = OrderChooser(jnp.array([2, 0, 3, 1]))
    assert choose(chooser, believed(believer)) == 2
    assert choose(chooser, believed(believer, 2, 0)) == 3
    forbidden = jnp.array([True, True, True, False])
    assert choose(chooser, believed(believer, 2, 0), forbidden) == 1
    assert choose(chooser, believed(believer, 0, 1, 2, 3)) == 2


def test_values_choose_the_best_allowed_and_a_margin_prefers_what_is_seen(
    believer, values_net
):
    assert choose(ValueChooser(values_net), believed(believer, 0)) == 1
    allowed = jnp.array([True, False, True, True])
    assert choose(ValueChooser(values_net), believed(believer, 0), allowed) == 2
    assert choose(ValueChooser(values_net, 0.15), believed(believer, 0)) == 1
    assert choose(ValueChooser(values_net, 0.25), believed(believer, 0)) == 0
    assert choose(ValueChooser(values_net), believed(believer), NONE) == STOP


@pytest.mark.slow
def test_a_sample_with_nothing_to_drop_is_the_greedy_choice(believer, values_net):
    found = {
        choose(ThompsonChooser(values_net), believed(believer), seed=s) for s in (0, 1)
    }
    assert found == {1}


@pytest.mark.parametrize("kind", ["random", "order"])
def test_without_an_allowed_tile_all_stop(kind, believer):
    chooser = RandomChooser() if kind == "random" else OrderChooser(jnp.arange(4))
    assert choose(chooser, believed(believer), NONE) == STOP


def test_known_pictures_are_weighted_by_belief_and_by_what_is_seen(believer):
    tiles = jnp.zeros((3, 4, 196)).at[1, 0].set(0.1).at[2, 3].set(1.0)
    chooser = EntropyChooser(tiles, jnp.array([4, 4, 4]), bandwidth=2.0)
    weigh = eqx.filter_jit(lambda chooser, known: chooser.log_weights(known))
    weights = np.asarray(weigh(chooser, believed(believer, 0)))
    assert weights[0] == pytest.approx(weights[2])
    assert weights[0] - weights[1] == pytest.approx(196 * 0.01 / 2.0, rel=1e-4)
    labels = EntropyChooser(tiles, jnp.array([4, 5, 5]))
    nothing_seen = np.asarray(weigh(labels, believed(believer)))
    twice = np.asarray(weigh(chooser, believed(believer)))
    # One picture of class 4 in place of three weighs three times as much.
    assert nothing_seen[0] - twice[0] == pytest.approx(np.log(3), abs=1e-4)


def test_choosers_serve_budgets_alone(believer):
    explorer = RedirectedExplorer(believer, RandomChooser())
    with pytest.raises(OperatingPointError, match="budget"):
        explorer.init(SPEC, OperatingPoint.at(4, price=0.1), jnp.zeros(196))


def test_a_classifier_needs_pictures(believer):
    with pytest.raises(UnsupportedError, match="tiles of a picture"):
        ClassifierExplorer(believer.classifier, TwoPullBandit().spec)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classifier", "random", "thompson", "entropy"])
def test_explorers_of_pictures_conform(kind, believer, values_net):
    chooser = {
        "random": RandomChooser(),
        "thompson": ThompsonChooser(values_net),
        "entropy": EntropyChooser(jnp.ones((4, 4, 196)) / 2, jnp.arange(4), 2),
    }.get(kind)
    explorer = believer if chooser is None else RedirectedExplorer(believer, chooser)
    check_explorer(explorer, REPEATING)
