"""The race ends when the goal is reached, and says so when it is not."""

import jax
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.learn.config import TrainConfig
from icpe.studies.race import Goal, paper_racer, race
from support.toy_tasks import TwoDoors


@pytest.mark.slow
def test_both_learners_reach_what_is_easy_and_neither_what_is_impossible():
    changes = {
        "num_iterations": 100,
        "batch_size": 32,
        "minibatch_size": 32,
        "replay_size": 512,
        "width": 8,
        "num_layers": 1,
        "num_heads": 1,
    }
    family = TwoDoors(horizon=3)
    with jax.numpy_dtype_promotion("standard"):  # optax mixes dtypes
        easy = race(Goal(family, 0.9, 2.9), machine="cpu", changes=changes)
        hard = race(
            Goal(family, 1.0, 0.9), machine="cpu", changes=changes, time_limit=5.0
        )
    assert [finish.learner for finish in easy] == ["universal", "paper"]
    for finish in easy:
        assert finish.reached and finish.iterations % 10 == 0
        assert finish.accuracy >= 0.9 and finish.mean_queries <= 2.9
        assert finish.seconds > 0
        assert finish.to_dict()["goal"] == (0.9, 2.9)
    assert not any(finish.reached for finish in hard)


@pytest.mark.parametrize("accuracy, queries", [(1.1, 3.0), (0.9, 0.0)])
def test_an_impossible_goal_is_refused(accuracy, queries):
    with pytest.raises(InvalidParameterError, match="must be"):
        Goal(TwoDoors(), accuracy, queries)


def test_the_papers_racer_has_a_transformer_of_our_size():
    goal = Goal(TwoDoors(), 0.9, 2.9)
    ours = TrainConfig(width=24, num_layers=3, num_heads=3, bfloat16=True, seed=5)
    papers = paper_racer(goal, "cpu", ours)
    assert papers.transformer == ours.transformer
    assert papers.seed == 5
    assert 0 < papers.error_prob < 0.1
    assert papers.budget == 0
