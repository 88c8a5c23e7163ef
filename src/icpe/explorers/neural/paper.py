"""The explorer of the paper: a learned stop action, and one model per request.

Two Transformers as in `networks.py`, but the query net gives the value of every query
and of stopping, and nothing tells it what is asked: the networks serve the one error
probability or budget they were trained for (Russo, Welch & Pacchiano, "In-Context
Learning for Pure Exploration", appendix "Algorithms").
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from icpe.core.arrays import Index, PRNGKey, PyTree
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.explorer import AbstractExplorer, StopStatistic
from icpe.core.history import History
from icpe.core.memory import Growing, Scratch, StepCount
from icpe.core.request import OperatingPoint, Regime, Request
from icpe.core.spec import TaskSpec
from icpe.core.stopping import stop_if
from icpe.explorers.neural.config import NetConfig
from icpe.nets.dropout import Dropout
from icpe.nets.encoders import LinearEncoder
from icpe.nets.sequence import SequenceNet
from icpe.nets.tokens import (
    Token,
    first_token,
    summary_size,
    token_after,
)
from icpe.nets.transformer import TIME_AXIS, in_compute_dtype

_NO_CONDITION = 1
"""The paper's networks are told nothing but the history: one input that is 0."""


@dataclasses.dataclass(frozen=True)
class Objective:
    """The one request networks are trained for: an error probability or a budget."""

    error_prob: float | None = None
    budget: int | None = None

    def __post_init__(self):
        if (self.error_prob is None) == (self.budget is None):
            raise InvalidParameterError(
                "An objective is either an error_prob or a budget; got "
                f"{self.error_prob} and {self.budget}."
            )
        if self.error_prob is not None and not 0.0 < self.error_prob < 1.0:
            raise InvalidParameterError(
                f"error_prob must lie strictly between 0 and 1; got {self.error_prob}."
            )

    @property
    def request(self) -> Request:
        """The objective as a request."""
        return Request(error_prob=self.error_prob, budget=self.budget)

    def operating_point(self, horizon: int) -> OperatingPoint:
        """The objective as an operating point.

        Raises:
            OperatingPointError: a budget below 1 or beyond the horizon.
        """
        return self.request.at(horizon)

    def check_serves(self, request: Request, horizon: int) -> None:
        """Raises one sentence unless the request is the objective itself.

        Raises:
            OperatingPointError: it is another one.
        """
        if not eqx.tree_equal(request.at(horizon), self.operating_point(horizon)):
            raise OperatingPointError(
                f"This explorer was trained for {self} alone; got {request}: ask for "
                "that, or train another one."
            )

    def __str__(self) -> str:
        if self.error_prob is not None:
            return f"error_prob={self.error_prob:g}"
        return f"budget={self.budget}"


class Outputs(eqx.Module):
    """What the two networks say about one history, or about several.

    The last of the `values` is that of stopping; it means nothing where the explorer
    never stops.
    """

    log_posterior: Float[Array, "*batch hypotheses"]
    values: Float[Array, "*batch actions"]


class PaperNets(eqx.Module):
    """I(H | D) and Q(D, a), held as one stacked pair: index 0 is I, index 1 is Q."""

    pair: SequenceNet
    spec: TaskSpec = eqx.field(static=True)
    config: NetConfig = eqx.field(static=True)
    objective: Objective = eqx.field(static=True)

    def __init__(
        self, spec: TaskSpec, config: NetConfig, objective: Objective, *, key: PRNGKey
    ):
        objective.operating_point(spec.horizon)

        def build(key):
            encoder_key, net_key = jr.split(key)
            width = config.transformer.width
            return SequenceNet(
                config.transformer,
                LinearEncoder(spec.outcome_size, width, key=encoder_key),
                num_queries=spec.num_queries,
                num_tokens=spec.horizon + 1,
                summary_size=summary_size(
                    config.summary_kind(spec), spec.num_queries, spec.outcome_size
                ),
                condition_size=_NO_CONDITION,
                output_size=max(spec.num_queries + 1, spec.num_hypotheses),
                key=net_key,
            )

        self.pair = eqx.filter_vmap(build)(jr.split(key))
        self.spec = spec
        self.config = config
        self.objective = objective

    @property
    def learns_to_stop(self) -> bool:
        """Whether stopping is an action: fixed confidence, where it is allowed."""
        return self.objective.error_prob is not None and self.spec.can_stop

    def at_ends(
        self,
        for_inference: History,
        for_values: History,
        dropout: Dropout | None = None,
        *,
        key: PRNGKey | None = None,
    ) -> Outputs:
        """Both networks on batches of padded histories, read where each one ends.

        Each network passes over all tokens of its histories, padding included, and
        only the last hidden state before the padding is used, as in the paper.

        Args:
            for_inference: what the inference net reads.
            for_values: what the query net reads, as many histories.
            dropout: what is dropped in training; None or a rate of 0 drops nothing.
            key: of what is dropped, needed with a positive rate.
        """
        tokens = jax.tree.map(
            lambda *pair: jnp.stack(pair),
            self.config.tokens(self.spec, for_inference),
            self.config.tokens(self.spec, for_values),
        )
        lengths = jnp.stack([for_inference.length, for_values.length])
        if dropout is None or not dropout.rate:
            outputs = eqx.filter_vmap(_last_outputs, in_axes=(eqx.if_array(0), 0, 0))(
                self.pair, tokens, lengths
            )
        else:
            assert key is not None
            keys = jr.split(key, lengths.shape)
            outputs = eqx.filter_vmap(
                lambda net, tokens, lengths, keys: _last_outputs(
                    net, tokens, lengths, dropout, keys
                ),
                in_axes=(eqx.if_array(0), 0, 0, 0),
            )(self.pair, tokens, lengths, keys)
        return self._outputs(outputs)

    def posterior_at_ends(self, history: History) -> Float[Array, "batch hypotheses"]:
        """The inference net alone, as in `at_ends`."""
        net = jax.tree.map(lambda leaf: leaf[0], self.pair)
        outputs = _last_outputs(
            net, self.config.tokens(self.spec, history), history.length
        )
        return _log_posterior(outputs, self.spec)

    def step(
        self, token: Token, caches: PyTree, position: StepCount
    ) -> tuple[Outputs, PyTree]:
        """Outputs after one more token, and the caches that include it.

        Attention is causal, so this is what `at_ends` gives for the whole history.
        """
        outputs, caches = eqx.filter_vmap(
            lambda net, cache: net.step(token, _condition(), cache, position),
            in_axes=(eqx.if_array(0), 0),
        )(self.pair, caches)
        return self._outputs(outputs), caches

    def for_play(self) -> "PaperNets":
        """The same networks, made ready to be used step by step in a loop."""
        return eqx.tree_at(
            lambda nets: nets.pair.transformer, self, replace_fn=in_compute_dtype
        )

    def init_caches(self) -> PyTree:
        """Empty caches of both networks."""
        return eqx.filter_vmap(lambda net: net.transformer.init_cache())(self.pair)

    def _outputs(self, outputs: Float[Array, "2 *batch output"]) -> Outputs:
        return Outputs(
            log_posterior=_log_posterior(outputs[0], self.spec),
            values=outputs[1, ..., : self.spec.num_queries + 1],
        )


