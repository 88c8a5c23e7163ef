"""The universal learner: one model for every price and every budget."""

import dataclasses
import functools as ft
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int

from icpe.core.arrays import PRNGKey, PyTree, Scalar
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.learn.behavior import BehaviorExplorer, draw_points, ignore_stop_probability
from icpe.learn.config import TrainConfig
from icpe.learn.crew import Crew
from icpe.learn.replay import Experience, Replay
from icpe.learn.shape import net_config, price_range, tables_of, trust_of
from icpe.learn.spread_replay import SpreadReplay
from icpe.learn.steps import (
    adam,
    gradient_step,
    parameters,
    polyak,
    step_size,
)
from icpe.learn.survey import Survey
from icpe.learn.targets import (
    error_weights,
    gain_of_made,
    gain_targets,
    inference_loss,
    luck_of_answers,
    query_loss,
    without_luck,
)
from icpe.nets.evidence import AbstractPredictions
from icpe.nets.worth_head import WorthHead
from icpe.play.rollout import rollout

_HIGH_RANK_SHARE = 0.7
_LONGEST_RISE = 300
_MOST_JUDGED = 128


class LearnerState(eqx.Module):
    """All that training carries from one iteration to the next.

    The networks are without their tables, which stand beside them and never change.
    Training ends with iteration `finish`, which may be brought forward. The last values
    that a judge gave are kept, so that a training that goes on knows them; NaN is none.
    """

    nets: ExplorerNets
    averaged: ExplorerNets
    predictions: AbstractPredictions | None
    optimizer: PyTree
    replay: Replay | SpreadReplay
    iteration: Int[Array, ""]
    finish: Int[Array, ""]
    judged: Float[Array, "judgments"]
    key: PRNGKey


class Metrics(eqx.Module):
    """What one iteration reports.

    `accuracy` and `mean_queries` are those of the exploring behavior, not of the
    explorer that ships.
    """

    inference_loss: Float[Array, ""]
    query_loss: Float[Array, ""]
    grad_norm: Float[Array, ""]
    accuracy: Float[Array, ""]
    mean_queries: Float[Array, ""]


