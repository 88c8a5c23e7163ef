"""The trained explorer: an inference net, a query net, and no stop head.

The value of stopping is known, S(D) = max_h I(h | D), so the explorer stops exactly
when S(D) >= max_a Q(D, a). What a query costs is known as well, so the query net
predicts only the rest: the fraction g(D, a) of the present error probability that
asking will remove,

    Q(D, a) = S(D) - price * cost(a) + (1 - S(D)) * g(D, a),    0 <= g <= 1.

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
from jaxtyping import Array, Bool, Float, Int

from icpe.exceptions import InvalidParameterError, OperatingPointError
from icpe.explorers.base import AbstractExplorer
from icpe.history import Growing, History, Scratch, StepCount
from icpe.nets.canvas import AbstractSummaryEncoder, CanvasEncoder
from icpe.nets.encoders import AbstractOutcomeEncoder, LinearEncoder, PatchEncoder
from icpe.nets.sequence import SequenceNet
from icpe.nets.tokens import (
    AnySummary,
    EntrySummary,
    Summary,
    Token,
    first_token,
    summary_size,
    token_after,
    tokens_along,
)
from icpe.nets.transformer import TIME_AXIS, TransformerConfig, in_compute_dtype
from icpe.tasks.base import TaskSpec
from icpe.types import (
    STOP,
    Flag,
    Index,
    OperatingPoint,
    PRNGKey,
    PyTree,
    Regime,
    Scalar,
)

CONDITION_SIZE = 4


@dataclasses.dataclass(frozen=True)
class NetConfig:
    """What the networks of an explorer are made of."""

    transformer: TransformerConfig
    summary: bool = True
    """Give each token the counts and mean outcomes of the queries so far."""
    belief: bool = False
    """Add a linear function of the posterior to the query net's output."""
    entry_summary: bool = False
    """Average entries of flagged outcomes over all queries, not over each."""

    def summary_kind(self, spec: TaskSpec) -> AnySummary | None:
        """How the tokens of a family summarize what came before, if they do.

        Raises:
            InvalidParameterError: the outcomes of the family have no flags, or there
                is to be no summary.
        """
        if self.entry_summary and not (spec.outcome_flags and self.summary):
            raise InvalidParameterError(
                "entry_summary needs summary, and a family whose outcomes have flags, "
                "such as feedback-graph; leave it out."
            )
        if not self.summary:
            return None
        return EntrySummary if self.entry_summary else Summary


@dataclasses.dataclass(frozen=True)
class PriceRange:
    """The prices an explorer was trained for."""

    low: float
    high: float

    def normalize(self, price: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """Log-price mapped to [-1, 1]; 0 where the price is 0."""
        middle = math.log(self.low * self.high) / 2
        half = max(math.log(self.high / self.low) / 2, 1e-6)
        priced = price > 0
        return jnp.where(
            priced, (jnp.log(jnp.where(priced, price, 1.0)) - middle) / half, 0.0
        )


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
    spec: TaskSpec = eqx.field(static=True)
    config: NetConfig = eqx.field(static=True)
    prices: PriceRange = eqx.field(static=True)

    def __init__(
        self, spec: TaskSpec, config: NetConfig, prices: PriceRange, *, key: PRNGKey
    ):
        def build(key):
            encoder_key, net_key = jr.split(key)
            return SequenceNet(
                config.transformer,
                _outcome_encoder(spec, config, key=encoder_key),
                num_queries=spec.num_queries,
                num_tokens=spec.horizon + 1,
                summary_size=summary_size(
                    config.summary_kind(spec), spec.num_queries, spec.outcome_size
                ),
                condition_size=CONDITION_SIZE,
                belief_size=spec.num_hypotheses if config.belief else 0,
                output_size=max(spec.num_queries, spec.num_hypotheses),
                summary_encoder=_summary_encoder(
                    spec, config, key=jr.fold_in(encoder_key, 1)
                ),
                key=net_key,
            )

        self.pair = eqx.filter_vmap(build)(jr.split(key))
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
        spec = self.spec
        tokens = jax.vmap(
            lambda queries, outcomes: tokens_along(
                queries,
                spec.normalize(outcomes),
                spec.num_queries,
                self.config.summary_kind(spec),
            )
        )(history.queries, history.outcomes)
        positions = jnp.arange(history.outcomes.shape[1])
        condition = jax.vmap(
            jax.vmap(self.condition, in_axes=(None, None, 0)), in_axes=(0, 0, None)
        )(price, max_queries, positions)
        outputs = eqx.filter_vmap(
            lambda net, condition: jax.vmap(net)(tokens, condition),
            in_axes=(eqx.if_array(0), 0),
        )(self.pair, jnp.stack([jnp.zeros_like(condition), condition]))
        return self._estimates(outputs, price[:, None])

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
        return self._estimates(outputs, price), caches

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
    ) -> Estimates:
        logits = outputs[0, ..., : self.spec.num_hypotheses]
        removed = outputs[1, ..., : self.spec.num_queries]
        log_posterior = jax.nn.log_softmax(logits, axis=-1)
        if self.pair.belief_head is not None:
            removed = removed + self._read_belief(log_posterior)
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


