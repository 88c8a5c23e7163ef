"""The paper's learner: DQN on prefixes, a learned stop action, a dual variable."""

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
from icpe.explorers.neural.paper import Outputs, PaperExplorer, PaperNets
from icpe.learn.paper.behavior import EpsilonGreedy, training_points
from icpe.learn.paper.config import PaperConfig
from icpe.learn.paper.losses import (
    final_reward,
    inference_loss,
    query_loss,
    query_target,
    stop_loss,
)
from icpe.learn.paper.transitions import Transition, sample_transitions
from icpe.learn.replay import Experience, Replay
from icpe.learn.steps import adam, gradient_step, parameters, shard, step_size
from icpe.nets.dropout import Dropout
from icpe.play.rollout import rollout


class PaperLearnerState(eqx.Module):
    """All that training carries from one iteration to the next.

    `cost` is the dual variable c = 1 / lambda, the price of a query; it is 0 with a
    fixed budget.
    """

    nets: PaperNets
    targets: PaperNets
    optimizer: PyTree
    replay: Replay
    cost: Scalar
    iteration: Int[Array, ""]
    updates: Int[Array, ""]
    key: PRNGKey


class PaperMetrics(eqx.Module):
    """What one iteration reports.

    `accuracy` and `mean_queries` are those of the episodes that do not explore, the
    paper's p-hat and stopping time; `cost` is the dual variable.
    """

    inference_loss: Float[Array, ""]
    query_loss: Float[Array, ""]
    stop_loss: Float[Array, ""]
    grad_norm: Float[Array, ""]
    accuracy: Float[Array, ""]
    mean_queries: Float[Array, ""]
    cost: Float[Array, ""]


