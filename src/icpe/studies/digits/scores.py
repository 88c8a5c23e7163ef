"""Scores of the study of digits: every method on the same test images."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.random as jr
import numpy as np

from icpe.artifact import Artifact, provenance
from icpe.core.arrays import PRNGKey
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint
from icpe.evaluate.calibrate import calibrate
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.families.patches.law import Patches
from icpe.studies.digits.choosers import (
    OrderChooser,
    RandomChooser,
    ThompsonChooser,
    ValueChooser,
)
from icpe.studies.digits.classified import ClassifierExplorer
from icpe.studies.digits.entropy import EntropyChooser
from icpe.studies.digits.nets import MaskedPictureNet
from icpe.studies.digits.order import best_fixed_order
from icpe.studies.digits.redirected import RedirectedExplorer
from icpe.studies.digits.study import (
    DigitsSetup,
    load_classifier,
    load_values,
    part_file,
    record,
)
from icpe.studies.statistics.regions import RegionScore, score_along, score_regions

MOST_REGIONS = 10.0
"""Regions that the paper's explorer may use on average where it is held to them."""

_CHUNK = 500
"""Episodes in one compiled chunk."""

_ENTROPY_EPISODES = 250
_ENTROPY_CHUNK = 50
"""The same where every step looks ahead."""


def evaluate_paper(setup: DigitsSetup, folder: Path, *, seed: int = 0) -> dict:
    """Measures all that answers by the frozen classifier, on the test images."""
    classifier = load_classifier(setup, folder)
    train, test = setup.with_repeats("train"), setup.with_repeats("test")
    believer = ClassifierExplorer(classifier, test.spec)
    values = load_values(setup, folder, "values")
    margin = smallest_margin(setup, believer, values, train, seed=seed)
    order = best_fixed_order(believer, train, setup.budget, key=jr.key(seed))
    choosers = {
        "paper": ValueChooser(values),
        "paper-frugal": ValueChooser(values, margin),
        "deep-cmab": ThompsonChooser(load_values(setup, folder, "bandit")),
        "fixed-order": OrderChooser(order),
        "uniform": RandomChooser(),
    }
    curves = {}
    for name, chooser in choosers.items():
        explorer = RedirectedExplorer(believer, chooser)
        curves[name] = _curve_along(setup, explorer, test, seed)
    facts = {"margin": margin, "order": order.tolist(), "curves": curves}
    return record(folder, "evaluate-paper", {**facts, **provenance()})


def smallest_margin(
    setup: DigitsSetup,
    believer: ClassifierExplorer,
    values: MaskedPictureNet,
    family: Patches,
    *,
    seed: int,
) -> float:
    """The smallest margin with which the paper's explorer uses few enough regions.

    Chosen on the training images.
    """
    point = OperatingPoint.at(setup.budget, budget=setup.budget)
    margin = 0.0
    for margin in (0.0, *np.geomspace(1e-4, 0.1, 25)):
        explorer = RedirectedExplorer(believer, ValueChooser(values, float(margin)))
        score = score_regions(
            explorer, family, point, episodes=setup.episodes, seed=seed + 1
        )
        if score.mean_regions <= MOST_REGIONS:
            return float(margin)
    return float(margin)


def evaluate_ours(setup: DigitsSetup, folder: Path, *, seed: int = 0) -> dict:
    """Measures ours and what shares its inference net, on the test images."""
    path = part_file(folder, "ours")
    train, test = setup.without_repeats("train"), setup.without_repeats("test")
    artifact = Artifact.load(path, test)
    ours = artifact.explorer
    assert isinstance(ours, NeuralExplorer)
    order = best_fixed_order(ours, train, setup.horizon, key=jr.key(seed))
    tiles, labels = known_pictures(train, setup.references, key=jr.key(seed + 1))
    choosers = {
        "ours-fixed-order": OrderChooser(order),
        "ours-uniform": RandomChooser(),
    }
    curves = {"ours": _curve(setup, ours, test, seed)}
    for name, chooser in choosers.items():
        explorer = RedirectedExplorer(ours, chooser)
        curves[name] = _curve_along(setup, explorer, test, seed)
    # It looks at hundreds of possible answers at every step.
    by_entropy = score_along(
        RedirectedExplorer(ours, EntropyChooser(tiles, labels)),
        test,
        min(setup.horizon, setup.budget),
        episodes=min(setup.episodes, _ENTROPY_EPISODES),
        seed=seed,
        chunk_size=min(setup.episodes, _ENTROPY_CHUNK),
    )
    curves["ours-greedy-entropy"] = _rows(by_entropy)
    low, high = ours.nets.prices.low, ours.nets.prices.high
    by_price = []
    for price in np.geomspace(low, high, 12):
        point = OperatingPoint.at(setup.horizon, price=float(price))
        score = score_regions(ours, test, point, episodes=setup.episodes, seed=seed)
        by_price.append({"price": float(price), **_numbers(score)})
    table = calibrate(artifact, episodes=min(setup.episodes, 1024), seed=seed)
    dataclasses.replace(artifact, table=table).save(path)
    facts = {"order": order.tolist(), "curves": curves, "by_price": by_price}
    return record(folder, "evaluate-ours", {**facts, **provenance()})


def known_pictures(family: Patches, number: int, *, key: PRNGKey):
    """Tiles and classes of some pictures of a family."""
    tasks = jax.jit(jax.vmap(lambda key: family.sample_task(key=key)))(
        jr.split(key, number)
    )
    return jax.vmap(family.cut)(tasks.image), tasks.label


def _curve(
    setup: DigitsSetup, explorer: AbstractExplorer, family: Patches, seed: int
) -> list[dict[str, Any]]:
    """Scores with budgets of 1, 2, ... queries, each an evaluation of its own."""
    scores = [
        score_regions(
            explorer,
            family,
            OperatingPoint.at(family.spec.horizon, budget=budget),
            episodes=setup.episodes,
            seed=seed,
            chunk_size=min(setup.episodes, _CHUNK),
        )
        for budget in range(1, family.spec.horizon + 1)
    ]
    return _rows(scores)


def _curve_along(
    setup: DigitsSetup, explorer: AbstractExplorer, family: Patches, seed: int
) -> list[dict[str, Any]]:
    """The same for explorers that do not know how many queries will follow."""
    scores = score_along(
        explorer,
        family,
        family.spec.horizon,
        episodes=setup.episodes,
        seed=seed,
        chunk_size=min(setup.episodes, _CHUNK),
    )
    return _rows(scores)


def _rows(scores: list[RegionScore]) -> list[dict[str, Any]]:
    """Numbers of each; selections of a few only, since they are many."""
    rows = []
    for budget, score in enumerate(scores, 1):
        rows.append({"budget": budget, **_numbers(score)})
        if budget in (10, 12, len(scores)):
            rows[-1]["selections"] = score.selections.to_dict()
    return rows


def _numbers(score: RegionScore) -> dict[str, Any]:
    values = score.to_dict()
    del values["selections"]
    return values
