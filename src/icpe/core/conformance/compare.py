"""What the conformance suites share: tracing, and running one by one and together."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from icpe.core.arrays import PyTree
from icpe.core.errors import ConformanceError, IcpeError


def trace(name: str, method: Callable, *arguments: PyTree) -> PyTree:
    """The shapes that a method returns, found without running it.

    Raises:
        ConformanceError: the method cannot be traced. Errors that a method raises on
            purpose (`IcpeError`) pass through.
    """
    try:
        return eqx.filter_eval_shape(method, *arguments)
    except IcpeError:
        raise
    except Exception as error:
        raise ConformanceError(
            f"{name} cannot be compiled, it raised {in_short(error)}; write it for "
            "one episode with jax.numpy, and with jnp.where in place of if."
        ) from error


def jit_once(function: Callable) -> Callable:
    """`jax.jit` for a program that runs once; on the CPU it is not optimized."""
    if jax.default_backend() != "cpu":
        return jax.jit(function)
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})


def in_short(error: Exception) -> str:
    """Type and first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def layout(tree: PyTree) -> str:
    """Structure, shapes and dtypes of a pytree, for comparison and for people."""

    def words(leaf) -> str:
        if not hasattr(leaf, "dtype"):
            return repr(leaf)
        return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"

    return str(jax.tree.map(words, tree)).replace("'", "")


def is_integer(leaf: PyTree) -> bool:
    """Whether a shape describes one integer."""
    return leaf.shape == () and jnp.issubdtype(leaf.dtype, jnp.integer)


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
    does not come from a key.
    """
    looped = jit_once(lambda arguments: lax.map(episode, arguments))(arguments)
    if agree(result, jax.tree.map(np.asarray, looped)):
        return
    if agree(result, run_vmapped(episode, arguments)):
        raise ConformanceError(
            f"{who} behaves differently under vmap than one episode after the other; "
            "write its methods for one episode, without an axis for a batch."
        )
    raise ConformanceError(
        f"{who} behaved differently with the same keys when it was compiled again; "
        "take all randomness from the key argument, none from numpy or random."
    )


def close(one: PyTree, other: PyTree) -> bool:
    """Whether two pytrees of arrays are equal up to rounding."""
    return all(
        np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )
