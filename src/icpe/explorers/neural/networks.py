"""The two networks of a trained explorer, and what they say of a history.

The value of stopping is known, S(D) = max_h I(h | D), so there is no stop head. What a
query costs is known as well, so the query net predicts only the rest: the fraction
g(D, a) of the present error probability that asking will remove,

    Q(D, a) = S(D) - price * cost(a) + (1 - S(D)) * g(D, a).

Stopping then does not hang on two networks agreeing about S, and the values of queries
stay apart where all of them are small, at the high-accuracy end.

Where tables of predictions tell about how much each query wastes, compared with the
best (`nets/predictions.py`), the query net predicts two things apart: the share g(D) of
the error that asking on will remove, and for each query a correction w(D, a) of what it
wastes, in units of cost,

    Q(D, a) = S(D) + (1 - S(D)) * g(D) - unit * (charge(D, a) + w(D, a)).

The unit is the price, or a share of the budget. Queries then differ by what they waste,
which hardly depends on the price, so that what is learned at one price holds at others.
"""

import functools as ft
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.history import History
from icpe.core.memory import StepCount
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.encoding import outcome_encoder, summary_encoder
from icpe.explorers.neural.inputs import Asked, Predicted, Seen
from icpe.nets.evidence import NUM_FEATURES, AbstractPredictions, QueryView, Told
from icpe.nets.predictions import Predictions
from icpe.nets.sequence import SequenceNet
from icpe.nets.tied import TiedHead
from icpe.nets.tokens import Token, deviations, summary_size
from icpe.nets.transformer import in_compute_dtype
from icpe.nets.worth_head import WorthHead, what_is_asked, what_is_known

CONDITION_SIZE = 4
_LEAST_EVIDENCE = -30.0
_LEAST_LOG_BELIEF = -10.0
"""Less probable hypotheses look alike to the tied head."""


class Estimates(eqx.Module):
    """What the two networks say at one position, or along a sequence of them.

    `gain[a]` is Q(D, a) - S(D). Its gradient does not reach the inference net. Where
    queries are told apart by what they waste, `unit` is what one unit of cost is worth,
    and `preference` the gain less some doubt about queries that the tables do not
    prefer: small differences between values are noise.
    """

    log_posterior: Float[Array, "*tokens hypotheses"]
    gain: Float[Array, "*tokens queries"]
    unit: Float[Array, "*tokens"] | None = None
    preference: Float[Array, "*tokens queries"] | None = None

    @property
    def ranking(self) -> Float[Array, "*tokens queries"]:
        """By which queries are chosen: the gain, unless there is a preference."""
        return self.gain if self.preference is None else self.preference

    @property
    def stop_value(self) -> Float[Array, "*tokens"]:
        """S(D), the probability of being right when stopping now."""
        return jnp.exp(jnp.max(self.log_posterior, axis=-1))


