"""`icpe train` names a newcomer's mistake, and does not call it a bug of ours."""

from pathlib import Path

import pytest

from icpe.families import registry

BASE = """
import icpe
import jax.numpy as jnp
import jax.random as jr


class Base(icpe.AbstractTaskFamily):
    size: int = icpe.parameter(4, "how many boxes there are")

    @property
    def spec(self):
        return icpe.TaskSpec(self.size, self.size, outcome_size=1, horizon=4)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, self.size)

    def reset(self, task, *, key):
        return icpe.plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        return icpe.plain_step(self.spec, jnp.float32(query == task)[None])

    def hypothesis(self, task):
        return task


"""
MISTAKES = {
    "PythonIf": (
        """class PythonIf(Base):
    def step(self, state, query, task, *, key):
        told = 1.0 if query == task else 0.0
        return icpe.plain_step(self.spec, jnp.asarray([told]))
""",
        "jnp.where",
    ),
    "NothingReturned": (
        """class NothingReturned(Base):
    def step(self, state, query, task, *, key):
        icpe.plain_step(self.spec, jnp.float32(query == task)[None])
""",
        "step returns NoneType; return a StepResult.",
    ),
    "OneTooMany": (
        """class OneTooMany(Base):
    def hypothesis(self, task):
        return task + 1
""",
        "hypothesis",
    ),
    "Unfinished": (
        """class Unfinished(icpe.AbstractTaskFamily):
    size: int = icpe.parameter(4, "how many boxes there are")

    def hypothesis(self, task):
        return task
""",
        "Unfinished lacks reset, sample_task, spec, step",
    ),
    "OwnInit": (
        """class OwnInit(Base):
    def __init__(self, size=4):
        self.size = size
        self.horizon = 4
""",
        "OwnInit has an __init__",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(icpe, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
    body, words = MISTAKES[name]
    Path(f"{name.lower()}.py").write_text(BASE + body, encoding="utf-8")
    called = icpe(f"train {name.lower()}.py:{name} --out x.safetensors")
    assert called.status == 2
    assert words in called.err and "bug" not in called.err


@pytest.mark.parametrize("word", ["mine.py", "mine:Mine"])
def test_a_file_without_its_class_is_told_how_to_name_it(icpe, word):
    called = icpe(f"train {word} --out x.safetensors")
    assert called.status == 2 and "FILE.py:CLASS" in called.err
