"""Every check of `check_family` fires on a family that breaks just that rule."""

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.custom_batching import custom_vmap

from icpe.core.conformance import check_is_family
from icpe.core.errors import ConformanceError
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec
from icpe.testing import check_family
from support.toy_tasks import Corridor, Hint, Lockers, TwoBits, TwoDoors


@pytest.mark.parametrize(
    "family",
    [TwoDoors(reliability=0.8), Lockers(), Corridor(), Hint(), TwoBits()],
    ids=lambda family: type(family).__name__,
)
def test_the_toy_families_pass(family):
    check_family(family)


class Sound(AbstractTaskFamily):
    """A coin whose side one look reveals; the broken families change one method."""

    horizon: int = parameter(2, "most queries")

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(2, 2, 1, self.horizon)

    def sample_task(self, *, key) -> Any:
        return jr.bernoulli(key).astype(jnp.int32)

    def reset(self, task, *, key) -> Any:
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key) -> Any:
        return plain_step(self.spec, task.astype(jnp.float32)[None])

    def hypothesis(self, task) -> Any:
        return task


class RestlessSpec(Sound):
    @property
    def spec(self):
        return TaskSpec(2, 2, 1, next(_COUNTER))


_COUNTER = itertools.count(2)


class ShortLabel(Sound):
    @property
    def spec(self):
        return TaskSpec(2, 2, 1, 2, outcome_labels=(("heads", (0.0, 1.0)),))


class MissingLabel(Sound):
    @property
    def spec(self):
        return TaskSpec(2, 2, 1, 2, outcome_labels=(("heads", (1.0,)),))


class StrangeQuestion(Sound):
    @property
    def spec(self):
        return TaskSpec(2, 2, 1, 2, question="What about {arm}?")


class Unhashable(Sound):
    names: Any = parameter((), "a list")


class NotJson(Sound):
    limit: float = parameter(float("inf"), "an infinite number")


class CannotBeRebuilt(Sound):
    def __init__(self, steps=2):
        self.horizon = steps


class RebuildsAnother(Sound):
    def __init__(self, horizon=2):
        self.horizon = horizon + 1


class BranchesOnATask(Sound):
    def hypothesis(self, task):
        return jnp.asarray(1 if task > 0 else 0)


class ReturnsATuple(Sound):
    def reset(self, task, *, key):
        return jnp.zeros(1), jnp.ones(2, bool)


class WideOutcome(Sound):
    def step(self, state, query, task, *, key):
        return plain_step(self.spec, jnp.zeros(2))


def _with(result: StepResult, field: str, value: jax.Array) -> StepResult:
    """The result with a field replaced, past the checks of its constructor."""
    return eqx.tree_at(lambda result: getattr(result, field), result, value)


class IntegerMask(Sound):
    def reset(self, task, *, key):
        return _with(plain_reset(self.spec), "query_mask", jnp.ones(2, jnp.int32))


class VectorTerminated(Sound):
    def step(self, state, query, task, *, key):
        result = plain_step(self.spec, jnp.zeros(1))
        return _with(result, "terminated", jnp.zeros(1, bool))


class GrowingState(Sound):
    def step(self, state, query, task, *, key):
        return StepResult(query, jnp.zeros(1), jnp.ones(2, bool), jnp.asarray(False))


class FloatHypothesis(Sound):
    def hypothesis(self, task):
        return task.astype(jnp.float32)


class HypothesisOutOfRange(Sound):
    def hypothesis(self, task):
        return task + 1


class OneTask(Sound):
    def sample_task(self, *, key):
        return jr.bernoulli(jr.key(0)).astype(jnp.int32)


class NotANumber(Sound):
    def step(self, state, query, task, *, key):
        outcome = jnp.where(query == 1, jnp.nan, task.astype(jnp.float32))
        return plain_step(self.spec, outcome[None])


class Astronomical(Sound):
    def step(self, state, query, task, *, key):
        return plain_step(self.spec, 1e20 * task.astype(jnp.float32)[None])


class UndeclaredMask(Sound):
    def step(self, state, query, task, *, key):
        mask = jnp.arange(2) == query
        return StepResult(None, jnp.zeros(1), mask, jnp.asarray(False))


class NumpyRandomness(Sound):
    def step(self, state, query, task, *, key):
        return plain_step(self.spec, jnp.full(1, np.random.default_rng().normal()))


class RareNumpyRandomness(Sound):
    """Two compilations mostly draw the same answers."""

    def step(self, state, query, task, *, key):
        return plain_step(self.spec, jnp.full(1, float(_DRAWS.random() < 0.3)))


_DRAWS = np.random.default_rng(0)


class PlainTask(Sound):
    def sample_task(self, *, key):
        return 1


class WordsInATask(Sound):
    def sample_task(self, *, key):
        return {"kind": "coin", "side": jr.bernoulli(key).astype(jnp.int32)}


class WithoutKey(Sound):
    def sample_task(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return jnp.asarray(1)


class KeepsInSelf(Sound):
    def step(self, state, query, task, *, key):
        self.horizon = 3
        return plain_step(self.spec, jnp.zeros(1))


class SpecMethod(Sound):
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return TaskSpec(2, 2, 1, 2)


class NoHypothesis(Sound):
    def hypothesis(self, task):
        return None


class TruthsForOutcomes(Sound):
    def step(self, state, query, task, *, key):
        return _with(plain_reset(self.spec), "outcome", jr.bernoulli(key)[None])


class ScalarOutcome(Sound):
    def step(self, state, query, task, *, key):
        return _with(plain_reset(self.spec), "outcome", jr.uniform(key))


class NothingAllowed(Sound):
    @property
    def spec(self):
        return TaskSpec(2, 2, 1, 2, masks_queries=True)

    def reset(self, task, *, key):
        return StepResult(None, jnp.zeros(1), jnp.zeros(2, bool), jnp.asarray(False))

    def step(self, state, query, task, *, key):
        return self.reset(task, key=key)


class RevealsUnsaid(Sound):
    @property
    def spec(self):
        return TaskSpec(2, 2, 1, 2, reveals=False)

    def reset(self, task, *, key):
        return plain_step(self.spec, jnp.ones(1))


class ShortMask(Sound):
    def query_mask(self, first_outcome, history):
        return jnp.ones(1, bool)


class MaskThatFails(Sound):
    def query_mask(self, first_outcome, history):
        return jnp.ones(2, bool) if history.queries else None


@custom_vmap
def _length(x):
    return x


@_length.def_vmap
def _length_of_a_batch(size, is_batched, x):
    return x + 1.0, is_batched[0]


class KnowsOfTheBatch(Sound):
    def step(self, state, query, task, *, key):
        return plain_step(self.spec, _length(task.astype(jnp.float32))[None])


@pytest.mark.parametrize(
    ("family", "sentence"),
    [
        (RestlessSpec(), "spec differs between two reads"),
        (ShortLabel(), "outcome_labels gives 'heads' 2 numbers"),
        (MissingLabel(), "outcome_labels does not name; name every outcome"),
        (StrangeQuestion(), "use the field {query} and no other"),
        (Unhashable(names=["a"]), "is not hashable"),
        (NotJson(), "cannot be written as JSON"),
        (CannotBeRebuilt(), "raised TypeError"),
        (RebuildsAnother(), "is not equal to the family it came from"),
        (BranchesOnATask(), "hypothesis cannot be compiled"),
        (ReturnsATuple(), "reset returns tuple; return a StepResult"),
        (WideOutcome(), r"step returns outcome as float32[2]; return float of"),
        (IntegerMask(), "reset returns query_mask as int32[2]; return bool of"),
        (VectorTerminated(), "step returns terminated as bool[1]; return bool of"),
        (GrowingState(), "the state is None after reset and int32[] after step"),
        (FloatHypothesis(), "hypothesis returns float32[]; return one integer"),
        pytest.param(
            HypothesisOutOfRange(),
            "hypothesis returned 2; return a number from 0 to 1",
            marks=pytest.mark.slow,
        ),
        (OneTask(), "gave one and the same task"),
        pytest.param(
            NotANumber(), "an outcome is NaN or infinite", marks=pytest.mark.slow
        ),
        (Astronomical(), "an outcome is as large as 1e+20"),
        pytest.param(
            UndeclaredMask(), "set masks_queries=True", marks=pytest.mark.slow
        ),
        pytest.param(
            NumpyRandomness(), "when it was compiled again", marks=pytest.mark.slow
        ),
        pytest.param(RareNumpyRandomness(), "compiled again", marks=pytest.mark.slow),
        (KnowsOfTheBatch(), "behaves differently under vmap"),
        (PlainTask(), "sample_task gave one and the same task, 1, whatever its key"),
        (WordsInATask(), "sample_task returns 'coin' among its values"),
        (WithoutKey(), "let it take the arguments of AbstractTaskFamily"),
        (KeepsInSelf(), "keep what changes in the state that it returns"),
        (SpecMethod(), "put @property above it"),
        (NoHypothesis(), "hypothesis returns None; return one integer"),
        (TruthsForOutcomes(), "as bool[1]; return float of shape (1,), as the spec"),
        (ScalarOutcome(), "as jnp.asarray(x)[None] does for one number x"),
        (NothingAllowed(), "reset forbids every query"),
        (RevealsUnsaid(), "reset reveals something although spec.reveals is False"),
        (ShortMask(), "is [True] after 0 queries, and reset returned [True, True]"),
        (MaskThatFails(), "query_mask raised"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_broken_family_is_refused_with_a_sentence(family, sentence):
    with pytest.raises(ConformanceError) as caught:
        check_family(family)
    message = str(caught.value)
    assert sentence in message
    assert message.endswith(".") and "; " in message


def test_a_class_in_place_of_a_family_is_told_apart():
    with pytest.raises(ConformanceError, match=r"got its class; call it, as Sound"):
        check_is_family(Sound)


def test_the_family_that_the_broken_ones_are_made_from_is_sound():
    check_family(Sound())


def test_a_plain_python_number_is_as_good_as_an_array():
    class Plain(Sound):
        def step(self, state, query, task, *, key):
            outcome = task.astype(jnp.float32)[None]
            return StepResult(None, outcome, jnp.ones(2, bool), False)

    check_family(Plain())


def test_nothing_is_demanded_of_outcomes_after_the_end():
    class NonsenseAfterTheEnd(Sound):
        def step(self, state, query, task, *, key):
            return StepResult(
                None, jnp.full(1, jnp.nan), jnp.ones(2, bool), jnp.asarray(True)
            )

        def reset(self, task, *, key):
            return _with(plain_reset(self.spec), "terminated", jnp.asarray(True))

    check_family(NonsenseAfterTheEnd())