class NeuralState(eqx.Module):
    """The state of a neural explorer: its estimates now, and its working memory."""

    estimates: Estimates
    price: Scalar
    max_queries: Index
    position: StepCount
    memory: Scratch


class NeuralExplorer(AbstractExplorer):
    """Asks the query of largest value; stops when stopping is worth as much."""

    nets: ExplorerNets

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> NeuralState:
        """Reads what the family revealed at reset.

        Raises:
            OperatingPointError: in the regime ERROR_PROB, which needs the price that
                belongs to it in the operating table of an artifact.
        """
        if operating_point.regime is Regime.ERROR_PROB:
            raise OperatingPointError(
                "A trained explorer is asked for a price or a budget; look up the "
                "price of an error_prob in its artifact first."
            )
        nets = self.nets
        kind = nets.config.summary_kind(spec)
        token, summary = first_token(
            spec.normalize(first_outcome), spec.num_queries, kind
        )
        start = jnp.zeros((), jnp.int32)
        state = self._read(
            token,
            summary,
            nets.init_caches(),
            operating_point.price,
            operating_point.max_queries,
            StepCount(start, bound=0),
        )
        return dataclasses.replace(state, position=StepCount(start, spec.horizon))

    def ask(
        self, state: NeuralState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The greedy query, or `STOP` when no query gains over stopping."""
        stop = self.wants_to_stop(state, query_mask)
        return jnp.where(stop, STOP, self.best_query(state, query_mask))

    def wants_to_stop(
        self, state: NeuralState, query_mask: Bool[Array, "queries"]
    ) -> Flag:
        """S(D) >= max_a Q(D, a), where a price is set and stopping is allowed."""
        if not self.nets.spec.can_stop:
            return jnp.asarray(False)
        gain = jnp.where(query_mask, state.estimates.gain, -jnp.inf)
        return (state.price > 0) & (jnp.max(gain) <= 0)

    def best_query(
        self, state: NeuralState, query_mask: Bool[Array, "queries"]
    ) -> Index:
        """The allowed query of largest value."""
        return jnp.argmax(jnp.where(query_mask, state.estimates.gain, -jnp.inf))

    def tell(
        self, state: NeuralState, query: Index, outcome: Float[Array, "outcome"]
    ) -> NeuralState:
        """Reads one more query and its outcome."""
        spec = self.nets.spec
        caches, summary = state.memory.value
        caches = caches.value
        token, summary = token_after(
            query, spec.normalize(outcome), spec.num_queries, summary
        )
        return self._read(
            token,
            summary,
            caches,
            state.price,
            state.max_queries,
            state.position.next(),
        )

    def recommend(self, state: NeuralState) -> Index:
        """The most probable hypothesis."""
        return jnp.argmax(state.estimates.log_posterior)

    def log_posterior(self, state: NeuralState) -> Float[Array, "hypotheses"]:
        """The inference net's belief."""
        return state.estimates.log_posterior

    def _read(self, token, summary, caches, price, max_queries, position):
        estimates, caches = self.nets.step(token, price, max_queries, caches, position)
        return NeuralState(
            estimates=estimates,
            price=price,
            max_queries=max_queries,
            position=position,
            memory=Scratch((Growing(caches, TIME_AXIS), summary)),
        )
