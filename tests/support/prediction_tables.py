"""Tables of predictions whose law is written down, to test what follows from them."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from icpe.core.spec import TaskSpec
from icpe.nets.evidence import PredictionShape
from icpe.nets.outcome_tables import AbstractOutcomes, SymbolTable
from icpe.nets.predictions import Predictions


def predictions(
    outcomes: AbstractOutcomes,
    prior: np.ndarray,
    num_queries: int,
    outcome_size: int = 1,
    *,
    num_each: int = 1,
    costs: tuple[float, ...] = (),
    ask_once: bool = False,
    first: AbstractOutcomes | None = None,
) -> Predictions:
    """Classes with a given law of outcomes and given prior probabilities."""
    spec = TaskSpec(
        num_queries,
        len(prior) // num_each,
        outcome_size,
        horizon=4,
        costs=costs,
        ask_once=ask_once,
    )
    empty = Predictions.empty(
        spec, PredictionShape("symbols", num_each, 1, "", 0, trust=1.0)
    )
    return dataclasses.replace(
        empty,
        log_prior=jnp.asarray(np.log(prior), jnp.float32),
        outcomes=outcomes,
        first=first,
    )


def symbol_table(probability: np.ndarray) -> SymbolTable:
    """Outcomes 0, 1, .. with P(outcome | class, query) as in the array."""
    return SymbolTable(
        symbols=jnp.arange(probability.shape[2], dtype=jnp.float32)[:, None],
        log_probability=jnp.asarray(
            np.log(np.moveaxis(probability, 0, -1)), jnp.float32
        ),
    )


def random_law(
    num_classes: int, num_queries: int, num_symbols: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """P(outcome | class, query) and the prior of the classes, drawn at random."""
    random = np.random.default_rng(seed)
    law = random.dirichlet(np.ones(num_symbols), (num_classes, num_queries))
    return law, random.dirichlet(2.0 * np.ones(num_classes))
