"""Pixel sampling on MNIST: the paper's setting, ours, and what they compare with.

Every step reads what earlier ones left in a folder, so that they can be run one by
one: `train_classifier`, then `train_values` and `train_bandit`; `train_ours` on its
own. `icpe.studies.digits.scores` measures what they leave.
"""

import dataclasses
import json
import math
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.random as jr

from icpe.artifact import Artifact, provenance
from icpe.artifact.trees import read_tree, save_tree
from icpe.core.files import replacing
from icpe.core.progress import AbstractProgress
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.shipping import as_shipped
from icpe.families.patches.law import Patches
from icpe.learn.config import TrainConfig
from icpe.learn.fit import FitOptions, fit
from icpe.studies.digits.confidence import (
    ConfidenceConfig,
    fit_confidence,
    new_value_net,
)
from icpe.studies.digits.loop import Trained
from icpe.studies.digits.nets import MaskedPictureNet, PictureClassifier
from icpe.studies.digits.train_classifier import (
    ClassifierConfig,
    fit_classifier,
    new_classifier,
    whole_picture_accuracy,
)
from icpe.studies.models import OutOfTimeError


@dataclasses.dataclass(frozen=True)
class DigitsSetup:
    """What is trained and measured.

    Attributes:
        family: the images; its split is replaced by train and test.
        budget: queries of an episode in the paper's setting, repeats allowed.
        horizon: most queries of an episode in ours.
        classifier: training of the classifier of whole images.
        values: training of the paper's explorer.
        bandit: training of the contextual bandit.
        ours: training of the universal learner.
        episodes: test episodes of each method at each number of queries.
        references: known pictures of the entropy rule.
    """

    family: Patches
    budget: int
    horizon: int
    classifier: ClassifierConfig
    values: ConfidenceConfig
    bandit: ConfidenceConfig
    ours: TrainConfig
    episodes: int
    references: int

    def with_seed(self, seed: int) -> "DigitsSetup":
        """The same, all of it trained with this seed."""
        trained = {
            name: dataclasses.replace(getattr(self, name), seed=seed)
            for name in SECONDS
        }
        return dataclasses.replace(self, **trained)

    def with_repeats(self, split) -> Patches:
        """The paper's setting: a fixed number of queries, repeats allowed."""
        return dataclasses.replace(
            self.family, split=split, horizon=self.budget, repeats=True
        )

    def without_repeats(self, split) -> Patches:
        """Our setting: what is revealed is not asked for again."""
        return dataclasses.replace(
            self.family, split=split, horizon=self.horizon, repeats=False
        )


_OUR_HORIZON = 15
"""16 tokens: attention is computed in multiples of 8."""

FULL = DigitsSetup(
    family=Patches(),
    budget=12,
    horizon=_OUR_HORIZON,
    classifier=ClassifierConfig(bfloat16=True),
    values=ConfidenceConfig(num_updates=200_000, bfloat16=True),
    bandit=ConfidenceConfig(
        num_updates=60_000, discount=0.0, thompson=True, bfloat16=True
    ),
    ours=TrainConfig(
        num_iterations=2500,
        batch_size=1024,
        updates_per_iteration=4,
        warmup_iterations=200,
        learning_rate=8e-4,
        exploration_anneal=0.2,
        ignore_stop_anneal=0.3,
        min_price=0.002,
        max_price=0.1,
        bfloat16=True,
        log_every=25,
    ),
    episodes=4_000,
    references=2048,
)
"""MNIST in the paper's size, for one modern GPU."""

_TINY_VALUES = ConfidenceConfig(
    num_updates=8,
    batch_size=8,
    minibatch_size=8,
    replay_size=16,
    channels=2,
    width=8,
)
TINY = DigitsSetup(
    family=Patches(images="drawn-digits", patch_size=14),
    budget=3,
    horizon=3,
    classifier=ClassifierConfig(num_updates=8, batch_size=16, channels=2, width=8),
    values=_TINY_VALUES,
    bandit=dataclasses.replace(_TINY_VALUES, discount=0.0, thompson=True),
    ours=TrainConfig(
        num_iterations=4,
        batch_size=8,
        minibatch_size=8,
        updates_per_iteration=1,
        replay_size=16,
        warmup_iterations=1,
        min_price=0.002,
        max_price=0.1,
        width=8,
        num_layers=1,
        num_heads=1,
        log_every=1,
    ),
    episodes=16,
    references=8,
)
"""All parts in a minute on a CPU, to see that they work."""

SECONDS = {"classifier": 60.0, "values": 230.0, "bandit": 60.0, "ours": 300.0}
"""Longest time of each training; compilation of all but ours is not counted."""


