"""When a training ends: judged values that stop rising, or an error that is served."""

import jax.random as jr
import numpy as np
import pytest

from icpe import workflow
from icpe.evaluate.judge import Judgment
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.learn.config import TrainConfig
from icpe.learn.fit import Situation
from icpe.nets.evidence import PredictionShape
from icpe.nets.transformer import TransformerConfig
from icpe.workflow import Judging, has_stopped_improving, is_still_improving
from support.toy_artifacts import guesser

RISING = tuple(np.linspace(0.5, 0.9, 40).tolist())
LEVEL = (*RISING[:20], *[RISING[19]] * 40)


def config(**changes):
    return TrainConfig(num_iterations=400, log_every=10, **changes)


@pytest.fixture(scope="module")
def artifact():
    return guesser()


@pytest.fixture(scope="module")
def exact(artifact):
    """Networks that start from a rule whose posterior is exact."""
    config = NetConfig(
        TransformerConfig(width=4, num_layers=1, num_heads=1),
        predictions=PredictionShape("symbols", 1, 2, "", 0, trust=1.0),
        reads_worth=True,
    )
    prices = PriceRange(0.05, 0.1)
    return ExplorerNets(artifact.family.spec, config, prices, key=jr.key(0))


@pytest.fixture
def judged(monkeypatch, artifact):
    """Verdicts of a judge who always sees the same accuracy, for nothing.

    The posterior is a tenth less sure.
    """

    def call(at, *, accuracy=0.9, ends_early=True, settings=None, nets=None):
        played = []

        def judge(explorer, family, prices, episodes, *, key):
            played.append((prices, episodes))
            row = (accuracy,) * len(prices)
            nothing = (0.0,) * len(prices)
            sure = (accuracy - 0.1,) * len(prices)
            return Judgment(prices, row, sure, nothing, nothing)

        monkeypatch.setattr(workflow, "judge", judge)
        settings = config() if settings is None else settings
        judging = Judging(artifact.family, settings, ends_early=ends_early)
        return judging(at, nets or artifact.universal_nets), played

    return call


@pytest.mark.parametrize(
    ("values", "stopped"),
    [
        (RISING, False),
        (LEVEL, True),
        (LEVEL[:19], False),  # too few to tell
        (LEVEL[20:39], False),
        (LEVEL[20:40], True),
        ((*LEVEL[:50], *[0.95] * 10), False),
        (RISING[::-1], True),
    ],
)
def test_values_have_stopped_improving_when_the_last_fifth_is_no_better(
    values, stopped
):
    assert has_stopped_improving(values) is stopped


@pytest.mark.parametrize(
    ("values", "improving"),
    [
        (RISING, True),
        (RISING[:8], True),
        (RISING[:7], False),  # too few to tell
        (LEVEL, False),
        ((*LEVEL[:48], *[LEVEL[-1] + 0.005] * 12), False),  # hardly
        ((*LEVEL[:48], *[LEVEL[-1] + 0.015] * 12), True),
        (RISING[::-1], False),
    ],
)
def test_values_are_still_improving_while_the_last_fifth_is_clearly_better(
    values, improving
):
    assert is_still_improving(values) is improving


@pytest.mark.parametrize(
    ("done", "finish", "values", "expected"),
    [
        (240, 400, RISING, 417),  # its last part would begin now: ten iterations later
        (230, 400, RISING, None),  # not yet
        (270, 400, RISING, None),  # it has begun, and values rise as steps get smaller
        (240, 400, (0.9,) * 30, None),
        (480, 796, RISING, 800),  # twice as long at most
        (480, 800, RISING, 800),
    ],
)
def test_while_values_still_improve_the_last_part_is_put_off(
    judged, done, finish, values, expected
):
    verdict, _ = judged(Situation(done, finish, values), accuracy=values[-1])
    assert verdict.finish == expected
    grows = expected is not None and expected > finish
    assert verdict.why == ("longer: still improving" if grows else "")


def test_it_judges_after_the_first_chunk_and_then_forty_times(judged):
    settings = TrainConfig(num_iterations=4000, log_every=10)
    heard = [
        done
        for done in range(10, 4001, 10)
        if judged(Situation(done, 4000), settings=settings)[0] is not None
    ]
    assert heard == [10, *range(100, 4001, 100)]


def test_it_judges_at_prices_that_are_trained_for(judged, artifact):
    _, ((prices, episodes),) = judged(Situation(10, 400))
    trained = artifact.universal_nets.prices
    assert prices[0] == pytest.approx(trained.low)
    assert list(prices) == sorted(prices) and prices[-1] < trained.high
    assert episodes == config().batch_size


def test_the_end_is_brought_forward_to_where_the_step_size_has_fallen(judged):
    at = Situation(120, 400, (0.9,) * 30)
    verdict, _ = judged(at)
    # The last 0.4 of a training is its fall; 120 of 200 iterations come before.
    assert verdict.finish == 200
    assert verdict.reason == "judged values had stopped improving"
    assert verdict.value == pytest.approx(0.9)


def test_an_exact_posterior_tells_sooner_that_values_are_level(judged, exact):
    settings = TrainConfig(num_iterations=300, log_every=20)
    at = Situation(100, 300, (0.8,) * 4)
    verdict, _ = judged(at, settings=settings, nets=exact)
    assert verdict.value == pytest.approx(0.8)  # of the posterior, not of answers
    assert verdict.finish == 167
    assert judged(at, settings=settings)[0].finish is None
    sooner = Situation(80, 300, (0.8,) * 3)
    assert judged(sooner, settings=settings, nets=exact)[0].finish is None
    rising = Situation(100, 300, (0.795, 0.797, 0.799, 0.799))
    assert judged(rising, settings=settings, nets=exact)[0].finish is None


@pytest.mark.parametrize(
    ("at", "ends_early"),
    [
        (Situation(120, 400, (0.9,) * 30), False),  # not wanted
        (Situation(120, 400, RISING), True),  # still rising from 0.5 to 0.9
        (Situation(120, 150, (0.9,) * 30), True),  # soon over anyway
    ],
)
def test_otherwise_it_stays(judged, at, ends_early):
    verdict, _ = judged(at, ends_early=ends_early)
    assert (verdict.finish, verdict.reason) == (None, "")


@pytest.mark.parametrize(
    ("done", "finish", "accuracy", "expected"),
    [
        (360, 400, 0.94, 520),  # not yet served, and the end is near
        (300, 400, 0.94, None),
        (1080, 1170, 0.94, 1200),  # three times as long at most
        (1200, 1200, 0.94, None),
        (360, 400, 0.96, None),  # served
    ],
)
def test_an_error_probability_that_is_not_served_puts_the_end_off(
    judged, done, finish, accuracy, expected
):
    verdict, _ = judged(
        Situation(done, finish), accuracy=accuracy, settings=config(error_prob=0.05)
    )
    assert verdict.finish == expected
    longer = "longer: an accuracy of 0.95 is not reached yet"
    assert verdict.why == (longer if expected else "")


def test_values_that_are_level_do_not_end_a_training_whose_error_is_not_served(judged):
    at, settings = Situation(120, 400, (0.9,) * 30), config(error_prob=0.05)
    assert judged(at, accuracy=0.9, settings=settings)[0].finish is None
    assert judged(at, accuracy=0.96, settings=settings)[0].finish is None  # it rose
    level = Situation(120, 400, (0.96,) * 30)
    assert judged(level, accuracy=0.96, settings=settings)[0].finish == 200
