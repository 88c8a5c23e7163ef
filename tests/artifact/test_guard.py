"""When a score is above its limit, and when it is rounding."""

import dataclasses
import math

import numpy as np
import pytest

from icpe.artifact.guard import ROUNDING, Guard, Limits, Scores, scores
from icpe.artifact.outcome_law import NumberLaw, SymbolLaw
from icpe.export.describe import packed
from icpe.families import BinarySearch
from icpe.portable import Spec
from icpe.portable.guard import Guard as PortableGuard
from icpe.portable.guard import Watch as PortableWatch

SPEC = BinarySearch(size=2).spec
SYMBOLS = np.array([[-1.0], [0.0], [1.0]], np.float32)
CHANCES = np.array([[0.5, 0.4, 0.1], [0.5, 0.4, 0.1]], np.float32)
LAW = SymbolLaw(SYMBOLS, np.broadcast_to(CHANCES, (2, 2, 3)).copy())
SCORE = -math.log(float(np.float32(0.1)))
BELIEF = np.array([0.5, 0.5], np.float32)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("below, alarms", [(0.0, False), (1e-5, False), (1e-2, True)])
def test_the_rarest_outcome_may_be_the_limit_itself(below, alarms, first):
    own = SCORE - below
    limits = Limits(60.0, 60.0, 1, own, 50.0) if first else Limits(own, 50.0)
    guard = Guard(LAW, limits, {})
    watch = guard.start(SPEC, np.zeros(1)).after(BELIEF, 0, np.array([1.0]))
    assert (watch.alarm is not None) == alarms
    one, together = np.array([[SCORE]]), np.array([[0.0]])
    assert Scores(one, together, together).exceeds(limits).tolist() == [alarms]
    arrays = {name: packed(array) for name, array in LAW.arrays().items()}
    slack = limits.with_slack
    fields = dataclasses.fields(Spec)
    shown = Spec(**{field.name: getattr(SPEC, field.name) for field in fields})
    written = dataclasses.asdict(slack)
    portable = PortableWatch(PortableGuard(written, arrays), shown)
    again = portable.after(BELIEF, 0, np.array([1.0], np.float32))
    assert again.alarm == watch.alarm


MIDDLE, FAR = (0.0, 0.0, 0.0), (2.6, 2.6, 2.6)


@pytest.mark.parametrize(
    "answers, wider, alarm",
    [
        (MIDDLE, False, "vary less than"),
        (MIDDLE, True, None),
        (FAR, False, "vary more than"),
        (FAR, True, "vary more than"),
    ],
)
def test_first_answers_are_not_held_against_a_smaller_spread(answers, wider, alarm):
    shape = (2, 2, 1)
    law = NumberLaw(
        mean=np.zeros(shape, np.float32),
        between=np.zeros(shape, np.float32),
        within=np.ones(shape, np.float32),
        words=np.zeros((0, 1), np.float32),
        chance=np.ones((*shape, 1), np.float32),
    )
    limits = Limits(60.0, 60.0, 3, 60.0, 4.0, wider)
    watch = Guard(law, limits, {}).start(SPEC, np.zeros(1))
    for answer in answers:
        watch = watch.after(BELIEF, 0, np.array([answer]))
    assert (watch.alarm is None) == (alarm is None)
    assert alarm is None or alarm in watch.alarm
    beliefs = np.broadcast_to(BELIEF, (1, 3, 2))
    queries, length = np.zeros((1, 3), int), np.array([3])
    found = scores(law, beliefs, queries, np.reshape(answers, (1, 3, 1)), length)
    assert found.exceeds(limits).tolist() == [alarm is not None]


def test_the_slack_is_half_of_the_digits_of_a_belief():
    assert pytest.approx(2.0**-23) == ROUNDING**2
