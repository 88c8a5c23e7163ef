"""A classifier of whole pictures, trained on the distorted images of a family."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

from icpe.core.arrays import PRNGKey
from icpe.core.checks import check_at_least, check_between, check_positive
from icpe.core.progress import AbstractProgress
from icpe.families.patches.law import Patches
from icpe.learn.steps import polyak
from icpe.studies.digits.loop import Trained, descend, optimizer, run_updates
from icpe.studies.digits.nets import PictureClassifier


@dataclasses.dataclass(frozen=True)
class ClassifierConfig:
    """How the classifier is trained."""

    num_updates: int = 20_000
    """Gradient steps."""
    batch_size: int = 512
    """Pictures in a gradient step; every one is distorted anew."""
    learning_rate: float = 1e-3
    """Peak step size of Adam."""
    dropout: float = 0.5
    """Dropout before the last layer, and half of it before the one below."""
    channels: int = 32
    """Channels of the first convolution."""
    width: int = 256
    """Width of the hidden layer."""
    average_rate: float = 0.002
    """Polyak rate of the averaged network, which is used."""
    bfloat16: bool = False
    """Convolve in bfloat16."""
    seed: int = 0
    """Seed of everything random."""

    def __post_init__(self):
        for name in ("num_updates", "batch_size", "channels", "width"):
            check_at_least(name, getattr(self, name), 1)
        check_positive("learning_rate", self.learning_rate)
        check_between("dropout", self.dropout, 0.0, 0.9)
        check_between("average_rate", self.average_rate, 0.0, 1.0)


class _State(eqx.Module):
    net: PictureClassifier
    averaged: PictureClassifier
    optimizer: optax.OptState


def new_classifier(
    family: Patches, config: ClassifierConfig, *, key: PRNGKey
) -> PictureClassifier:
    """An untrained classifier for the pictures of a family."""
    (rows, columns), size = family.grid, family.patch_size
    return PictureClassifier(
        (rows * size, columns * size),
        family.spec.num_hypotheses,
        channels=config.channels,
        width=config.width,
        bfloat16=config.bfloat16,
        key=key,
    )


def fit_classifier(
    family: Patches,
    config: ClassifierConfig,
    *,
    time_limit: float = math.inf,
    progress: AbstractProgress | None = None,
) -> Trained:
    """Trains on the family's split; only fully revealed pictures are shown.

    Raises:
        TrainingDivergedError: the loss became NaN or infinite.
    """
    net_key, key = jr.split(jr.key(config.seed))
    adam = optimizer()

    def update(state: _State, step, fraction, *, key: PRNGKey):
        task_key, drop_key = jr.split(key)
        tasks = jax.vmap(lambda key: family.sample_task(key=key))(
            jr.split(task_key, config.batch_size)
        )
        drop_keys = jr.split(drop_key, config.batch_size)

        def loss_fn(net: PictureClassifier):
            logits = jax.vmap(
                lambda image, key: net(image, dropout=config.dropout, key=key)
            )(tasks.image, drop_keys)
            return jnp.mean(
                optax.softmax_cross_entropy_with_integer_labels(logits, tasks.label)
            )

        loss, gradient = eqx.filter_value_and_grad(loss_fn)(state.net)
        direction, adam_state = adam.update(gradient, state.optimizer)
        net = descend(state.net, direction, config.learning_rate, step, fraction)
        rate = jnp.maximum(config.average_rate, 1.0 / (1.0 + step))
        averaged = polyak(net, state.averaged, rate)
        return _State(net, averaged, adam_state), loss

    net = new_classifier(family, config, key=net_key)
    state = _State(
        net, jax.tree.map(jnp.copy, net), adam.init(eqx.filter(net, eqx.is_array))
    )
    state, done, seconds, losses = run_updates(
        update,
        state,
        config.num_updates,
        key=key,
        label="classifier",
        time_limit=time_limit,
        progress=progress,
    )
    return Trained(state.averaged, done, seconds, losses)


def whole_picture_accuracy(
    classifier: PictureClassifier, family: Patches, episodes: int, *, key: PRNGKey
) -> float:
    """Accuracy on fully revealed pictures of the family: the limit of any explorer
    that answers by this classifier."""

    @eqx.filter_jit
    def number_correct(classifier, keys):
        tasks = jax.vmap(lambda key: family.sample_task(key=key))(keys)
        logits = jax.vmap(classifier)(tasks.image)
        return jnp.sum(jnp.argmax(logits, axis=1) == tasks.label)

    size = min(1000, episodes)
    chunks = -(-episodes // size)
    correct = [
        int(number_correct(classifier, jr.split(chunk_key, size)))
        for chunk_key in jr.split(key, chunks)
    ]
    return float(np.sum(correct) / (size * chunks))
