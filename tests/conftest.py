"""How all tests run: checked types, strict numerics, one thread per worker."""
# ruff: noqa: E402

import os
import tempfile

# Two workers share two cores, so each keeps to one; set before numpy is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import hypothesis
import jax
import jax.random as jr
import pytest
from jaxtyping import install_import_hook

# Every shape and type annotation of the package is checked at run time; an int is
# accepted where a float is asked for, as in PEP 484.
install_import_hook(
    "icpe", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
)

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Most of the time goes into compiling, so compiled programs are kept for the next run.
jax.config.update(
    "jax_compilation_cache_dir",
    os.path.join(tempfile.gettempdir(), "icpe-test-compilations"),
)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

# The same examples in every run; the first of them may compile, so no deadline.
hypothesis.settings.register_profile(
    "icpe", deadline=None, derandomize=True, database=None
)
hypothesis.settings.load_profile("icpe")


def pytest_configure(config):
    """Sets the compiler's flags, which are read when the first program is compiled.

    Fast tests spend their time compiling, so they do not optimize (half the time to
    compile, twice the time to run); slow tests do. Two workers may meet while one
    writes a compiled program, or the folder may be removed; then a program is simply
    compiled.
    """
    for work in ("reading", "writing"):
        config.addinivalue_line(
            "filterwarnings", f"ignore:Error {work} persistent compilation cache"
        )
    flags = "--xla_cpu_multi_thread_eigen=false"
    if config.option.markexpr == "not slow":
        flags += " --xla_backend_optimization_level=0"
    os.environ.setdefault("XLA_FLAGS", flags)


@pytest.fixture
def key():
    """A fixed key for tests that need only one."""
    return jr.key(0)
