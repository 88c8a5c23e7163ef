"""Rewarded by a frozen classifier: the paper's explorer of pictures, and Deep CMAB.

Both learn the value of uncovering a tile when the reward of a step is the rise of the
classifier's probability of the truth. These rises add up to the final probability, so
with discount 1 the best policy is the one for the final probability alone (Ng, Harada
and Russell 1999): the paper's objective. With discount 0 it is the marginal gain that
the contextual bandit predicts.
"""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jax import lax
from jaxtyping import Array, Bool

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.checks import check_at_least, check_between, check_positive
from icpe.core.progress import AbstractProgress
from icpe.core.request import OperatingPoint, Regime
from icpe.core.stopping import random_query
from icpe.families.patches.law import Patches
from icpe.learn.behavior import TrainingPoint
from icpe.learn.steps import polyak
from icpe.nets.tokens import Summary
from icpe.play.rollout import rollout
from icpe.studies.digits.choosers import (
    AbstractChooser,
    Believed,
    ThompsonChooser,
    best_allowed,
)
from icpe.studies.digits.classified import ClassifierExplorer, picture_layout
from icpe.studies.digits.confidence_loss import Memory, seen_along, value_loss
from icpe.studies.digits.loop import Trained, descend, optimizer, run_updates
from icpe.studies.digits.nets import MaskedPictureNet, PictureClassifier, seen_picture
from icpe.studies.digits.redirected import RedirectedExplorer


@dataclasses.dataclass(frozen=True)
class ConfidenceConfig:
    """How an explorer is trained on a frozen classifier's confidence.

    An update plays `batch_size` episodes, remembers them, and makes a gradient step on
    `minibatch_size` remembered ones.
    """

    num_updates: int = 20_000
    """Updates in all."""
    batch_size: int = 256
    """Episodes played before each gradient step."""
    minibatch_size: int = 512
    """Episodes in a gradient step."""
    replay_size: int = 32_768
    """Episodes remembered; a multiple of batch_size."""
    learning_rate: float = 5e-4
    """Peak step size of Adam."""
    discount: float = 1.0
    """1 for the final confidence, 0 for the marginal gain alone."""
    trace_decay: float = 0.8
    """Lambda of the Watkins returns."""
    thompson: bool = False
    """Choose by dropout, in training and in use, and not by epsilon-greedy."""
    exploration_high: float = 0.4
    """Largest share of random tiles in an episode."""
    exploration_low: float = 0.01
    """Smallest share of random tiles in an episode."""
    target_rate: float = 0.01
    """Polyak rate of the averaged network, which is used."""
    channels: int = 16
    """Channels of the first convolution."""
    width: int = 256
    """Width of the hidden layers."""
    bfloat16: bool = False
    """Convolve in bfloat16."""
    seed: int = 0
    """Seed of everything random."""

    def __post_init__(self):
        for name in (
            "num_updates",
            "batch_size",
            "minibatch_size",
            "channels",
            "width",
        ):
            check_at_least(name, getattr(self, name), 1)
        check_at_least("replay_size", self.replay_size, self.batch_size)
        check_positive("learning_rate", self.learning_rate)
        for name in ("discount", "trace_decay", "target_rate"):
            check_between(name, getattr(self, name), 0.0, 1.0)
        check_between("exploration_high", self.exploration_high, 0.0, 1.0)
        check_between("exploration_low", self.exploration_low, 1e-6, 1.0)


class _State(eqx.Module):
    net: MaskedPictureNet
    averaged: MaskedPictureNet
    optimizer: optax.OptState
    memory: Memory


