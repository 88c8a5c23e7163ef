"""The largest minimum of concave functions on the simplex, by an interior-point method.

Characteristic times are all of this kind: proportions of queries are chosen to
maximize the information against the hardest alternative. The solver is small, needs
no other library, and runs under `jit` and `vmap`.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, Scalar

Point = Float[Array, "coordinates"]

_MAX_NEWTON_STEPS = 120
_NUM_STEP_SIZES = 12


class MaxMin(eqx.Module):
    """A point of the simplex, its value, and a proof of how good it is.

    No point of the simplex has a minimum above `upper_bound`; at the point it is
    `value`. Both are 0 where some function vanishes in the whole simplex.
    """

    point: Point
    value: Scalar
    upper_bound: Scalar


def maximize_minimum(
    functions: Callable[[Point], Float[Array, "functions"]],
    start: Point,
    active: Bool[Array, "functions"],
) -> MaxMin:
    """Maximizes the smallest of the active functions over the simplex.

    The functions must be concave, differentiable and positively homogeneous of degree
    1. Follows the central path of max z + b (sum log w_i + sum log(f_a(w) - z)) with
    Newton steps in the scaled variables, for b down to the precision of the numbers
    (Boyd and Vandenberghe 2004, "Convex optimization", section 11.3). The bound is
    sup over w of sum_a q_a f_a(w) <= max_i sum_a q_a df_a/dw_i for the multipliers q.

    Args:
        functions: f, from a point to the value of each function.
        start: a point inside the simplex, whose dtype is used throughout.
        active: which functions count.
    """
    first = jnp.min(jnp.where(active, functions(start), jnp.inf))
    scale = jnp.where(first > 0, first, 1.0)

    def slacks(point, level):
        return jnp.where(active, functions(point) / scale - level, 1.0)

    def barrier(point, level):
        return -jnp.sum(jnp.log(point)) - jnp.sum(jnp.log(slacks(point, level)))

    num_terms = start.size + jnp.sum(active, dtype=start.dtype)
    smallest = jnp.finfo(start.dtype).eps ** 0.6 / num_terms
    path = _Path(
        point=start,
        level=jnp.full_like(scale, 0.5),
        weight=1.0 / num_terms,
        steps=jnp.zeros((), jnp.int32),
        finished=jnp.asarray(False),
    )
    path = lax.while_loop(
        lambda path: ~path.finished & (path.steps < _MAX_NEWTON_STEPS),
        lambda path: _newton_step(path, barrier, smallest),
        path,
    )
    point = path.point / jnp.sum(path.point)
    multipliers = jnp.where(active, 1.0 / slacks(path.point, path.level), 0.0)
    multipliers = multipliers / jnp.sum(multipliers)
    _, pull_back = jax.vjp(functions, point)
    value = jnp.min(jnp.where(active, functions(point), jnp.inf))
    return MaxMin(
        point=jnp.where(first > 0, point, start),
        value=jnp.where(first > 0, value, 0.0),
        upper_bound=jnp.where(first > 0, jnp.max(pull_back(multipliers)[0]), 0.0),
    )


class _Path(eqx.Module):
    """Where the solver stands: the point, the level z and the barrier's weight b."""

    point: Point
    level: Scalar
    weight: Scalar
    steps: Index
    finished: Bool[Array, ""]


def _newton_step(path: _Path, barrier: Callable, smallest: Scalar) -> _Path:
    """One Newton step on the central path; a small one also lowers the weight."""
    size = path.point.size

    def moved(step):
        return path.point * (1.0 + step[:size]), path.level + step[size]

    def objective(step):
        point, level = moved(step)
        inside = jnp.all(point > 0)
        value = barrier(jnp.where(inside, point, 1.0), level) - level / path.weight
        return jnp.where(inside & ~jnp.isnan(value), value, jnp.inf)

    still = jnp.zeros(size + 1, path.point.dtype)
    gradient, hessian = jax.grad(objective)(still), jax.hessian(objective)(still)
    on_simplex = jnp.append(path.point, 0.0)
    system = jnp.zeros((size + 2, size + 2), gradient.dtype)
    system = system.at[:-1, :-1].set(hessian)
    system = system.at[-1, :-1].set(on_simplex).at[:-1, -1].set(on_simplex)
    newton = jnp.linalg.solve(system, jnp.append(-gradient, 0.0))[: size + 1]
    decrement = -jnp.dot(gradient, newton)
    longest = jnp.minimum(1.0, 0.95 / jnp.maximum(jnp.max(-newton[:size]), 0.1))
    sizes = longest * 0.6 ** jnp.arange(_NUM_STEP_SIZES, dtype=newton.dtype)
    values = jax.vmap(lambda size: objective(size * newton))(sizes)
    best = jnp.argmin(values)
    improved = values[best] < objective(still)
    point, level = moved(jnp.where(improved, sizes[best] * newton, 0.0))
    centered = (decrement < 0.1) | ~improved
    return _Path(
        point=point,
        level=level,
        weight=jnp.where(centered, 0.15 * path.weight, path.weight),
        steps=path.steps + 1,
        finished=centered & (path.weight <= smallest),
    )