class ExplorerNets(eqx.Module):
    """Inference net and query net of one explorer, held as one stacked pair.

    Index 0 of the leading axis is the inference net, whose conditioning is all
    zeros; index 1 is the query net. In play the inference net is left out where
    nothing of what it says counts.
    """

    pair: SequenceNet
    tied_heads: TiedHead | None
    worth_heads: WorthHead | None
    predictions: AbstractPredictions | None
    spec: TaskSpec = eqx.field(static=True)
    config: NetConfig = eqx.field(static=True)
    prices: PriceRange = eqx.field(static=True)

    def __init__(
        self,
        spec: TaskSpec,
        config: NetConfig,
        prices: PriceRange,
        *,
        predictions: AbstractPredictions | None = None,
        key: PRNGKey,
    ):
        """Networks with fresh weights; tables that are not given say nothing."""
        config.check_tied(spec)
        num_outputs = max(spec.num_queries, spec.num_hypotheses)
        num_features = summary_size(
            config.summary_kind(spec), spec.num_queries, spec.outcome_size
        )

        def build(key):
            encoder_key, net_key = jr.split(key)
            return SequenceNet(
                config.transformer,
                outcome_encoder(spec, config, key=encoder_key),
                num_queries=spec.num_queries,
                num_tokens=spec.horizon + 1,
                summary_size=num_features,
                condition_size=CONDITION_SIZE,
                belief_size=spec.num_hypotheses if config.belief else 0,
                output_size=num_outputs + config.num_gates + config.context_size,
                head_gain=0.1 if config.predictions is None else 0.0,
                summary_encoder=summary_encoder(
                    spec, config, key=jr.fold_in(encoder_key, 1)
                ),
                key=net_key,
            )

        self.pair = eqx.filter_vmap(build)(jr.split(key))
        self.tied_heads = None
        if config.context_size:
            reach_over = spec.num_queries if config.entry_summary else 0
            self.tied_heads = eqx.filter_vmap(
                lambda key: TiedHead(
                    config.num_judged(spec),
                    config.context_size,
                    reach_over=reach_over,
                    compares=config.compares,
                    gain=0.1 if config.predictions is None else 0.0,
                    key=key,
                )
            )(jr.split(jr.fold_in(key, 1)))
        self.worth_heads = None
        if config.reads_worth:
            self.worth_heads = eqx.filter_vmap(
                lambda key: WorthHead(spec.num_hypotheses, key=key)
            )(jr.split(jr.fold_in(key, 2)))
        self.predictions = predictions
        if predictions is None and config.predictions is not None:
            self.predictions = Predictions.empty(spec, config.predictions)
        self.spec = spec
        self.config = config
        self.prices = prices

    @staticmethod
    def shell(
        spec: TaskSpec,
        config: NetConfig,
        prices: PriceRange,
        predictions: AbstractPredictions | None = None,
    ) -> "ExplorerNets":
        """Networks of these shapes, without weights."""

        def build(key, predictions):
            return ExplorerNets(spec, config, prices, predictions=predictions, key=key)

        return eqx.filter_eval_shape(build, jr.key(0), predictions)

    def along(
        self,
        seen: Seen,
        price: Float[Array, "episodes"],
        max_queries: Int[Array, "episodes"],
        *,
        is_rough: bool = False,
    ) -> Estimates:
        """Estimates at every position of a batch of histories.

        In training they may be rough: networks that compute in bfloat16 round more.

        The pair of networks is the outer axis and the batch the inner one, which
        keeps each matrix product contiguous.
        """
        tokens = seen.tokens
        positions = jnp.arange(tokens.query.shape[1])
        condition = jax.vmap(
            jax.vmap(self.condition, in_axes=(None, None, 0)), in_axes=(0, 0, None)
        )(price, max_queries, positions)
        outputs = eqx.filter_vmap(
            lambda net, condition: jax.vmap(ft.partial(net, is_rough=is_rough))(
                tokens, condition
            ),
            in_axes=(eqx.if_array(0), 0),
        )(self.pair, jnp.stack([jnp.zeros_like(condition), condition]))
        asked = Asked(price[:, None], max_queries[:, None] - positions[None])
        dtype = self.config.transformer.compute_dtype if is_rough else jnp.float32
        return self._estimates(outputs, asked, tokens.summary, seen.told, dtype)

    def see(self, history: History) -> Seen:
        """What does not depend on the weights, of a batch of raw histories."""
        tokens = self.config.tokens(self.spec, history)
        if self.predictions is None:
            return Seen(tokens, None)
        predicted = Predicted(
            jax.vmap(self.predictions.along)(history.queries, history.outcomes),
            jnp.cumsum(tokens.query, axis=1),
        )
        return Seen(tokens, predicted.told(self.predictions))

    def step(
        self,
        token: Token,
        price: Scalar,
        max_queries: Index,
        caches: PyTree,
        position: StepCount,
        predicted: Predicted | None = None,
        *,
        is_rough: bool = False,
    ) -> tuple[Estimates, PyTree]:
        """Estimates at one more position, and the caches that include it.

        `predicted` is what the tables say at that position, if there are any. Where
        they may be rough, heads for queries round as they do along a history.
        """
        condition = self.condition(price, max_queries, position.value)
        both = jnp.stack([jnp.zeros_like(condition), condition])
        outputs, caches = eqx.filter_vmap(
            lambda net, condition, cache: net.step(token, condition, cache, position),
            in_axes=(eqx.if_array(0), 0, 0),
        )(self.pair, both if self._infers else both[1:], caches)
        if not self._infers:
            outputs = jnp.concatenate([jnp.zeros_like(outputs), outputs])
        asked = Asked(price, max_queries - position.value)
        told = None
        if predicted is not None:
            assert self.predictions is not None
            told = predicted.told(self.predictions)
        dtype = self.config.transformer.compute_dtype if is_rough else jnp.float32
        return self._estimates(outputs, asked, token.summary, told, dtype), caches

    def trainable(self) -> "ExplorerNets":
        """Without the tables, which are counted and not trained."""
        return _with(self, None)

    def with_predictions(
        self, predictions: AbstractPredictions | None
    ) -> "ExplorerNets":
        """With tables put back."""
        return _with(self, predictions)

    def with_worth(self, worth: WorthHead) -> "ExplorerNets":
        """With this head of the query net, which tells what asking on is worth."""
        assert self.worth_heads is not None
        heads = jax.tree.map(
            lambda both, one: jnp.stack([both[0], one]), self.worth_heads, worth
        )
        return eqx.tree_at(lambda nets: nets.worth_heads, self, heads)

    def with_query_share(self, share: float) -> "ExplorerNets":
        """With so much of what the query net adds to the tables.

        Without any, the query that the tables prefer is made, until asking on is not
        worth its price.
        """
        end = self._num_outputs + self.config.num_gates

        def scaled(leaf):
            return leaf.at[1, :end].multiply(share)

        nets = eqx.tree_at(
            lambda nets: (nets.pair.head.weight, nets.pair.head.bias),
            self,
            replace_fn=scaled,
        )
        if nets.pair.belief_head is not None:
            nets = eqx.tree_at(
                lambda nets: nets.pair.belief_head, nets, replace_fn=scaled
            )
        if nets.tied_heads is None:
            return nets
        return eqx.tree_at(
            lambda nets: (nets.tied_heads.out.weight, nets.tied_heads.out.bias),
            nets,
            replace_fn=lambda leaf: leaf.at[1].multiply(share),
        )

    def for_play(self) -> "ExplorerNets":
        """The same networks, made ready to be used step by step in a loop.

        Without the inference net where the tables' posterior is not corrected.
        """
        nets = eqx.tree_at(
            lambda nets: nets.pair.transformer,
            self,
            replace_fn=in_compute_dtype,
        )
        if self.predictions is None or not _is_zero(self.predictions.correction):
            return nets
        alone = jax.tree.map(
            lambda leaf: leaf[-1:] if eqx.is_array(leaf) else leaf, nets.pair
        )
        return eqx.tree_at(lambda nets: nets.pair, nets, alone)

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
        asked: Asked,
        summary: Float[Array, "*tokens features"] | None,
        told: Told | None,
        dtype,
    ) -> Estimates:
        logits = outputs[0, ..., : self.spec.num_hypotheses]
        judged = outputs[1, ..., : self.spec.num_queries]
        if self.config.tied_head and self._infers:
            logits = logits + self._judge(0, outputs, summary, None, None, dtype)
        view = None
        if told is not None:
            logits = self._corrected(told.log_posterior, outputs, logits)
            view = told.view
        log_posterior = jax.nn.log_softmax(logits, axis=-1)
        if self.pair.belief_head is not None:
            judged = judged + self._read_belief(log_posterior)
        if self.tied_heads is not None:
            judged = judged + self._judge(
                1, outputs, summary, log_posterior, view, dtype
            )
        error = lax.stop_gradient(1.0 - jnp.exp(jnp.max(log_posterior, axis=-1)))
        if view is None or self.predictions is None:
            gain = self._gain_by_share(judged, error, asked.price)
            return Estimates(log_posterior, gain)
        unit = asked.unit(error)
        worth = outputs[1, ..., self._num_outputs]
        if self.worth_heads is not None:
            worth = worth + self._worth(log_posterior, view, error, asked)
        worth = jax.nn.sigmoid(worth) * error
        waste = view.charge + self.spec.mean_cost * judged
        gain = worth[..., None] - unit[..., None] * waste
        caution = lax.stop_gradient(self.predictions.caution)
        doubt = caution * self.spec.mean_cost * unit[..., None]
        preference = gain - jnp.where(view.is_best, 0.0, doubt)
        return Estimates(log_posterior, gain, unit, preference)

    def _worth(
        self,
        log_posterior: Float[Array, "*tokens hypotheses"],
        view: QueryView,
        error: Float[Array, "*tokens"],
        asked: Asked,
    ) -> Float[Array, "*tokens"]:
        """What the belief and the tables say of asking on, as a logit."""
        spec = self.spec
        head = jax.tree.map(lambda leaf: leaf[1], self.worth_heads)
        known = what_is_known(
            Told(lax.stop_gradient(log_posterior), view), spec.mean_cost
        )
        unit = spec.mean_cost * asked.unit(error)
        has_price = jnp.where(asked.price > 0, 1.0, -1.0)
        request = (error, unit, has_price, asked.remaining, spec.horizon)
        return head(known, what_is_asked(*request))

    def _gain_by_share(
        self,
        removed: Float[Array, "*tokens queries"],
        error: Float[Array, "*tokens"],
        price: Float[Array, "*#tokens"],
    ) -> Float[Array, "*tokens queries"]:
        """Every query removes its own share of the error."""
        costs = _outer(price, self.spec.cost_array)
        scale = error[..., None]
        if not self.spec.can_stop:
            # Where the answer is known, queries still differ in how soon it ends.
            scale = jnp.minimum(scale + self.spec.horizon * costs, 1.0)
        return scale * removed - costs

    def _read_belief(
        self, log_posterior: Float[Array, "*tokens hypotheses"]
    ) -> Float[Array, "*tokens queries"]:
        """What the belief alone says for each query, added to what the query net says.

        Of very many queries only those about the hypotheses still alive are of use;
        this layer knows them from all histories at once.
        """
        assert self.pair.belief_head is not None
        weight = self.pair.belief_head[-1, : self.spec.num_queries]
        belief = lax.stop_gradient(jnp.exp(log_posterior))
        return jnp.matmul(belief, weight.T, precision=lax.Precision.HIGHEST)

    def _corrected(
        self,
        log_posterior: Float[Array, "*tokens hypotheses"],
        outputs: Float[Array, "2 *tokens output"],
        logits: Float[Array, "*tokens hypotheses"],
    ) -> Float[Array, "*tokens hypotheses"]:
        """What the tables believe, with the weight and the logits of the inference net.

        Where `correction` is 0 it is what the tables believe, with the trust that they
        were found to deserve.
        """
        assert self.config.predictions is not None and self.predictions is not None
        share = lax.stop_gradient(self.predictions.correction)
        log_posterior = jnp.maximum(log_posterior, _LEAST_EVIDENCE)
        gate = share * outputs[0, ..., self._num_outputs, None]
        start = math.log(math.expm1(self.config.predictions.trust))
        return jax.nn.softplus(gate + start) * log_posterior + share * logits

    @property
    def _infers(self) -> bool:
        """Whether the inference net is there."""
        return self.pair.query_embedding.shape[0] == 2

    @property
    def _num_outputs(self) -> int:
        return max(self.spec.num_queries, self.spec.num_hypotheses)

    def _judge(
        self,
        index: int,
        outputs: Float[Array, "2 *tokens output"],
        summary: Float[Array, "*tokens features"] | None,
        log_posterior: Float[Array, "*tokens hypotheses"] | None,
        view: QueryView | None,
        dtype,
    ) -> Float[Array, "*tokens queries"]:
        """What one network for all queries says of each.

        It sees what the tables say of the query; where queries are alike, the query's
        part of the summary; and the belief about the hypothesis of the same number,
        which the inference net is about to form and does not see.
        """
        num_queries, shape = self.spec.num_queries, outputs.shape[1:-1]
        parts = []
        if self.config.tied_head:
            kind = self.config.summary_kind(self.spec)
            assert kind is not None and summary is not None
            own = kind.by_query(summary, num_queries)
            parts.append(own)
            if self.config.task_spread:
                parts.append(deviations(own, self.config.task_spread))
        if self.config.sees_belief(self.spec):
            parts.append(_belief_features(log_posterior, (*shape, num_queries)))
        if self.config.predictions is not None:
            nothing = jnp.zeros((*shape, num_queries, NUM_FEATURES))
            parts.append(nothing if view is None else view.features)
        head = jax.tree.map(lambda leaf: leaf[index], self.tied_heads)
        head = ft.partial(head, dtype=dtype)
        judge = jnp.vectorize(head, signature="(c),(q,f)->(q)")
        context = outputs[index, ..., -self.config.context_size :]
        return judge(context, jnp.concatenate(parts, axis=-1))


def _with(nets: ExplorerNets, predictions: AbstractPredictions | None) -> ExplorerNets:
    return eqx.tree_at(
        lambda nets: nets.predictions,
        nets,
        predictions,
        is_leaf=lambda node: node is None,
    )


def _is_zero(number: Float[Array, ""]) -> bool:
    """Whether it is known to be zero, which it is not while a program is traced."""
    is_known = eqx.is_array(number) and not isinstance(number, Tracer)
    return is_known and float(number) == 0.0


def _belief_features(
    log_posterior: Float[Array, "*tokens hypotheses"] | None, shape: tuple[int, ...]
) -> Float[Array, "*tokens hypotheses 2"]:
    """Probability and surprise of each hypothesis; zeros where there is no belief."""
    if log_posterior is None:
        return jnp.zeros((*shape, 2))
    log_belief = lax.stop_gradient(log_posterior)
    surprise = jnp.maximum(log_belief, _LEAST_LOG_BELIEF) / _LEAST_LOG_BELIEF
    return jnp.stack([jnp.exp(log_belief), surprise], axis=-1)


def _outer(
    price: Float[Array, "*batch"], costs: Float[Array, "queries"]
) -> Float[Array, "*batch queries"]:
    return price[..., None] * costs.reshape((1,) * price.ndim + (-1,))
