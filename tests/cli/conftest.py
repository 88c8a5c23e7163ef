"""A way to call the command line inside the test process."""

import dataclasses
import json

import jax
import pytest

from icpe.cli.main import main


@dataclasses.dataclass(frozen=True)
class Called:
    """What a call of the command line gave."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        """The value on the last line of standard output."""
        return json.loads(self.out.splitlines()[-1])


@pytest.fixture
def icpe(capsys, monkeypatch, tmp_path):
    """Runs `icpe` with the words of a text; the cache folder is that of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiled = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", compiled)

    def call(words: str) -> Called:
        status = main(words.split())
        out, err = capsys.readouterr()
        return Called(status, out, err)

    return call
