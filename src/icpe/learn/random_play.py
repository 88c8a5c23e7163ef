"""Random play, and how much of the evidence of tables holds in it."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.arrays import PRNGKey
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint
from icpe.core.stopping import random_query
from icpe.learn.pilot import posteriors
from icpe.nets.predictions import Predictions
from icpe.play.rollout import rollout

_MOST_STEPS = 48
_TRUSTS = (0.25, 0.5, 0.75, 1.0)


def random_histories(family: AbstractTaskFamily, number: int, *, seed: int):
    """Episodes of uniformly random queries that never stop."""
    steps = min(family.spec.horizon, _MOST_STEPS)
    point = OperatingPoint.at(family.spec.horizon, budget=steps)
    keys = jr.split(jr.key(seed), number)
    transcript = jit_program(rollout)(RandomQueries(), family, point, keys=keys)
    return transcript.history, transcript.ending.hypothesis


class RandomQueries(AbstractExplorer):
    """Makes any allowed query and never stops."""

    def init(self, spec, operating_point, first_outcome):
        return jnp.zeros(())

    def ask(self, state, query_mask, *, key: PRNGKey):
        return random_query(query_mask, key=key)

    def tell(self, state, query, outcome):
        return state

    def recommend(self, state):
        return jnp.zeros((), jnp.int32)

    def log_posterior(self, state):
        return None


def share_that_holds(predictions: Predictions, histories) -> tuple[float, float]:
    """Cross-entropy on fresh histories, and the share of the evidence that gives it.

    The share is 0 where no share is better than knowing the prior alone.
    """
    history, hypothesis = histories
    log_posterior = np.asarray(posteriors(predictions, history), float)
    truth = np.asarray(hypothesis)
    reached = np.arange(log_posterior.shape[1]) <= np.asarray(history.length)[:, None]
    prior = log_posterior[:, :1]

    def loss(share: float) -> float:
        logits = prior + share * (log_posterior - prior)
        logits = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        each = np.take_along_axis(logits, truth[:, None, None], axis=2)[..., 0]
        return float(-(each * reached).sum() / reached.sum())

    losses = {share: loss(share) for share in (0.0, *_TRUSTS)}
    best = min(losses, key=lambda share: losses[share])
    worthwhile = losses[best] < 0.98 * losses[0.0]
    return losses[best], best if worthwhile else 0.0
