"""The statistic that is shown is the one that decides."""

import jax.random as jr
import numpy as np
import pytest

from icpe import zoo
from icpe.artifact.serving import serve
from icpe.core.episode import StopReason
from icpe.core.request import Request
from icpe.explorers.registry import make_explorer
from icpe.families import BinarySearch, NoisyBinarySearch
from icpe.play.live import LiveEpisode, reason_of


def turns(contender, family, request, answers):
    """All turns of an episode with answers at random, to the horizon."""
    player = serve(contender, request, family)
    live = LiveEpisode(player.explorer, player.operating_point, jr.key(0), family.spec)
    mask = np.ones(family.spec.num_queries, bool)
    turn = live.begin(np.zeros(family.spec.outcome_size, np.float32), mask)
    yield turn
    for answer in answers:
        query = max(int(turn.query), 0)
        turn = live.advance(turn, query, np.full(1, answer, np.float32), mask)
        yield turn


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_trained_explorer_stops_exactly_where_asking_gains_nothing(seed):
    artifact = zoo.load("noisy-binary-search-8")
    answers = np.random.default_rng(seed).integers(-1, 2, 12)
    stops = []
    for turn in turns(artifact, artifact.family, Request(error_prob=0.1), answers):
        statistic = turn.statistic
        assert statistic is not None and statistic.kind == "values"
        assert turn.posterior is not None
        assert statistic.stop == pytest.approx(np.max(turn.posterior))
        assert statistic.ask == pytest.approx(statistic.stop + statistic.margin)
        stops.append(reason_of(turn) is StopReason.EXPLORER)
        assert stops[-1] == (statistic.margin <= 0)
    assert True in stops and False in stops


def test_a_rule_with_a_belief_stops_exactly_at_its_threshold():
    family = NoisyBinarySearch(size=4)
    rule = make_explorer("information-gain", family)
    stops = []
    for turn in turns(rule, family, Request(error_prob=0.1), [1, 1, 1, 0, 0, 0, 0]):
        assert turn.statistic is not None and turn.statistic.kind == "threshold"
        assert turn.statistic.ask == pytest.approx(0.9)
        stops.append(reason_of(turn) is StopReason.EXPLORER)
        assert stops[-1] == (turn.statistic.margin <= 0)
    assert True in stops and False in stops


def test_nothing_decides_where_a_budget_is_given():
    family = BinarySearch(size=4)
    rule = make_explorer("information-gain", family)
    (turn, *_) = turns(rule, family, Request(budget=2), [])
    assert turn.statistic is None
