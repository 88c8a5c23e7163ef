"""Settings of jax that belong to the program, not to the library."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Where compiled programs are kept between runs: the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "icpe" / "compiled"


def keep_compiled_programs() -> None:
    """Switches on jax's persistent compilation cache, and what makes compiling quick.

    A folder named by the environment variable JAX_COMPILATION_CACHE_DIR is left in
    force. Without a folder that can be written, programs are compiled every time.
    """
    import jax

    # On a GPU random bits then come from one kernel, the same bits as otherwise.
    jax.config.update("jax_threefry_gpu_kernel_lowering", True)
    if os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return
    if not os.access(folder, os.W_OK):
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
