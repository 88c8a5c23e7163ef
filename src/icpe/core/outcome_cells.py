"""Outcomes of any kind in cells, where their likelihood is known.

What an outcome tells of the hypotheses is how likely each of them makes it. So drawn
outcomes are put together that are about equally likely under all hypotheses, whatever
they look like: one number or several, with heavy tails or not.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from icpe.core.expected_gains import OutcomeTable
from icpe.core.family import AbstractTaskFamily
from icpe.core.simulate import first_answers

_FEWEST_DRAWN, _MOST_DRAWN = 2**10, 2**13
"""Outcomes of each query."""
_MOST_LIKELIHOODS = 2**25
_LEAST_TOTAL = 0.1
"""Of a hypothesis, in all cells; below it too few of its outcomes were drawn."""
_NUM_DIRECTIONS = 32
_NUM_ROUNDS = 6
_TINY = 1e-30


def table_of_cells(family: AbstractTaskFamily, num_cells: int) -> OutcomeTable:
    """P(cell | hypothesis, query) of cells that tell nearly as much as outcomes do.

    Every drawn outcome counts for all hypotheses, as much as each makes it likely
    (importance sampling). A hypothesis whose outcomes were hardly drawn, since it is
    hardly ever true, gets the law of all others.

    Args:
        family: one with a likelihood.
        num_cells: a power of 2, at most 1024.
    """
    spec = family.spec
    most = _MOST_LIKELIHOODS // (spec.num_hypotheses * spec.num_queries)
    number = 2 ** int(np.log2(np.clip(most, _FEWEST_DRAWN, _MOST_DRAWN)))
    answers = first_answers(family, number)
    drawn = np.bincount(np.asarray(answers.hypothesis), minlength=spec.num_hypotheses)
    hypotheses = jnp.arange(spec.num_hypotheses, dtype=jnp.int32)
    of_all = jax.vmap(family.log_likelihood, in_axes=(0, None, None))
    of_each = eqx.filter_jit(jax.vmap(of_all, in_axes=(None, None, 0)))
    laws = []
    for query in range(spec.num_queries):
        outcomes = answers.outcomes[:, 0, query]
        logs = of_each(hypotheses, jnp.int32(query), outcomes)
        laws.append(_law(np.asarray(logs), drawn, num_cells))
    return OutcomeTable(jnp.asarray(np.stack(laws, axis=1)), has_cells=True)


def _law(
    logs: Float[np.ndarray, "drawn hypotheses"],
    drawn: Int[np.ndarray, "hypotheses"],
    num_cells: int,
) -> Float[np.ndarray, "hypotheses cells"]:
    """Of the cells of one query, under each hypothesis."""
    top = logs.max(axis=1, keepdims=True)
    likelihood = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    mixed = likelihood @ drawn.astype(likelihood.dtype)
    counts = likelihood / np.maximum(mixed, _TINY)[:, None]
    share = likelihood / np.maximum(likelihood.sum(axis=1, keepdims=True), _TINY)
    law = counts[_halved(np.sqrt(share), num_cells)].sum(axis=1).T
    total = law.sum(axis=1, keepdims=True)
    others = law[drawn > 0].sum(axis=0)
    others = others / others.sum()
    return np.where(total < _LEAST_TOTAL, others, law / np.maximum(total, _TINY))


def _halved(
    points: Float[np.ndarray, "points numbers"], number: int
) -> Int[np.ndarray, "parts members"]:
    """The points in equal parts, halved again and again along their widest direction.

    Neighboring parts are halves of the same one.
    """
    random = np.random.default_rng(0)
    if points.shape[1] > _NUM_DIRECTIONS:
        directions = random.standard_normal((points.shape[1], _NUM_DIRECTIONS))
        points = points @ directions.astype(points.dtype)
    parts = np.arange(len(points))[None]
    while len(parts) < number:
        around = points[parts]
        around = around - around.mean(axis=1, keepdims=True)
        direction = random.standard_normal((len(parts), points.shape[1], 1))
        direction = direction.astype(points.dtype)
        for _ in range(_NUM_ROUNDS):  # power iteration
            direction = around.swapaxes(1, 2) @ (around @ direction)
            length = np.linalg.norm(direction, axis=1, keepdims=True)
            direction = direction / np.maximum(length, _TINY)
        order = np.argsort((around @ direction)[..., 0], axis=1, kind="stable")
        parts = np.take_along_axis(parts, order, axis=1).reshape(2 * len(parts), -1)
    return parts