class EpsilonChooser(AbstractChooser):
    """The tile of largest value, or a random one at the episode's exploration rate."""

    net: MaskedPictureNet

    def init(self, operating_point: OperatingPoint) -> Scalar:
        """Keeps the exploration rate."""
        assert isinstance(operating_point, TrainingPoint)
        return operating_point.exploration

    def choose(
        self,
        kept: Scalar,
        believed: Believed,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        """The greedy tile, disturbed."""
        explore_key, query_key = jr.split(key)
        greedy = best_allowed(self.net(believed.seen), query_mask)
        explore = jr.uniform(explore_key) < kept
        return jnp.where(explore, random_query(query_mask, key=query_key), greedy)


def new_value_net(
    family: Patches, config: ConfidenceConfig, *, key: PRNGKey
) -> MaskedPictureNet:
    """An untrained network that values every tile."""
    grid, tile = picture_layout(family.spec)
    return MaskedPictureNet(
        grid,
        tile,
        family.spec.num_queries,
        channels=config.channels,
        width=config.width,
        bfloat16=config.bfloat16,
        key=key,
    )


def fit_confidence(
    family: Patches,
    classifier: PictureClassifier,
    config: ConfidenceConfig,
    *,
    time_limit: float = math.inf,
    progress: AbstractProgress | None = None,
) -> Trained:
    """Trains the values of tiles for a frozen classifier, over whole episodes.

    Raises:
        TrainingDivergedError: the loss became NaN or infinite.
    """
    net_key, key = jr.split(jr.key(config.seed))
    net = new_value_net(family, config, key=net_key)
    adam = optimizer()
    num_slots = config.replay_size // config.batch_size

    def update(state: _State, step, fraction, *, key: PRNGKey):
        play_key, sample_key, drop_key = jr.split(key, 3)
        new = play(family, classifier, state.net, config, key=play_key)
        slot = (step % num_slots) * config.batch_size
        memory = jax.tree.map(
            lambda ring, new: lax.dynamic_update_slice_in_dim(ring, new, slot, 0),
            state.memory,
            new,
        )
        filled = jnp.minimum(step + 1, num_slots) * config.batch_size
        index = jr.randint(sample_key, (config.minibatch_size,), 0, filled)
        batch = jax.tree.map(lambda ring: ring[index], memory)
        drop_keys = jr.split(drop_key, config.minibatch_size)

        def loss_of(net: MaskedPictureNet) -> Scalar:
            return value_loss(
                net,
                state.averaged,
                batch,
                family.spec.num_queries,
                discount=config.discount,
                trace_decay=config.trace_decay,
                thompson=config.thompson,
                keys=drop_keys,
            )

        loss, gradient = eqx.filter_value_and_grad(loss_of)(state.net)
        direction, adam_state = adam.update(gradient, state.optimizer)
        net = descend(state.net, direction, config.learning_rate, step, fraction)
        averaged = polyak(net, state.averaged, config.target_rate)
        return _State(net, averaged, adam_state, memory), loss

    like = eqx.filter_eval_shape(
        lambda key: play(family, classifier, net, config, key=key), key
    )
    slots = num_slots * config.batch_size
    memory = jax.tree.map(
        lambda leaf: jnp.zeros((slots, *leaf.shape[1:]), leaf.dtype), like
    )
    optimizer_state = adam.init(eqx.filter(net, eqx.is_array))
    state, done, seconds, losses = run_updates(
        update,
        _State(net, jax.tree.map(jnp.copy, net), optimizer_state, memory),
        config.num_updates,
        key=key,
        label="tiles by confidence",
        time_limit=time_limit,
        progress=progress,
    )
    return Trained(state.averaged, done, seconds, losses)


def play(
    family: Patches,
    classifier: PictureClassifier,
    net: MaskedPictureNet,
    config: ConfidenceConfig,
    *,
    key: PRNGKey,
) -> Memory:
    """Episodes of the exploring network, each with its own exploration rate."""
    size, spec = config.batch_size, family.spec
    chooser = ThompsonChooser(net) if config.thompson else EpsilonChooser(net)
    explorer = RedirectedExplorer(ClassifierExplorer(classifier, spec), chooser)
    points = TrainingPoint(
        price=jnp.zeros(size),
        error_prob=jnp.zeros(size),
        max_queries=jnp.full(size, spec.horizon, jnp.int32),
        regime=Regime.BUDGET,
        exploration=jnp.geomspace(
            config.exploration_high, config.exploration_low, size
        ),
    )
    transcript = rollout(
        explorer, family, points, keys=jr.split(key, size), full_length=True
    )
    history = transcript.history
    grid, tile = picture_layout(spec)

    def confidence(seen: Summary, truth: Index) -> Scalar:
        logits = classifier(seen_picture(seen, grid, tile))
        return jax.nn.softmax(logits)[truth]

    seen = jax.vmap(seen_along, in_axes=(0, 0, None))(
        history.queries, history.outcomes, spec.num_queries
    )
    return Memory(
        history.queries,
        history.outcomes,
        jax.vmap(jax.vmap(confidence, in_axes=(0, None)))(
            seen, transcript.ending.hypothesis
        ),
    )
