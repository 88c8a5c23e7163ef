"""Optimal proportions for a feedback graph, a few cheap steps at a time.

`feedback_graph_time` solves the problem exactly, in about a millisecond. A method that
tracks the proportions at every query needs something faster that starts from its last
answer: the problem is a game in which one player chooses proportions w of queries and
the other a mixture q of rivals, with payoff

    sum over a of q_a rate_a n_* n_a / (n_* + n_a),    n = w G,

concave in w and linear in q. Mirror-prox steps (Nemirovski 2004) with entropy on both
sides converge to the equilibrium, on average over the steps if not one by one; this
is the idea of Degenne, Koolen and Menard 2019, "Non-asymptotic pure exploration by
solving games", who let both players learn while queries are made.
"""

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, Scalar
from icpe.theory.characteristic_time import Means
from icpe.theory.divergences import kl_gaussian

_STEP_SIZE = 0.3
_STIR = 1e-3
_SMALLEST_RATE = 1e-6


class Game(eqx.Module):
    """Where both players stand: proportions of queries, and the mixture of rivals."""

    proportions: Float[Array, "queries"]
    rivals: Float[Array, "arms"]

    @staticmethod
    def start(num_queries: int, num_arms: int, dtype) -> "Game":
        """Both uniform."""
        return Game(
            jnp.full(num_queries, 1.0 / num_queries, dtype),
            jnp.full(num_arms, 1.0 / num_arms, dtype),
        )


def play_graph_game(
    game: Game,
    means: Means,
    graph: Float[Array, "queries arms"],
    noise: Scalar | float,
    num_steps: int = 10,
) -> Game:
    """A few steps towards the equilibrium for these means.

    Both players are first stirred a little, so that nothing is lost for good when the
    means change.
    """
    payoffs = _Payoffs.of(means, graph, noise)
    num_queries = game.proportions.shape[0]
    game = Game(
        (1.0 - _STIR) * game.proportions + _STIR / num_queries,
        payoffs.on_rivals(game.rivals + _STIR),
    )

    def step(_, game: Game) -> Game:
        looked_ahead = payoffs.respond(game, to=game)
        return payoffs.respond(game, to=looked_ahead)

    return lax.fori_loop(0, num_steps, step, game)


class _Payoffs(eqx.Module):
    """What each player gains by a change."""

    graph: Float[Array, "queries arms"]
    best: Index
    is_other: Bool[Array, "arms"]
    rates: Float[Array, "arms"]

    @staticmethod
    def of(means: Means, graph, noise) -> "_Payoffs":
        best = jnp.argmax(means)
        is_other = jnp.arange(means.shape[0]) != best
        rates = jnp.maximum(kl_gaussian(means[best], means, noise), _SMALLEST_RATE)
        return _Payoffs(graph, best, is_other, jnp.where(is_other, rates, 0.0))

    def on_rivals(self, weights: Float[Array, "arms"]) -> Float[Array, "arms"]:
        weights = jnp.where(self.is_other, weights, 0.0)
        return weights / jnp.sum(weights)

    def respond(self, game: Game, to: Game) -> Game:
        """Both players' entropic steps from `game` along their gains at `to`."""
        seen = to.proportions @ self.graph
        own = seen[self.best]
        total = jnp.where(own + seen > 0, own + seen, 1.0)
        information = self.rates * own * seen / total
        pull = to.rivals * self.rates
        slope = jnp.sum(pull * (seen / total) ** 2) * self.graph[:, self.best]
        slope = slope + self.graph @ (pull * (own / total) ** 2)
        scale = _STEP_SIZE / jnp.maximum(jnp.max(slope), jnp.finfo(slope.dtype).tiny)
        proportions = game.proportions * jnp.exp(scale * slope - _STEP_SIZE)
        rivals = game.rivals * jnp.exp(-scale * information)
        return Game(proportions / jnp.sum(proportions), self.on_rivals(rivals))