class PaperLearner(eqx.Module):
    """In-Context Pure Exploration (Russo, Welch & Pacchiano), one model per request."""

    family: AbstractTaskFamily
    config: PaperConfig = eqx.field(static=True)
    mesh: Mesh | None = eqx.field(static=True, default=None)

    metrics_type: ClassVar[type] = PaperMetrics

    def init(self, *, key: PRNGKey, nets: PaperNets | None = None) -> PaperLearnerState:
        """An empty buffer, networks, and their copies as targets."""
        net_key, key = jr.split(key)
        config = self.config
        if nets is None:
            nets = PaperNets(
                self.family.spec, config.net_config, config.objective, key=net_key
            )
        start = jnp.zeros((), jnp.int32)
        like = Experience.like(self.family.spec)
        return PaperLearnerState(
            nets=nets,
            targets=jax.tree.map(jnp.copy, nets),
            optimizer=jax.vmap(self._optimizer.init)(parameters(nets)),
            replay=Replay.empty(like, config.replay_size),
            cost=jnp.asarray(0.0 if config.budget else config.initial_cost),
            iteration=start,
            updates=start,
            key=key,
        )

    def step(self, state: PaperLearnerState) -> tuple[PaperLearnerState, PaperMetrics]:
        """One round of the paper's algorithm, for a batch of environments."""
        key, play_key, learn_key = jr.split(state.key, 3)
        # Sample environments and play them; add the partial trajectories to B.
        episodes, played = self.play(state.nets, state.iteration, play_key)
        replay = state.replay.add(episodes)
        # In the fixed confidence, update the dual variable.
        cost = self.update_cost(state.cost, played["accuracy"], state.iteration)

        def update(carry, key):
            # Sample a batch from B and update the parameters of I and Q.
            size, (batch_key, key) = self.config.minibatch_size, jr.split(key)
            batch = shard(
                sample_transitions(replay, self.family.spec, size, key=batch_key),
                self.mesh,
            )
            nets, targets, optimizer, updates = carry
            (nets, optimizer), losses = self.learn(
                nets, targets, optimizer, cost, batch, key, self._step_size(updates)
            )
            # Every so many steps copy them to the target networks.
            targets = self.refresh(targets, nets, updates + 1)
            return (nets, targets, optimizer, updates + 1), losses

        carry = (state.nets, state.targets, state.optimizer, state.updates)
        keys = jr.split(learn_key, self.config.updates_per_iteration)
        (nets, targets, optimizer, updates), losses = lax.scan(update, carry, keys)
        metrics = PaperMetrics(**jax.tree.map(jnp.mean, losses), **played, cost=cost)
        state = PaperLearnerState(
            nets, targets, optimizer, replay, cost, state.iteration + 1, updates, key
        )
        return state, metrics

    def explorer(self, state: PaperLearnerState) -> PaperExplorer:
        """The explorer that ships: greedy in the networks as they are."""
        return PaperExplorer(state.nets)

    def play(self, nets: PaperNets, iteration: Int[Array, ""], key: PRNGKey):
        """Episodes of the exploring explorer; what is reported does not explore."""
        points = training_points(self.config, self.family.spec, iteration)
        explorer = EpsilonGreedy(PaperExplorer(nets.for_play()))
        keys, points = shard((jr.split(key, self.config.batch_size), points), self.mesh)
        transcript = rollout(explorer, self.family, points, keys=keys)
        greedy = slice(self.config.num_greedy)
        played = {
            "accuracy": jnp.mean(transcript.ending.correct[greedy]),
            "mean_queries": jnp.mean(transcript.ending.num_queries[greedy]),
        }
        return Experience.of(transcript, points, self.family.spec.num_queries), played

    def update_cost(
        self, cost: Scalar, accuracy: Scalar, iteration: Int[Array, ""]
    ) -> Scalar:
        """One step of the dual variable, c <- max(c_min, c + rate (p - 1 + delta)).

        The paper's update of lambda = 1 / c: more accurate than asked makes queries
        dearer. The rate does not fall with the step size of the networks, whose
        accuracy rises when their steps become small: the price must follow.
        """
        config = self.config
        if config.budget:
            return cost
        surplus = accuracy - 1.0 + config.error_prob
        moved = jnp.maximum(config.min_cost, cost + config.dual_rate * surplus)
        started = iteration >= config.dual_start * config.num_iterations
        return jnp.where(started, moved, cost)

    def learn(
        self,
        nets: PaperNets,
        targets: PaperNets,
        optimizer: PyTree,
        cost: Scalar,
        batch: Transition,
        key: PRNGKey,
        size: Scalar,
    ):
        """One gradient step of both networks on a batch of transitions."""
        target = targets.at_ends(batch.after, batch.after)
        query_targets = self._query_targets(target, cost, batch)
        reward = ft.partial(final_reward, self.config.reward)
        stop_rewards = None
        if nets.learns_to_stop:
            posterior = targets.posterior_at_ends(batch.before)
            stop_rewards = jax.vmap(reward)(posterior, batch.hypothesis)

        def loss(nets: PaperNets):
            online = nets.at_ends(
                batch.after, batch.before, Dropout(self.config.dropout), key=key
            )
            inference = jax.vmap(inference_loss)(online.log_posterior, batch.hypothesis)
            query = jax.vmap(query_loss)(
                online.values, batch.action, batch.stopped, query_targets
            )
            stop = jnp.zeros_like(query)
            if stop_rewards is not None:
                stop = jax.vmap(stop_loss)(online.values, stop_rewards)
            losses = {
                "inference_loss": jnp.mean(inference),
                "query_loss": jnp.mean(query),
                "stop_loss": jnp.mean(stop),
            }
            return sum(losses.values()), losses

        nets, optimizer, losses = gradient_step(
            self._optimizer, optimizer, nets, loss, size
        )
        return (nets, optimizer), losses

    def refresh(self, targets: PyTree, nets: PyTree, updates: Int[Array, ""]) -> PyTree:
        """The target networks, each copied anew when its period is over.

        The leading axis of every array is the pair of networks, I and Q.
        """
        periods = (self.config.inference_period, self.config.query_period)
        due = jnp.stack([updates % period == 0 for period in periods])

        def copy(old, new):
            return jnp.where(due.reshape((2,) + (1,) * (new.ndim - 1)), new, old)

        return jax.tree.map(copy, targets, nets)

    def _query_targets(
        self, target: Outputs, cost: Scalar, batch: Transition
    ) -> Float[Array, "batch"]:
        """y(z) of every transition, from the target networks at D_{n+1}."""
        config, spec = self.config, self.family.spec
        if config.reward == "environment":
            step_rewards = batch.last_outcome[:, 0]
        else:
            step_rewards = -cost * spec.cost_array[jnp.maximum(batch.action, 0)]
        end_rewards = jax.vmap(ft.partial(final_reward, config.reward))(
            target.log_posterior, batch.hypothesis
        )
        make = ft.partial(
            query_target,
            discount=config.discount,
            learns_to_stop=not config.budget and spec.can_stop,
        )
        return jax.vmap(make)(
            step_rewards, end_rewards, target.values, batch.query_mask, batch.terminal
        )

    @property
    def _optimizer(self) -> optax.GradientTransformation:
        """Of each network on its own."""
        return adam(self.config)

    def _step_size(self, updates: Int[Array, ""]) -> Scalar:
        total = jnp.asarray(self.config.num_updates, jnp.int32)
        return step_size(self.config, updates, total)
