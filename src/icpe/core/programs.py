"""How large programs are compiled."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

import equinox as eqx

Function = TypeVar("Function", bound=Callable)

COMPILER_OPTIONS: dict[str, str | bool] = {
    "xla_disable_hlo_passes": "triton-softmax-rewriter",
    "xla_gpu_enable_triton_gemm": False,
}
"""Fusions that a GPU would have to search tilings for take most of the time that
compiling takes, and most programs run no faster. Other machines ignore this."""


def jit_program(
    function: Function,
    donate: Literal["all-except-first", "none"] = "none",
    *,
    runs_long: bool = False,
) -> Function:
    """`eqx.filter_jit` for programs that take long to compile.

    Of those that run for minutes a GPU searches the fastest products as well: an update
    then takes a fifth less, and compiling some 5 s more.
    """
    jit = cast(Any, eqx.filter_jit)
    options = COMPILER_OPTIONS | {"xla_gpu_enable_triton_gemm": runs_long}
    return jit(function, donate=donate, compiler_options=options)


def jit_once(function: Function) -> Function:
    """`eqx.filter_jit` for programs that run once, and are not worth optimizing."""
    jit = cast(Any, eqx.filter_jit)
    return jit(function, compiler_options={"xla_backend_optimization_level": 0})
