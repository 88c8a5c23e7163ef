"""Cases played to the end by greedy information gain, each without its own row.

What the rule asks does not depend on where it will stop, so one play tells what comes
of every threshold and of every budget.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from icpe.core.progress import AbstractProgress, NoProgress
from icpe.families.table import Case, CaseTable

_GONE = -1e9
_CHUNK = 256


@dataclasses.dataclass(frozen=True)
class Plays:
    """What is believed at each position, and what was asked.

    Attributes:
        log_posterior: of each class, from before the first query on.
        queries: in their order.
    """

    log_posterior: Float[np.ndarray, "cases positions classes"]
    queries: Int[np.ndarray, "cases steps"]

    @property
    def sure(self) -> Float[np.ndarray, "cases positions"]:
        """The largest probability at each position."""
        return np.exp(self.log_posterior.max(axis=2))

    def stops(self, doubt: float | None, cap: int) -> Int[np.ndarray, "cases"]:
        """After how many queries each stops; None for exactly as many as the cap."""
        if doubt is None:
            return np.full(len(self.queries), cap)
        reached = self.log_posterior.max(axis=2) >= np.log1p(-np.float32(doubt))
        last = self.queries.shape[1]
        first = np.where(reached.any(axis=1), reached.argmax(axis=1), last)
        return np.minimum(first, cap)

    def log_loss(self, labels: Int[np.ndarray, "cases"]) -> float:
        """Mean over cases and positions, the first left out."""
        rows = np.arange(len(labels))
        right = self.log_posterior[rows, :, labels][:, 1:]
        return float(-np.maximum(right, np.log(1e-4)).mean())


def play(
    family: CaseTable,
    cells: Int[np.ndarray, "cases features"],
    own: Int[np.ndarray, "cases"] | None = None,
    *,
    steps: int | None = None,
    progress: AbstractProgress | None = None,
) -> Plays:
    """Plays cases, a few hundred at a time.

    Args:
        family: what is known.
        cells: of the cases.
        own: the row of the family that each case is, counted class by class, which is
            left out; -1 for none; None if none is one.
        steps: queries to make; as many as the horizon allows if None.
        progress: receives the cases.
    """
    number = len(cells)
    steps = min(steps or family.spec.horizon, family.spec.num_queries)
    own = np.full(number, -1) if own is None else own
    progress = progress or NoProgress()
    progress.start("leaving rows out", number)
    size = min(_CHUNK, 1 << max(0, number - 1).bit_length())
    parts = []
    try:
        for first in range(0, number, size):
            part = slice(first, first + size)
            short = size - len(cells[part])
            rows = np.pad(cells[part], [(0, short), (0, 0)]).astype(np.int32)
            alone = np.pad(own[part], (0, short), constant_values=-1).astype(np.int32)
            found = _play_chunk(family, rows, alone, steps)
            parts.append([it[: size - short] for it in found])
            progress.advance(size - short)
    finally:
        progress.finish()
    beliefs, queries = (np.concatenate(it) for it in zip(*parts, strict=True))
    return Plays(beliefs, queries)


def _play_chunk(family: CaseTable, cells: np.ndarray, own: np.ndarray, steps: int):
    state = _start(family, jnp.asarray(own))
    allowed = jnp.ones((len(cells), family.spec.num_queries), bool)
    belief = jax.vmap(family.exact_belief().log_posterior)
    beliefs, queries = [np.asarray(belief(state))], []
    for _ in range(steps):
        state, allowed, query, after = _step(family, state, allowed, cells)
        beliefs.append(np.asarray(after))
        queries.append(np.asarray(query))
    return np.stack(beliefs, axis=1), np.stack(queries, axis=1)


@eqx.filter_jit
def _start(family: CaseTable, own: Int[Array, "cases"]):
    prior = family.log_weight
    flat = jnp.arange(prior.size)
    gone = flat[None] == jnp.asarray(own)[:, None]
    state = jnp.where(gone, _GONE, prior.reshape(-1)[None])
    return state.reshape(len(own), *prior.shape)


@eqx.filter_jit
def _step(
    family: CaseTable, state, allowed: Bool[Array, "cases queries"], cells
) -> tuple[Array, Array, Array, Array]:
    belief = family.exact_belief()
    costs = family.spec.cost_array

    def one(state, allowed, cells):
        scores = belief.information_gains(state) / costs
        query = jnp.argmax(jnp.where(allowed, scores, -jnp.inf))
        case = Case(jnp.zeros((), jnp.int32), cells)
        outcome = family.step(None, query, case, key=jax.random.key(0)).outcome
        state = belief.update(state, query, outcome)
        allowed = allowed & (jnp.arange(len(allowed)) != query)
        return state, allowed, query, belief.log_posterior(state)

    return jax.vmap(one)(state, allowed, jnp.asarray(cells))
