import dataclasses

import jax.numpy as jnp
import jax.random as jr
import pytest

from icpe.core.family import AbstractTaskFamily, StepResult, parameter
from icpe.core.spec import TaskSpec
from icpe.families import fingerprint, make


class Subject(AbstractTaskFamily):
    """A coin with everything that a fingerprint should or should not notice."""

    names: tuple[str, ...] = parameter((), "names of the queries")
    horizon: int = parameter(3, "most queries")
    costs: tuple[float, ...] = parameter((), "costs")
    scale: float = parameter(1.0, "scale of the outcome")
    heads: float = parameter(0.5, "prior of heads")
    noise: float = parameter(0.1, "noise of an outcome")
    hint: bool = parameter(False, "reveal the side at reset")
    masked: bool = parameter(False, "forbid query 1 after the first step")
    ends: bool = parameter(False, "end after the first step")
    swapped: bool = parameter(False, "call heads tails")
    offset: float = parameter(0.0, "added to every outcome")

    @property
    def spec(self) -> TaskSpec:
        spec = TaskSpec(2, 2, 1, self.horizon, costs=self.costs)
        spec = dataclasses.replace(spec, outcome_scale=(self.scale,))
        if self.names:
            spec = dataclasses.replace(
                spec,
                query_names=self.names,
                hypothesis_names=self.names,
                outcome_names=self.names[:1],
                outcome_labels=((self.names[0], (1.0,)),),
                question=self.names[0],
            )
        return dataclasses.replace(spec, masks_queries=self.masked)

    def sample_task(self, *, key):
        return jr.bernoulli(key, self.heads).astype(jnp.int32)

    def reset(self, task, *, key):
        outcome = jnp.where(self.hint, task.astype(float), 0.0)[None]
        return StepResult(None, outcome, jnp.ones(2, bool), jnp.asarray(False))

    def step(self, state, query, task, *, key):
        outcome = task.astype(float) + self.noise * jr.normal(key) + self.offset
        mask = jnp.asarray([True, not self.masked])
        return StepResult(None, outcome[None], mask, jnp.asarray(self.ends))

    def hypothesis(self, task):
        return 1 - task if self.swapped else task


@pytest.fixture(scope="module")
def reference() -> str:
    return fingerprint(Subject())


def test_a_fingerprint_is_a_function_of_the_family(reference):
    assert fingerprint(Subject()) == reference
    assert len(reference) == 16 and int(reference, 16) >= 0


def test_names_for_people_do_not_enter(reference):
    assert fingerprint(Subject(names=("left", "right"))) == reference


def test_the_last_bits_of_an_outcome_do_not_enter(reference):
    assert fingerprint(Subject(noise=0.1 + 1e-8)) == reference


@pytest.mark.parametrize(
    "change",
    [
        {"horizon": 4},
        {"costs": (1.0, 2.0)},
        {"scale": 2.0},
        {"heads": 0.05},
        {"noise": 0.2},
        {"hint": True},
        {"masked": True},
        {"ends": True},
        {"swapped": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_part_of_the_law_enters(change, reference):
    assert fingerprint(Subject(**change)) != reference


@pytest.mark.slow
def test_round_numbers_are_not_at_a_border_of_the_rounding():
    # An odd multiple of half the resolution, moved by a last bit or so.
    low = Subject(noise=0.0, offset=0.125 - 1e-6)
    high = Subject(noise=0.0, offset=0.125 + 1e-6)
    assert fingerprint(low) == fingerprint(high)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("binary-search", "88ba17a0ae8b5db9"),
        ("deterministic-bandit", "fd438ec931c2e565"),
        ("gaussian-bandit", "730980fe89b2d26c"),
        ("feedback-graph", "fdf484d964615e3a"),
        ("magic-chain", "afaa2ce847709b55"),
        ("magic-room", "b2a78f379db41061"),
    ],
)
def test_the_law_of_a_family_that_explorers_were_trained_on_has_not_changed(
    name, expected
):
    """A change here makes every saved explorer of the family unusable."""
    assert fingerprint(make(name)) == expected
