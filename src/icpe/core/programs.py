"""How large programs are compiled."""

import functools as ft

import equinox as eqx

COMPILER_OPTIONS = {
    "xla_disable_hlo_passes": "triton-softmax-rewriter",
    "xla_gpu_enable_triton_gemm": False,
}
"""Fusions that a GPU would have to search tilings for take most of the time that
compiling takes, and the programs run no faster for them. Other machines ignore this."""

jit_program = ft.partial(eqx.filter_jit, compiler_options=COMPILER_OPTIONS)
"""`eqx.filter_jit` for programs that take long to compile."""