class UniversalLearner(eqx.Module):
    """Q-learning with a learned posterior, conditioned on price and budget."""

    family: AbstractTaskFamily
    config: TrainConfig = eqx.field(static=True)
    survey: Survey
    mesh: Mesh | None = eqx.field(static=True, default=None)
    worth: WorthHead | None = None
    """What asking on is worth to the rule that new networks start as."""

    metrics_type: ClassVar[type] = Metrics

    @property
    def crew(self) -> Crew:
        """The devices that share the episodes, each of which runs `step`."""
        return Crew.of(self.mesh)

    def init(self, *, key: PRNGKey, nets: ExplorerNets | None = None) -> LearnerState:
        """A fresh state, with new networks or with given ones to fine-tune."""
        net_key, key = jr.split(key)
        whole = self.new_networks(key=net_key) if nets is None else nets
        start = jnp.zeros((), jnp.int32)
        like = Experience.like(self.family.spec)
        nets = whole.trainable()
        return LearnerState(
            nets=nets,
            averaged=jax.tree.map(jnp.copy, nets),
            predictions=whole.predictions,
            optimizer=jax.vmap(self._optimizer.init)(parameters(nets)),
            replay=Replay.empty(like, self.config.replay_size),
            iteration=start,
            finish=jnp.asarray(self.config.num_iterations, jnp.int32),
            judged=jnp.full(_MOST_JUDGED, jnp.nan),
            key=key,
        )

    def new_networks(self, *, key: PRNGKey) -> ExplorerNets:
        """Networks that suit the family, before any training."""
        spec, survey = self.family.spec, self.survey
        config = net_config(self.config, spec, survey)
        tables = tables_of(self.config, survey)
        if tables is not None:
            tables = tables.with_caution(self.config.caution)
        prices = price_range(self.config, spec, survey)
        nets = ExplorerNets(spec, config, prices, predictions=tables, key=key)
        return nets if self.worth is None else nets.with_worth(self.worth)

    def step(self, state: LearnerState) -> tuple[LearnerState, Metrics]:
        """One iteration: play, remember, and learn from what is remembered."""
        key, play_key, learn_key = jr.split(state.key, 3)
        tables = state.predictions
        nets = state.nets.with_predictions(tables)
        experience, played = self.play(nets, state.iteration, play_key)
        replay = state.replay.add(experience)

        whole, cropped = jnp.split(
            jr.split(learn_key, self.config.updates_per_iteration),
            [self.config.updates_per_iteration - self.config.cropped_updates],
        )
        size = self._step_size(state)
        carry = (state.nets, state.averaged, state.optimizer)
        horizon = self.family.spec.horizon
        carry, losses = self._replay(replay, tables, size, carry, horizon, whole)
        if self.config.cropped_updates:
            crop = min(self.config.crop_steps, self.family.spec.horizon)
            carry, _ = self._replay(replay, tables, size, carry, crop, cropped)
        nets, averaged, optimizer = carry
        state = dataclasses.replace(
            state,
            nets=nets,
            averaged=averaged,
            optimizer=optimizer,
            replay=replay,
            iteration=state.iteration + 1,
            key=key,
        )
        return state, Metrics(**jax.tree.map(jnp.mean, losses), **played)

    def explorer(self, state: LearnerState) -> NeuralExplorer:
        """The explorer that ships: the Polyak-averaged networks."""
        return NeuralExplorer(state.averaged.with_predictions(state.predictions))

    def play(self, nets: ExplorerNets, iteration, key: PRNGKey):
        """Episodes of the exploring explorer, at random operating points."""
        config = self.config
        point_key, episode_key = jr.split(key)
        points = draw_points(
            config, self.family.spec, nets.prices, iteration, key=point_key
        )
        explorer = BehaviorExplorer(
            NeuralExplorer(nets.for_play(), is_rough=True),
            ignore_stop_probability(config, iteration),
            _HIGH_RANK_SHARE if nets.predictions is not None else 0.0,
        )
        keys = jr.split(episode_key, config.batch_size)
        keys, points = self.crew.part((keys, points))
        transcript = rollout(explorer, self.family, points, keys=keys, full_length=True)
        ending = transcript.ending
        played = self.crew.means(
            {"accuracy": ending.correct, "mean_queries": ending.num_queries}
        )
        return Experience.of(transcript, points, self.family.spec.num_queries), played

    def _replay(
        self, replay: Replay | SpreadReplay, tables, size, carry, num_steps: int, keys
    ):
        """Gradient steps on the first `num_steps` of remembered episodes."""

        def update(carry, key):
            nets, averaged, optimizer = carry
            batch = replay.sample(self.config.minibatch_size, num_steps, key=key)
            return self.learn(nets, averaged, tables, optimizer, batch, size)

        return lax.scan(update, carry, keys)

    def learn(
        self, nets, averaged, tables, optimizer, minibatch: Experience, size: Scalar
    ):
        """One gradient step of both networks, and of their average."""
        seen = nets.with_predictions(tables).see(minibatch.history)
        asked = (seen, minibatch.price, minibatch.max_queries)
        target = averaged.with_predictions(tables).along(*asked, is_rough=True)
        make_targets = ft.partial(
            gain_targets,
            spec=self.family.spec,
            trace_decay=self.config.trace_decay,
            advantage_learning=self.config.advantage_learning,
        )

        mean_cost = self.family.spec.mean_cost
        weights_of = jax.vmap(ft.partial(error_weights, mean_cost=mean_cost))
        loss_of = jax.vmap(ft.partial(query_loss, mean_cost=mean_cost))
        luck = None
        if self._knows_luck and seen.told is not None and target.unit is not None:
            luck = luck_of_answers(seen.told, target.unit, minibatch.queries)

        def loss(nets: ExplorerNets):
            online = nets.with_predictions(tables).along(*asked, is_rough=True)
            fixed = lax.stop_gradient(online)
            targets = without_luck(
                jax.vmap(make_targets)(fixed, target, minibatch, luck=luck),
                jax.vmap(gain_of_made)(fixed, minibatch),
                weights_of(fixed, target.stop_value, minibatch),
                self.crew,
            )
            inference = jax.vmap(inference_loss)(online.log_posterior, minibatch)
            query = loss_of(online, targets, target.stop_value, minibatch)
            weights = (jnp.sum(inference.weight), jnp.sum(query.weight))
            of_all = self.crew.total(weights)
            losses = {
                "inference_loss": _share(inference, of_all[0]),
                "query_loss": _share(query, of_all[1]),
            }
            return losses["inference_loss"] + losses["query_loss"], losses

        nets, optimizer, losses = gradient_step(
            self._optimizer, optimizer, nets, loss, size, self.crew
        )
        averaged = polyak(nets, averaged, self.config.target_rate)
        return (nets, averaged, optimizer), losses

    @property
    def _knows_luck(self) -> bool:
        """Whether the tables are good enough to tell luck from skill."""
        tables = tables_of(self.config, self.survey)
        if tables is None or trust_of(self.config, self.survey) < 1.0:
            return False
        return tables.information_is_exact

    @property
    def _optimizer(self) -> optax.GradientTransformation:
        """Of each network on its own."""
        return adam(self.config)

    def _step_size(self, state: LearnerState) -> Scalar:
        """With a short rise, and a fall towards the end."""
        each = self.config.updates_per_iteration
        rise = min(_LONGEST_RISE, max(1, self.config.num_updates // 10))
        return step_size(self.config, state.iteration * each, state.finish * each, rise)


def _share(losses, weight: Scalar) -> Float[Array, ""]:
    """What these episodes add to the mean over all, which have this weight."""
    return jnp.sum(losses.total) / jnp.maximum(weight, 1.0)
