"""Programs of array operations that every ONNX runtime knows.

A compiled step of an explorer looks up rows and writes into memory by gathering and
scattering at a position that is known only at run time, and multiplies along any axes.
Converters get these wrong or refuse them. Each is the same as something plainer: a sum
over a row of ones and zeros, a choice between old and new, a product of matrices.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax

_INLINED = (
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vmap_call",
    "remat2",
    "checkpoint",
)
_LONGEST_LOOP = 64
"""Loops of a fixed length up to this are written out."""


def plain(function: Callable[..., Any], shapes: Sequence[jax.ShapeDtypeStruct]) -> Any:
    """A function of arrays that gives the same list of arrays in plain operations."""
    closed = jax.make_jaxpr(lambda *inputs: jax.tree.leaves(function(*inputs)))(*shapes)
    rewritten = jax.make_jaxpr(
        lambda *inputs: _apart(_evaluate(closed.jaxpr, closed.consts, inputs), inputs)
    )(*shapes)
    return jex.jaxpr_as_fun(rewritten)


def _apart(outputs: list[Any], inputs: Sequence[Any]) -> list[Any]:
    """The outputs, each an array of its own: in a model they have names."""
    taken = {id(it) for it in inputs}
    found = []
    for output in outputs:
        found.append(jnp.array(output, copy=True) if id(output) in taken else output)
        taken.add(id(output))
    return found


def _evaluate(jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, inputs, strict=True))

    def read(variable):
        if isinstance(variable, jex.Literal):
            return variable.val
        return values[variable]

    for equation in jaxpr.eqns:
        outputs = _apply(equation, [read(it) for it in equation.invars])
        values.update(zip(equation.outvars, outputs, strict=True))
    return [read(it) for it in jaxpr.outvars]


def _apply(equation: Any, inputs: list[Any]) -> list[Any]:
    name, params = equation.primitive.name, equation.params
    if name in _INLINED:
        return _evaluate(*_inner(params), inputs)
    if name == "optimization_barrier":
        return inputs
    if name == "stop_gradient":
        return inputs
    if name == "scan" and params["length"] <= _LONGEST_LOOP and not params["reverse"]:
        return _written_out(params, inputs)
    shape = tuple(it.aval.shape for it in equation.outvars)
    rule = _RULES.get(name)
    output = rule(params, shape[0], *inputs) if rule else None
    if output is not None:
        return [output]
    output = equation.primitive.bind(*inputs, **params)
    return list(output) if equation.primitive.multiple_results else [output]


def _inner(params: dict[str, Any]) -> tuple[Any, Sequence[Any]]:
    inner = params.get("jaxpr") or params.get("call_jaxpr") or params.get("call")
    if isinstance(inner, jex.ClosedJaxpr):
        return inner.jaxpr, inner.consts
    return inner, ()


def _written_out(params: dict[str, Any], inputs: list[Any]) -> list[Any]:
    """A loop of fixed length, step after step."""
    jaxpr, consts = _inner(params)
    first, second = params["num_consts"], params["num_consts"] + params["num_carry"]
    fixed, carried, rows = inputs[:first], inputs[first:second], inputs[second:]
    collected = []
    for step in range(params["length"]):
        given = [*fixed, *carried, *(row[step] for row in rows)]
        outputs = _evaluate(jaxpr, consts, given)
        carried, found = (
            outputs[: params["num_carry"]],
            outputs[params["num_carry"] :],
        )
        collected.append(found)
    return [*carried, *(jnp.stack(each) for each in zip(*collected, strict=True))]


def _product(params: dict[str, Any], shape, left, right):
    """A product along any axes, as one of matrices."""
    (left_sum, right_sum), (left_batch, right_batch) = params["dimension_numbers"]
    left_free = _others(left.ndim, left_sum, left_batch)
    right_free = _others(right.ndim, right_sum, right_batch)
    batch = [left.shape[axis] for axis in left_batch]
    summed = math.prod(left.shape[axis] for axis in left_sum)
    left = lax.transpose(left, (*left_batch, *left_free, *left_sum))
    right = lax.transpose(right, (*right_batch, *right_sum, *right_free))
    product = jnp.matmul(
        lax.reshape(left, (*batch, left.size // math.prod(batch) // summed, summed)),
        lax.reshape(right, (*batch, summed, right.size // math.prod(batch) // summed)),
        precision=params["precision"],
        preferred_element_type=params["preferred_element_type"],
    )
    return lax.reshape(product, shape)


def _others(number: int, *taken: Sequence[int]) -> list[int]:
    return [axis for axis in range(number) if all(axis not in some for some in taken)]


def _gathered(params: dict[str, Any], shape, operand, indices):
    """One row along each axis that is looked up: all others are left out of a sum."""
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    if numbers.operand_batching_dims or indices.size != indices.shape[-1]:
        return None
    places = lax.reshape(indices, (indices.shape[-1],))
    for at, axis in enumerate(map(int, numbers.start_index_map)):
        operand = _row(operand, axis, sizes[axis], places[at])
        if operand is None:
            return None
    return lax.reshape(operand, shape)


def _sliced(params: dict[str, Any], shape, operand, *places):
    sizes = params["slice_sizes"]
    for axis, place in enumerate(places):
        operand = _row(operand, axis, sizes[axis], place)
        if operand is None:
            return None
    return operand


def _row(operand, axis: int, size: int, place):
    """The part of an axis that begins at a place, None if that is no single row."""
    length = operand.shape[axis]
    if size == length:
        return operand
    if size != 1:
        return None
    hot = _marks(operand.shape, axis, jnp.clip(place, 0, length - 1))
    if operand.dtype == bool:
        return jnp.any(hot & operand, axis=axis, keepdims=True)
    # Runtimes add up no smaller whole numbers.
    small = jnp.issubdtype(operand.dtype, jnp.integer) and operand.dtype.itemsize < 4
    wide = operand.astype(jnp.int32) if small else operand
    kept = jnp.where(hot, wide, jnp.zeros((), wide.dtype))
    found = jnp.sum(kept, axis=axis, keepdims=True, dtype=wide.dtype)
    return found.astype(operand.dtype)


def _scattered(params: dict[str, Any], shape, operand, indices, update):
    """New values in one row of an axis, old ones elsewhere."""
    numbers = params["dimension_numbers"]
    if numbers.operand_batching_dims or indices.size != indices.shape[-1]:
        return None
    window = [1] * operand.ndim
    axes = [a for a in range(operand.ndim) if a not in numbers.inserted_window_dims]
    for axis, at in zip(axes, numbers.update_window_dims, strict=True):
        window[axis] = update.shape[at]
    places: list[Any] = [0] * operand.ndim
    flat = lax.reshape(indices, (indices.shape[-1],))
    for at, axis in enumerate(map(int, numbers.scatter_dims_to_operand_dims)):
        places[axis] = flat[at]
    return _written(operand, lax.reshape(update, tuple(window)), places)


def _updated(params: dict[str, Any], shape, operand, update, *places):
    return _written(operand, update, places)


def _written(operand, update, places: Sequence[Any]):
    hot = jnp.ones(operand.shape, bool)
    for axis, place in enumerate(places):
        length = operand.shape[axis]
        if update.shape[axis] == length:
            continue
        if update.shape[axis] != 1:
            return None
        hot = hot & _marks(operand.shape, axis, jnp.clip(place, 0, length - 1))
    return jnp.where(hot, jnp.broadcast_to(update, operand.shape), operand)


def _marks(shape: tuple[int, ...], axis: int, place):
    return lax.broadcasted_iota(jnp.int32, shape, axis) == place.astype(jnp.int32)


def _selected(params: dict[str, Any], shape, which, *cases):
    """Runtimes choose between numbers of the usual kinds alone."""
    dtype = cases[0].dtype
    if len(cases) != 2 or dtype in (jnp.float32, jnp.float64, jnp.int32, jnp.int64):
        return None
    if dtype == jnp.bool:
        return (which & cases[1]) | (~which & cases[0])
    if not jnp.issubdtype(dtype, jnp.integer):
        return None
    no, yes = (case.astype(jnp.int32) for case in cases)
    return lax.select_n(which, no, yes).astype(dtype)


def _tail(params: dict[str, Any], shape, x):
    """1 - erf(x) with all its digits where that is small (Cephes, `ndtrf.c`)."""
    if x.dtype != jnp.float32:
        return None
    far = jnp.maximum(jnp.abs(x), 1.0)
    inverse = 1.0 / (far * far)
    series = jnp.where(
        far < 2.0, _polynomial(inverse, _NEAR), _polynomial(inverse, _FAR)
    )
    tail = jnp.exp(-far * far) * series / far
    return jnp.where(
        jnp.abs(x) < 1.0, 1.0 - lax.erf(x), jnp.where(x < 0, 2.0 - tail, tail)
    )


def _polynomial(x, coefficients: Sequence[float]):
    found = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        found = found * x + coefficient
    return found


_NEAR = (
    2.326819970068386e-2,
    -1.387039388740657e-1,
    3.687424674597105e-1,
    -5.824733027278666e-1,
    6.210004621745983e-1,
    -4.944515323274145e-1,
    3.404879937665872e-1,
    -2.741127028184656e-1,
    5.638259427386472e-1,
)
_FAR = (
    -1.047766399936249e1,
    1.297719955372516e1,
    -7.495518717768503,
    2.921019019210786,
    -1.015265279202700,
    4.218463358204948e-1,
    -2.820767439740514e-1,
    5.641895067754075e-1,
)

_RULES: dict[str, Callable[..., Any]] = {
    "select_n": _selected,
    "erfc": _tail,
    "lt_to": lambda params, shape, one, two: one < two,
    "le_to": lambda params, shape, one, two: one <= two,
    "eq_to": lambda params, shape, one, two: one == two,
    "dot_general": _product,
    "gather": _gathered,
    "scatter": _scattered,
    "dynamic_slice": _sliced,
    "dynamic_update_slice": _updated,
}
