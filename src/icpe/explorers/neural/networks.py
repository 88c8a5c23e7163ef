"""The two networks of a trained explorer, and what they say of a history.

The value of stopping is known, S(D) = max_h I(h | D), so there is no stop head. What a
query costs is known as well, so the query net predicts only the rest: the fraction
g(D, a) of the present error probability that asking will remove,

    Q(D, a) = S(D) - price * cost(a) + (1 - S(D)) * g(D, a).

Stopping then does not hang on two networks agreeing about S, and the values of
queries stay apart where all of them are small, at the high-accuracy end.
"""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.history import History
from icpe.core.memory import StepCount
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.nets.canvas import AbstractSummaryEncoder, CanvasEncoder
from icpe.nets.encoders import AbstractOutcomeEncoder, LinearEncoder, PatchEncoder
from icpe.nets.sequence import SequenceNet
from icpe.nets.tied import TiedHead
from icpe.nets.tokens import Token, summary_size
from icpe.nets.transformer import in_compute_dtype

CONDITION_SIZE = 4
_BELIEF_FEATURES = 2
_LEAST_LOG_BELIEF = -10.0
"""Less probable hypotheses look alike to the tied head."""


class Estimates(eqx.Module):
    """What the two networks say at one position, or along a sequence of them.

    `gain[a]` is Q(D, a) - S(D). Its gradient does not reach the inference net.
    """

    log_posterior: Float[Array, "*tokens hypotheses"]
    gain: Float[Array, "*tokens queries"]

    @property
    def stop_value(self) -> Float[Array, "*tokens"]:
        """S(D), the probability of being right when stopping now."""
        return jnp.exp(jnp.max(self.log_posterior, axis=-1))