def part_file(folder: Path, part: str) -> Path:
    """Where a trained part is kept."""
    return folder / f"{'digits' if part == 'ours' else part}.safetensors"


def train_classifier(
    setup: DigitsSetup,
    folder: Path,
    *,
    time_limit: float = math.inf,
    progress: AbstractProgress | None = None,
) -> dict[str, Any]:
    """Trains the classifier of whole images and measures it on the test images."""
    family = setup.with_repeats("train")
    trained = fit_classifier(
        family, setup.classifier, time_limit=time_limit, progress=progress
    )
    accuracy = {
        split: whole_picture_accuracy(
            trained.net, setup.with_repeats(split), 2 * setup.episodes, key=jr.key(1)
        )
        for split in ("train", "test")
    }
    facts = {**_facts(setup.classifier, trained), "accuracy": accuracy}
    return _keep(folder, "classifier", trained.net, facts)


def train_values(
    setup: DigitsSetup,
    folder: Path,
    *,
    time_limit: float = math.inf,
    progress: AbstractProgress | None = None,
) -> dict[str, Any]:
    """Trains the paper's explorer on the confidence of the frozen classifier."""
    return _train_confidence(setup, folder, "values", time_limit, progress)


def train_bandit(
    setup: DigitsSetup,
    folder: Path,
    *,
    time_limit: float = math.inf,
    progress: AbstractProgress | None = None,
) -> dict[str, Any]:
    """Trains Deep CMAB on the marginal gains of the same confidence."""
    return _train_confidence(setup, folder, "bandit", time_limit, progress)


def _train_confidence(setup, folder, name, time_limit, progress) -> dict[str, Any]:
    config = getattr(setup, name)
    trained = fit_confidence(
        setup.with_repeats("train"),
        load_classifier(setup, folder),
        config,
        time_limit=time_limit,
        progress=progress,
    )
    return _keep(folder, name, trained.net, _facts(config, trained))


def train_ours(
    setup: DigitsSetup,
    folder: Path,
    *,
    time_limit: float = math.inf,
    progress: AbstractProgress | None = None,
) -> dict[str, Any]:
    """Trains the universal learner, in the iterations of its preset.

    Raises:
        OutOfTimeError: the time was up before they were done.
    """
    start = time.monotonic()
    family, config = setup.without_repeats("train"), setup.ours
    options = FitOptions(time_limit=time_limit)
    result = fit(family, config, options, progress=progress)
    if result.stopped is not None:
        raise OutOfTimeError(
            f"Training ended ({result.stopped}) after {result.iterations} of "
            f"{config.num_iterations} iterations; it needs longer."
        )
    assert isinstance(result.nets, ExplorerNets)
    # It is measured, and described in its file, on images it has not seen.
    artifact = Artifact(
        nets=as_shipped(result.nets),
        family=setup.without_repeats("test"),
        training=dataclasses.asdict(config),
        provenance=provenance(
            iterations=result.iterations, seconds=round(result.seconds, 1)
        ),
    )
    artifact.save(part_file(folder, "ours"))
    facts = {
        "config": dataclasses.asdict(config),
        "iterations": result.iterations,
        "seconds": round(time.monotonic() - start, 1),
        **provenance(),
    }
    return record(folder, "ours", facts)


def load_classifier(setup: DigitsSetup, folder: Path) -> PictureClassifier:
    """The classifier that `train_classifier` left."""
    like = eqx.filter_eval_shape(
        lambda key: new_classifier(setup.family, setup.classifier, key=key), jr.key(0)
    )
    return read_tree(part_file(folder, "classifier"), like)


def load_values(setup: DigitsSetup, folder: Path, name: str) -> MaskedPictureNet:
    """The network that `train_values` or `train_bandit` left."""
    config = getattr(setup, name)
    like = eqx.filter_eval_shape(
        lambda key: new_value_net(setup.family, config, key=key), jr.key(0)
    )
    return read_tree(part_file(folder, name), like)


def _facts(config, trained: Trained) -> dict[str, Any]:
    return {
        "config": dataclasses.asdict(config),
        "updates": trained.updates,
        "seconds": round(trained.seconds, 1),
        "losses": [round(loss, 5) for loss in trained.losses],
        **provenance(),
    }


def _keep(folder: Path, name: str, net, facts: dict[str, Any]) -> dict[str, Any]:
    arrays = eqx.filter(net, eqx.is_array)
    save_tree(part_file(folder, name), arrays, {"facts": facts})
    return record(folder, name, facts)


def record(folder: Path, name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Adds what is known about one part to the results of the study, and returns it."""
    path = folder / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results[name] = facts
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(results) + "\n")
    return facts
