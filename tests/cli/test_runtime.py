"""Where compiled programs are kept, and that it never stands in the way."""

from pathlib import Path

import jax
import pytest

from icpe.cli.runtime import cache_folder, keep_compiled_programs


@pytest.fixture
def updates(monkeypatch):
    """The settings of jax that were changed."""
    changed = {}
    monkeypatch.setattr(jax.config, "update", changed.__setitem__)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    return changed


def test_programs_are_kept_in_the_cache_folder_of_the_user(
    monkeypatch, tmp_path, updates
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    keep_compiled_programs()
    assert updates["jax_compilation_cache_dir"] == str(cache_folder())
    assert cache_folder() == tmp_path / "icpe" / "compiled"
    assert cache_folder().is_dir()


def test_the_cache_folder_is_in_the_home_folder_by_default(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path.home() / ".cache" / "icpe" / "compiled"


def test_a_folder_that_cannot_be_made_is_no_error(monkeypatch, tmp_path, updates):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    keep_compiled_programs()
    assert not any("cache" in name for name in updates)


def test_a_folder_chosen_by_the_user_is_left_in_force(monkeypatch, tmp_path, updates):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    keep_compiled_programs()
    assert not any("cache" in name for name in updates)