def _condition() -> Float[Array, "condition"]:
    return jnp.zeros(_NO_CONDITION)


def _log_posterior(
    outputs: Float[Array, "*batch output"], spec: TaskSpec
) -> Float[Array, "*batch hypotheses"]:
    return jax.nn.log_softmax(outputs[..., : spec.num_hypotheses], axis=-1)


def _last_outputs(
    net: SequenceNet,
    tokens: Token,
    lengths: Int[Array, "batch"],
    dropout: Dropout | None = None,
    keys: Key[Array, "batch"] | None = None,
) -> Float[Array, "batch output"]:
    """The head on the last hidden state before the padding, sequence by sequence."""

    def one(tokens: Token, length: Index, key: PRNGKey | None):
        embedded = jax.vmap(net.embed, in_axes=(0, None))(tokens, _condition())
        if dropout is None or key is None:
            features = net.transformer(embedded)
        else:
            features = dropout.features(net.transformer, embedded, key=key)
        return net.head(features[length])

    return jax.vmap(one)(tokens, lengths, keys)


class PaperState(eqx.Module):
    """The state of the paper's explorer: what its networks say, and their memory."""

    outputs: Outputs
    position: StepCount
    memory: Scratch


class PaperExplorer(AbstractExplorer):
    """Takes the action of largest value, of which stopping is one."""

    nets: PaperNets

    @property
    def made_for(self) -> TaskSpec:
        return self.nets.spec

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> PaperState:
        """Reads what the family revealed at reset.

        Raises:
            OperatingPointError: another regime than the one trained for.
        """
        regime = Regime.BUDGET
        if self.nets.objective.error_prob is not None:
            regime = Regime.ERROR_PROB
        if operating_point.regime is not regime:
            raise OperatingPointError(
                f"This explorer was trained for {self.nets.objective} alone and cannot "
                f"serve a request for {operating_point.regime}; train another one."
            )
        kind = self.nets.config.summary_kind(spec)
        token, summary = first_token(
            spec.normalize(first_outcome), spec.num_queries, kind
        )
        start = jnp.zeros((), jnp.int32)
        caches = self.nets.init_caches()
        state = self._read(token, summary, caches, StepCount(start, bound=0))
        return dataclasses.replace(state, position=StepCount(start, spec.horizon))

    def ask(
        self, state: PaperState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The allowed action of largest value; ties go to stopping."""
        values = state.outputs.values
        allowed = jnp.where(query_mask, values[:-1], -jnp.inf)
        query = jnp.argmax(allowed)
        if not self.nets.learns_to_stop:
            return query.astype(jnp.int32)
        return stop_if(values[-1] >= allowed[query], query)

    def stop_statistic(
        self, state: PaperState, query_mask: Bool[Array, "queries"]
    ) -> StopStatistic | None:
        """The value of stopping and that of the best query, both learned."""
        if not self.nets.learns_to_stop:
            return None
        values = state.outputs.values
        best = jnp.max(jnp.where(query_mask, values[:-1], -jnp.inf))
        return StopStatistic(values[-1], best, best - values[-1], "values")

    def tell(
        self, state: PaperState, query: Index, outcome: Float[Array, "outcome"]
    ) -> PaperState:
        spec = self.nets.spec
        caches, summary = state.memory.value
        token, summary = token_after(
            query, spec.normalize(outcome), spec.num_queries, summary
        )
        return self._read(token, summary, caches.value, state.position.next())

    def recommend(self, state: PaperState) -> Index:
        return jnp.argmax(state.outputs.log_posterior)

    def log_posterior(self, state: PaperState) -> Float[Array, "hypotheses"]:
        return state.outputs.log_posterior

    def _read(self, token, summary, caches, position) -> PaperState:
        outputs, caches = self.nets.step(token, caches, position)
        unit = self.nets.config.transformer.length_unit
        memory = Scratch((Growing(caches, TIME_AXIS, unit), summary))
        return PaperState(outputs, position, memory)
