"""What the conformance suites share: tracing, and running one by one and together."""

import dataclasses
import re
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from icpe.core.arrays import PyTree
from icpe.core.errors import ConformanceError, IcpeError

_WRONG_ARGUMENTS = r"\(\) (got an? |missing |takes )"
"""How Python complains about a call that does not fit."""
_ADDRESS = re.compile("0x[0-9a-f]+")
_CHANCES = 8
"""Compilations of a program that is never the same, to find that it acts so."""


def trace(name: str, method: Callable, *arguments: PyTree) -> PyTree:
    """The shapes that a method returns, found without running it.

    Raises:
        ConformanceError: the method cannot be traced. Errors that a method raises on
            purpose (`IcpeError`) pass through.
    """
    try:
        return jax.tree.map(_as_shape, eqx.filter_eval_shape(method, *arguments))
    except IcpeError:
        raise
    except Exception as error:
        raise ConformanceError(
            f"{name} cannot be compiled, it raised {in_short(error)}; {_remedy(error)}."
        ) from error


def _as_shape(leaf: PyTree) -> PyTree:
    """Plain Python numbers are as good as arrays."""
    if isinstance(leaf, bool | int | float):
        return jax.ShapeDtypeStruct((), jnp.result_type(leaf))
    return leaf


def _remedy(error: Exception) -> str:
    """What most likely helps, by the kind of error."""
    if isinstance(error, dataclasses.FrozenInstanceError):
        return "keep what changes in the state that it returns, and nothing in self"
    if isinstance(error, TypeError) and re.search(_WRONG_ARGUMENTS, str(error)):
        return (
            "let it take the arguments of AbstractTaskFamily, such as sample_task(self,"
            " *, key) and step(self, state, query, task, *, key)"
        )
    return "write it for one episode with jax.numpy, and with jnp.where in place of if"


def jit_once(function: Callable) -> Callable:
    """`jax.jit` for a program that runs once; on the CPU it is not optimized."""
    if jax.default_backend() != "cpu":
        return jax.jit(function)
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})


def in_short(error: Exception) -> str:
    """Type and first line of an error."""
    lines = str(error).strip().splitlines()
    name = type(error).__name__
    return f"{name}: {lines[0].rstrip('.')}" if lines else name


def layout(tree: PyTree) -> str:
    """Structure, shapes and dtypes of a pytree, for comparison and for people."""

    def words(leaf) -> str:
        if not hasattr(leaf, "dtype"):
            return repr(leaf)
        return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"

    return str(jax.tree.map(words, tree)).replace("'", "")


def is_integer(leaf: PyTree) -> bool:
    """Whether a shape describes one integer."""
    return getattr(leaf, "shape", None) == () and jnp.issubdtype(
        leaf.dtype, jnp.integer
    )


def run_vmapped(episode: Callable, arguments: PyTree) -> PyTree:
    """Runs a batch of episodes, compiled anew; the result is numpy arrays.

    Args:
        episode: from the arguments of one episode to what it showed.
        arguments: the arguments, with leading axis `episodes`.
    """
    mapped = jit_once(lambda arguments: jax.vmap(episode)(arguments))
    return jax.tree.map(np.asarray, mapped(arguments))


def check_pure(
    who: str, episode: Callable, arguments: PyTree, result: PyTree, agree: Callable
) -> None:
    """Runs episodes one after the other and demands what `run_vmapped` gave.

    Python code runs anew in every compilation, so this also finds randomness that
    does not come from a key. Where answers are few they may agree by luck; if the
    programs differ, they get more chances not to.
    """
    looped = jit_once(lambda arguments: lax.map(episode, arguments))(arguments)
    if agree(result, jax.tree.map(np.asarray, looped)):
        one = jax.tree.map(lambda leaf: leaf[0], arguments)
        if _program(episode, one) == _program(episode, one) or all(
            agree(result, run_vmapped(episode, arguments)) for _ in range(_CHANCES)
        ):
            return
    again = (run_vmapped(episode, arguments) for _ in range(3))  # few may agree by luck
    if all(agree(result, it) for it in again):
        raise ConformanceError(
            f"{who} behaves differently under vmap than one episode after the other; "
            "write its methods for one episode, without an axis for a batch."
        )
    raise ConformanceError(
        f"{who} behaved differently with the same keys when it was compiled again; "
        "take all randomness from the key argument, none from numpy or random."
    )


def _program(episode: Callable, arguments: PyTree) -> tuple:
    """What an episode is compiled from, traced anew, without addresses in memory."""
    closed = jax.make_jaxpr(lambda arguments: episode(arguments))(arguments)
    constants = [np.asarray(it).tobytes() for it in map(_plain, closed.consts)]
    return _ADDRESS.sub("", str(closed.jaxpr)), constants


def _plain(leaf):
    """Keys as their bits."""
    is_key = jnp.issubdtype(jnp.result_type(leaf), jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else leaf


def close(one: PyTree, other: PyTree) -> bool:
    """Whether two pytrees of arrays are equal up to rounding."""
    return all(
        np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )
