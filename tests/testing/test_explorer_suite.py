"""Every check of `check_explorer` fires on an explorer that breaks just that rule."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.custom_batching import custom_vmap

from icpe.core.episode import STOP
from icpe.core.errors import ConformanceError, OperatingPointError, UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.memory import Scratch, StepCount
from icpe.core.request import OperatingPoint, Regime
from icpe.testing import check_explorer
from support.toy_tasks import Corridor, Hint, Lockers, TwoDoors

FAMILY = TwoDoors()
BUDGET = OperatingPoint.at(4, budget=4)
PRICE = OperatingPoint.at(4, price=0.1)


class State(eqx.Module):
    """Enough for an explorer that counts."""

    may_stop: Any
    told: Any
    last: Any
    num_hypotheses: int = eqx.field(static=True)


class Sound(AbstractExplorer):
    """Asks the first allowed query; the broken explorers change one method."""

    def init(self, spec, operating_point, first_outcome) -> Any:
        may_stop = operating_point.regime is not Regime.BUDGET and spec.can_stop
        zero = jnp.zeros((), jnp.int32)
        return State(jnp.asarray(may_stop), zero, zero, spec.num_hypotheses)

    def ask(self, state, query_mask, *, key) -> Any:
        sure = state.may_stop & (state.told >= 2)
        return jnp.where(sure, STOP, jnp.argmax(query_mask))

    def tell(self, state, query, outcome) -> Any:
        query = query.astype(jnp.int32)
        return State(state.may_stop, state.told + 1, query, state.num_hypotheses)

    def recommend(self, state) -> Any:
        return jnp.zeros((), jnp.int32)

    def log_posterior(self, state) -> Any:
        return jnp.full(state.num_hypotheses, -jnp.log(state.num_hypotheses))


class Believer(Sound):
    """A belief that changes, and memory that is not kept."""

    def init(self, spec, operating_point, first_outcome):
        count = StepCount(jnp.zeros((), jnp.int32), spec.horizon)
        return count, Scratch(first_outcome), jnp.zeros(spec.num_hypotheses)

    def ask(self, state, query_mask, *, key):
        return jnp.argmax(jnp.where(query_mask, jr.uniform(key, query_mask.shape), -1))

    def tell(self, state, query, outcome):
        count, scratch, scores = state
        scratch = Scratch(scratch.value + outcome)
        scores = scores.at[query % scores.shape[0]].add(outcome[0])
        return count.next(), scratch, scores

    def log_posterior(self, state):
        return jax.nn.log_softmax(state[2])


class Agnostic(Sound):
    def log_posterior(self, state):
        return None


@pytest.mark.parametrize(
    ("explorer", "family"),
    [(Sound(), Lockers()), (Believer(), Corridor())],
    ids=["masks", "termination"],
)
def test_a_sound_explorer_passes_on_masks_and_on_termination(explorer, family):
    check_explorer(explorer, family)


@pytest.mark.slow
def test_an_explorer_without_a_belief_passes():
    check_explorer(Agnostic(), Hint(), [BUDGET])


class RefusesAll(Sound):
    def init(self, spec, operating_point, first_outcome):
        raise OperatingPointError("no.")


class BranchesOnAPrice(Sound):
    def init(self, spec, operating_point, first_outcome):
        return jnp.zeros(1 if operating_point.price > 0.5 else 2)


class GrowingState(Sound):
    def tell(self, state, query, outcome):
        return state, outcome


class FloatQuery(Sound):
    def ask(self, state, query_mask, *, key):
        return jnp.zeros(())


class ManyAnswers(Sound):
    def recommend(self, state):
        return jnp.zeros(2, jnp.int32)


class ShortBelief(Sound):
    def log_posterior(self, state):
        return jnp.zeros(1)


class QueryOutOfRange(Sound):
    def ask(self, state, query_mask, *, key):
        return jnp.asarray(7)


class Quitter(Sound):
    def ask(self, state, query_mask, *, key):
        return jnp.where(state.told >= 1, STOP, jnp.argmax(query_mask))


class IgnoresTheMask(Sound):
    def ask(self, state, query_mask, *, key):
        return jnp.asarray(0)


class AnswerOutOfRange(Sound):
    def recommend(self, state):
        return state.told


class Unnormalized(Sound):
    def log_posterior(self, state):
        return jnp.zeros(2)


class NotANumber(Sound):
    def log_posterior(self, state):
        return jnp.where(state.told > 1, jnp.nan, -jnp.log(2.0)) * jnp.ones(2)


class NumpyRandomness(Sound):
    def ask(self, state, query_mask, *, key):
        scores = jnp.asarray(np.random.default_rng().random(2), jnp.float32)
        return jnp.argmax(jnp.where(query_mask, scores, -1.0))

    def log_posterior(self, state):
        share = np.random.default_rng().random()
        return jnp.log(jnp.asarray([share, 1 - share], jnp.float32))


@custom_vmap
def _flip(last):
    return last


@_flip.def_vmap
def _flip_a_batch(size, is_batched, last):
    return last + 1, is_batched[0]


class KnowsOfTheBatch(Sound):
    def log_posterior(self, state):
        share = jnp.where(_flip(state.last) % 2 == 0, 0.9, 0.1)
        return jnp.log(jnp.stack([share, 1 - share]))


class UnevenStepCount(Sound):
    """Its step counter follows the outcome, which differs between episodes."""

    def init(self, spec, operating_point, first_outcome):
        return StepCount(jnp.zeros((), jnp.int32), spec.horizon)

    def ask(self, state, query_mask, *, key):
        return jnp.argmax(query_mask)

    def tell(self, state, query, outcome):
        return StepCount(state.value + outcome[0].astype(jnp.int32), state.bound)

    def log_posterior(self, state):
        return None


class QuitsOnItsOwnQueries(Sound):
    """Stops after query 1, which only it asks when all queries are allowed."""

    def ask(self, state, query_mask, *, key):
        own = (state.last == 1) & (state.told == 1) & jnp.all(query_mask)
        return jnp.where(
            own, STOP, query_mask.shape[0] - 1 - jnp.argmax(query_mask[::-1])
        )


@pytest.mark.parametrize(
    ("explorer", "family", "points", "sentence"),
    [
        (RefusesAll(), FAMILY, None, "name the operating_points"),
        (BranchesOnAPrice(), FAMILY, [PRICE], "init cannot be compiled"),
        (GrowingState(), FAMILY, [BUDGET], "after init and"),
        (FloatQuery(), FAMILY, [BUDGET], "ask returns float32[]; return one integer"),
        (ManyAnswers(), FAMILY, [BUDGET], "recommend returns int32[2]; return one"),
        (ShortBelief(), FAMILY, [BUDGET], "log_posterior returns float32[1]"),
        (QueryOutOfRange(), FAMILY, [BUDGET], "ask returned 7; return a query from 0"),
        (Quitter(), Corridor(), [PRICE], "although spec.can_stop is False"),
        (Quitter(), FAMILY, [BUDGET], "STOP in the regime BUDGET"),
        (IgnoresTheMask(), FAMILY, [BUDGET], "ask returned 0, which the query mask"),
        (AnswerOutOfRange(), FAMILY, [BUDGET], "recommend returned 2; return a hypo"),
        (Unnormalized(), FAMILY, [BUDGET], "log_posterior sum to 2"),
        (NotANumber(), FAMILY, [BUDGET], "log_posterior sum to nan"),
        (NumpyRandomness(), FAMILY, [BUDGET], "when it was compiled again"),
        (KnowsOfTheBatch(), FAMILY, [BUDGET], "behaves differently under vmap"),
        (UnevenStepCount(), FAMILY, [BUDGET], "rollout raised"),
        (QuitsOnItsOwnQueries(), FAMILY, [BUDGET], "STOP in a rollout"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Sound) else "",
)
def test_a_broken_explorer_is_refused_with_a_sentence(
    explorer, family, points, sentence
):
    with pytest.raises(ConformanceError) as caught:
        check_explorer(explorer, family, points)
    message = str(caught.value)
    assert sentence in message
    assert message.endswith(".") and "; " in message


def test_an_operating_point_that_was_asked_for_must_be_served():
    with pytest.raises(OperatingPointError, match="no"):
        check_explorer(RefusesAll(), FAMILY, [BUDGET])


def test_an_explorer_may_refuse_a_family():
    class Choosy(Sound):
        def init(self, spec, operating_point, first_outcome):
            raise UnsupportedError("not this family.")

    with pytest.raises(UnsupportedError, match="not this family"):
        check_explorer(Choosy(), FAMILY)
