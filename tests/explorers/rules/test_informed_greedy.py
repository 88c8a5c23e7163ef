import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.errors import InvalidParameterError
from icpe.core.request import OperatingPoint
from icpe.explorers.registry import make_explorer
from icpe.families import FeedbackGraph
from icpe.play.rollout import rollout_chunks
from icpe.testing import check_explorer

# Query 0 reveals arm 0 always, query 1 arm 1 always, query 2 both half of the time.
MATRIX = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.4, 0.4, 1.0))
FAMILY = FeedbackGraph(kind="matrix", num_arms=3, matrix=MATRIX, prior="one-best")


def outcome(**rewards):
    """An outcome that reveals the rewards given, as arm0=..., arm1=..., arm2=..."""
    given = [rewards.get(f"arm{arm}") for arm in range(3)]
    values = [0.0 if reward is None else reward for reward in given]
    return jnp.asarray([*values, *(float(reward is not None) for reward in given)])


def asked(*outcomes, mask=(True,) * 3, **request):
    explorer = make_explorer("informed-greedy", FAMILY)
    point = OperatingPoint.at(FAMILY.spec.horizon, **(request or {"budget": 5}))
    state = explorer.init(FAMILY.spec, point, jnp.zeros(6))
    for seen in outcomes:
        state = explorer.tell(state, jnp.asarray(0), seen)
    return int(explorer.ask(state, jnp.asarray(mask), key=jr.key(0)))


def test_without_data_it_asks_for_most_rewards():
    assert asked() == 2


def test_it_turns_to_the_arm_that_is_in_doubt():
    # Arm 2 is out of the question and arm 1 was seen more often than arm 0.
    seen = (outcome(arm2=0.0), outcome(arm1=0.75), outcome(arm1=0.75))
    assert asked(*seen) == 0


def test_masked_queries_are_passed_over():
    assert asked(mask=(True, True, False)) == 0
    assert asked(mask=(False, False, False)) == STOP


def test_it_stops_when_sure_but_not_under_a_budget():
    sure = outcome(arm0=1.2)
    assert asked(sure, error_prob=0.1) == STOP
    assert asked(error_prob=0.1) != STOP
    assert asked(sure, budget=5) != STOP
    with pytest.raises(InvalidParameterError, match="threshold must be"):
        make_explorer("informed-greedy", FAMILY, threshold=1.5)


@pytest.mark.slow
def test_it_keeps_the_contract():
    check_explorer(make_explorer("informed-greedy", FAMILY), FAMILY)


def accuracies(explorer, kind, num_arms):
    """Of 16,384 episodes: by the posterior, and by the largest sample mean."""
    family = FeedbackGraph(kind=kind, num_arms=num_arms)
    point = OperatingPoint.at(family.spec.horizon, budget=5 * num_arms)
    correct, plainly_correct = [], []
    for chunk in rollout_chunks(
        make_explorer(explorer, family), family, point, 16384, key=jr.key(0)
    ):
        seen = chunk.history.outcomes[:, 1:].sum(1)
        sums, counts = seen[:, :num_arms], seen[:, num_arms:]
        means = np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
        correct.append(chunk.ending.correct)
        plainly_correct.append(means.argmax(1) == chunk.ending.hypothesis)
    return np.mean(correct), np.mean(plainly_correct)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "num_arms", "greedy", "uniform"),
    [
        ("loopy-star", 5, 0.815, 0.71),
        ("loopy-star", 10, 0.776, 0.59),
        ("loopless-clique", 5, 0.857, 0.82),
        ("loopless-clique", 10, 0.810, 0.75),
        ("ring", 5, 0.817, 0.77),
        ("ring", 10, 0.734, 0.64),
    ],
)
def test_accuracies_on_the_graphs_are_the_known_ones(kind, num_arms, greedy, uniform):
    """Uniform means, a budget of five queries an arm.

    The expected values were found by another program: standard error 0.008, and two
    digits for uniform queries, which were answered by the largest sample mean. Ours
    have a standard error of 0.004, and the seed is fixed, so a change of the rule or
    of the family is what would move them by 0.015.
    """
    by_greedy, _ = accuracies("informed-greedy", kind, num_arms)
    by_posterior, by_sample_mean = accuracies("uniform", kind, num_arms)
    assert by_greedy == pytest.approx(greedy, abs=0.015)
    assert by_sample_mean == pytest.approx(uniform, abs=0.015)
    # The exact posterior is the better answer; paired, so 0.002 is enough.
    assert by_posterior > by_sample_mean - 0.002