class ExplorerNets(eqx.Module):
    """Inference net and query net of one explorer, held as one stacked pair.

    Index 0 of the leading axis is the inference net, whose conditioning is all
    zeros; index 1 is the query net.
    """

    pair: SequenceNet
    tied_heads: TiedHead | None
    spec: TaskSpec = eqx.field(static=True)
    config: NetConfig = eqx.field(static=True)
    prices: PriceRange = eqx.field(static=True)

    def __init__(
        self, spec: TaskSpec, config: NetConfig, prices: PriceRange, *, key: PRNGKey
    ):
        config.check_tied(spec)
        num_outputs = max(spec.num_queries, spec.num_hypotheses)
        num_features = summary_size(
            config.summary_kind(spec), spec.num_queries, spec.outcome_size
        )

        def build(key):
            encoder_key, net_key = jr.split(key)
            return SequenceNet(
                config.transformer,
                _outcome_encoder(spec, config, key=encoder_key),
                num_queries=spec.num_queries,
                num_tokens=spec.horizon + 1,
                summary_size=num_features,
                condition_size=CONDITION_SIZE,
                belief_size=spec.num_hypotheses if config.belief else 0,
                output_size=num_outputs + config.context_size,
                summary_encoder=_summary_encoder(
                    spec, config, key=jr.fold_in(encoder_key, 1)
                ),
                key=net_key,
            )

        self.pair = eqx.filter_vmap(build)(jr.split(key))
        self.tied_heads = None
        if config.tied_head:
            num_own = num_features // spec.num_queries + _BELIEF_FEATURES
            reach_over = spec.num_queries if config.entry_summary else 0
            self.tied_heads = eqx.filter_vmap(
                lambda key: TiedHead(
                    num_own, config.context_size, reach_over=reach_over, key=key
                )
            )(jr.split(jr.fold_in(key, 1)))
        self.spec = spec
        self.config = config
        self.prices = prices

    def along(
        self,
        history: History,
        price: Float[Array, "episodes"],
        max_queries: Int[Array, "episodes"],
    ) -> Estimates:
        """Estimates at every position of a batch of histories of raw outcomes.

        The pair of networks is the outer axis and the batch the inner one, which
        keeps each matrix product contiguous.
        """
        tokens = self.config.tokens(self.spec, history)
        positions = jnp.arange(history.outcomes.shape[1])
        condition = jax.vmap(
            jax.vmap(self.condition, in_axes=(None, None, 0)), in_axes=(0, 0, None)
        )(price, max_queries, positions)
        outputs = eqx.filter_vmap(
            lambda net, condition: jax.vmap(net)(tokens, condition),
            in_axes=(eqx.if_array(0), 0),
        )(self.pair, jnp.stack([jnp.zeros_like(condition), condition]))
        return self._estimates(outputs, price[:, None], tokens.summary)

    def step(
        self,
        token: Token,
        price: Scalar,
        max_queries: Index,
        caches: PyTree,
        position: StepCount,
    ) -> tuple[Estimates, PyTree]:
        """Estimates at one more position, and the caches that include it."""
        condition = self.condition(price, max_queries, position.value)
        outputs, caches = eqx.filter_vmap(
            lambda net, condition, cache: net.step(token, condition, cache, position),
            in_axes=(eqx.if_array(0), 0, 0),
        )(self.pair, jnp.stack([jnp.zeros_like(condition), condition]), caches)
        return self._estimates(outputs, price, token.summary), caches

    def for_play(self) -> "ExplorerNets":
        """The same networks, made ready to be used step by step in a loop."""
        return eqx.tree_at(
            lambda nets: nets.pair.transformer,
            self,
            replace_fn=in_compute_dtype,
        )

    def init_caches(self):
        """Empty caches of both networks."""
        return eqx.filter_vmap(lambda net: net.transformer.init_cache())(self.pair)

    def condition(
        self, price: Scalar, max_queries: Index, position: Index
    ) -> Float[Array, "condition"]:
        """What the query net is told: price flag, log-price, remaining budget."""
        remaining = (max_queries - position).astype(jnp.float32)
        horizon = self.spec.horizon
        return jnp.stack(
            [
                jnp.where(price > 0, 1.0, -1.0),
                self.prices.normalize(price),
                remaining / horizon,
                jnp.log1p(jnp.maximum(remaining, 0.0)) / math.log1p(horizon),
            ]
        )

    def _estimates(
        self,
        outputs: Float[Array, "2 *tokens output"],
        price: Float[Array, "*#tokens"],
        summary: Float[Array, "*tokens features"] | None,
    ) -> Estimates:
        logits = outputs[0, ..., : self.spec.num_hypotheses]
        removed = outputs[1, ..., : self.spec.num_queries]
        if self.tied_heads is not None:
            logits = logits + self._judge_alike(0, outputs, summary, None)
        log_posterior = jax.nn.log_softmax(logits, axis=-1)
        if self.pair.belief_head is not None:
            removed = removed + self._read_belief(log_posterior)
        if self.tied_heads is not None:
            removed = removed + self._judge_alike(1, outputs, summary, log_posterior)
        estimates = Estimates(log_posterior, gain=removed)
        error = lax.stop_gradient(1.0 - estimates.stop_value)[..., None]
        costs = _outer(price, self.spec.cost_array)
        scale = error
        if not self.spec.can_stop:
            # Where the answer is known, queries still differ in how soon it ends.
            scale = jnp.minimum(error + self.spec.horizon * costs, 1.0)
        gain = scale * removed - costs
        return dataclasses.replace(estimates, gain=gain)

    def _read_belief(
        self, log_posterior: Float[Array, "*tokens hypotheses"]
    ) -> Float[Array, "*tokens queries"]:
        """What the belief alone says for each query, added to what the query net says.

        Of very many queries only those about the hypotheses still alive are of use;
        this layer knows them from all histories at once.
        """
        assert self.pair.belief_head is not None
        weight = self.pair.belief_head[1, : self.spec.num_queries]
        belief = lax.stop_gradient(jnp.exp(log_posterior))
        return jnp.matmul(belief, weight.T, precision=lax.Precision.HIGHEST)

    def _judge_alike(
        self,
        index: int,
        outputs: Float[Array, "2 *tokens output"],
        summary: Float[Array, "*tokens features"] | None,
        log_posterior: Float[Array, "*tokens hypotheses"] | None,
    ) -> Float[Array, "*tokens queries"]:
        """What the tied head of one network says of each query.

        It sees the query's part of the summary and the belief about it, which the
        inference net is about to form and does not see.
        """
        num_queries = self.spec.num_queries
        kind = self.config.summary_kind(self.spec)
        assert kind is not None and summary is not None
        own = kind.by_query(summary, num_queries)
        if log_posterior is None:
            belief = jnp.zeros((*own.shape[:-1], _BELIEF_FEATURES))
        else:
            log_belief = lax.stop_gradient(log_posterior)
            surprise = jnp.maximum(log_belief, _LEAST_LOG_BELIEF) / _LEAST_LOG_BELIEF
            belief = jnp.stack([jnp.exp(log_belief), surprise], axis=-1)
        head = jax.tree.map(lambda leaf: leaf[index], self.tied_heads)
        judge = jnp.vectorize(head, signature="(c),(q,f)->(q)")
        context = outputs[index, ..., -self.config.context_size :]
        return judge(context, jnp.concatenate([own, belief], axis=-1))


def _outcome_encoder(
    spec: TaskSpec, config: NetConfig, *, key: PRNGKey
) -> AbstractOutcomeEncoder:
    """The encoder that suits the outcomes of a family."""
    encoder = PatchEncoder if spec.outcome_shape else LinearEncoder
    return encoder(spec.outcome_size, config.transformer.width, key=key)


def _summary_encoder(
    spec: TaskSpec, config: NetConfig, *, key: PRNGKey
) -> AbstractSummaryEncoder | None:
    """A reader of the picture seen so far, None where the summary is no picture."""
    if not (config.summary and spec.outcome_shape and spec.query_grid):
        return None
    rows, columns = spec.query_grid
    height, width = spec.outcome_shape
    return CanvasEncoder(
        (rows, columns),
        (height, width),
        config.transformer.width,
        bfloat16=config.transformer.bfloat16,
        key=key,
    )


def _outer(
    price: Float[Array, "*batch"], costs: Float[Array, "queries"]
) -> Float[Array, "*batch queries"]:
    return price[..., None] * costs.reshape((1,) * price.ndim + (-1,))
