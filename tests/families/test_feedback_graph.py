import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint
from icpe.families import FeedbackGraph
from icpe.play.rollout import run_episodes
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""

MATRIX = ((0.5, 0.25), (0.0, 1.0))


@pytest.mark.parametrize("kind", ["loopy-star", "ring", "loopless-clique"])
def test_a_feedback_graph_of_the_paper_conforms(kind):
    check_family(FeedbackGraph(kind=kind, num_arms=3))


@pytest.mark.slow
def test_a_feedback_graph_of_ones_own_conforms():
    family = FeedbackGraph(kind="matrix", num_arms=2, matrix=MATRIX, prior="one-best")
    check_family(family)


def test_the_loopy_star_is_the_one_of_the_figure():
    graph = FeedbackGraph(kind="loopy-star", num_arms=5).graph
    np.testing.assert_allclose(
        graph,
        [
            [0.3, 0.35, 0.35, 0.35, 0.25],
            [0, 0.5, 0, 0, 0],
            [0, 0, 0.5, 0, 0],
            [0, 0, 0, 0.5, 0],
            [0, 0, 0, 0, 0.75],
        ],
    )
    crowded = FeedbackGraph(kind="loopy-star", num_arms=3, p=0.6).graph
    np.testing.assert_allclose(np.diag(crowded), [0.3, 0.0, 0.4])


def test_the_ring_looks_right_with_p_and_left_with_the_rest():
    graph = FeedbackGraph(kind="ring", num_arms=4).graph
    np.testing.assert_allclose(
        graph, [[0, 0.3, 0, 0.7], [0.7, 0, 0.3, 0], [0, 0.7, 0, 0.3], [0.3, 0, 0.7, 0]]
    )


def test_the_clique_has_no_loops_and_rates_by_parity():
    graph = FeedbackGraph(kind="loopless-clique", num_arms=4).graph
    np.testing.assert_allclose(
        graph,
        [
            [0, 1 / 2, 1 / 2, 1 / 2],
            [3 / 4, 0, 3 / 4, 1 / 4],
            [5 / 6, 1 / 6, 0, 1 / 6],
            [7 / 8, 1 / 8, 7 / 8, 0],
        ],
    )


def test_rewards_are_revealed_at_the_rates_of_the_graph(draw_outcomes):
    family = FeedbackGraph(kind="loopy-star", num_arms=4)
    means = jnp.asarray([0.1, 0.9, 0.5, 0.3])
    outcomes = draw_outcomes(family, means, 0, 4000)
    rewards, revealed = outcomes[:, :4], outcomes[:, 4:]
    assert set(np.unique(revealed)) == {0.0, 1.0}
    assert (rewards[revealed == 0] == 0).all()
    # Standard errors below 0.008; 5 of them are exceeded with probability 6e-7 each.
    np.testing.assert_allclose(revealed.mean(0), family.graph[0], atol=0.04)
    assert np.abs(np.corrcoef(revealed.T) - np.eye(4)).max() < 5 / np.sqrt(4000)
    for arm, mean in enumerate(np.asarray(means)):
        seen = rewards[revealed[:, arm] == 1, arm]
        assert scipy.stats.kstest((seen - mean) / 0.2, "norm").pvalue > ALARM
    assert int(family.hypothesis(means)) == 1


def test_an_edge_of_probability_zero_or_one_is_sure(draw_outcomes):
    family = FeedbackGraph(kind="matrix", num_arms=2, matrix=MATRIX)
    revealed = draw_outcomes(family, jnp.asarray([0.1, 0.9]), 1, 200)[:, 2:]
    assert (revealed == [0.0, 1.0]).all()


def test_means_are_uniform_or_one_best(draw_tasks):
    uniform = draw_tasks(FeedbackGraph(num_arms=3), 1000)
    assert scipy.stats.kstest(uniform.ravel(), "uniform").pvalue > ALARM
    apart = draw_tasks(FeedbackGraph(num_arms=3, prior="one-best"), 1000)
    assert (np.sort(apart, 1) == [0.5, 0.5, 1.0]).all()
    counts = np.bincount(np.argmax(apart, 1), minlength=3)
    assert scipy.stats.chisquare(counts).pvalue > ALARM


def test_what_is_not_revealed_stays_zero_for_the_networks():
    spec = FeedbackGraph(num_arms=3).spec
    assert spec.normalize(jnp.zeros(6)).tolist() == [0.0] * 6
    assert spec.horizon == 15


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"kind": "star"}, "kind must be one of 'loopy-star'"),
        ({"prior": "normal"}, "prior must be one of 'uniform'"),
        ({"num_arms": 2}, "num_arms must be at least 3"),
        ({"noise": 0.0}, "noise"),
        ({"horizon": -1}, "horizon"),
        ({"p": 1.5}, "p must be between"),
        ({"matrix": MATRIX}, "set kind to 'matrix'"),
        ({"kind": "matrix", "num_arms": 3, "matrix": MATRIX}, "3 rows of 3 entries"),
        ({"kind": "matrix", "num_arms": 2, "matrix": ((0.5, 2.0), (0, 0))}, "entry"),
        ({"kind": "matrix", "num_arms": 2, "matrix": ((1.0, 0.0), (1, 0))}, "arm 1"),
    ],
)
def test_an_impossible_parameter_is_refused(bad, sentence):
    with pytest.raises(InvalidParameterError, match=sentence):
        FeedbackGraph(**bad)


class UniformMeans(AbstractExplorer):
    """Uniform queries, then the arm with the largest empirical mean."""

    num_arms: int = eqx.field(static=True)

    def init(self, spec, operating_point, first_outcome):
        return jnp.zeros(spec.outcome_size)

    def ask(self, state, query_mask, *, key):
        return jr.randint(key, (), 0, self.num_arms)

    def tell(self, state, query, outcome):
        return state + outcome

    def recommend(self, state):
        total, number = jnp.split(state, 2)
        return jnp.argmax(jnp.where(number > 0, total / jnp.maximum(number, 1), 0.5))

    def log_posterior(self, state):
        return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "num_arms", "accuracy"),
    [
        ("loopy-star", 5, 0.71),
        ("loopy-star", 10, 0.59),
        ("loopless-clique", 5, 0.82),
        ("loopless-clique", 10, 0.75),
        ("ring", 5, 0.77),
        ("ring", 10, 0.64),
    ],
)
def test_uniform_sampling_has_the_accuracy_of_an_independent_simulation(
    kind, num_arms, accuracy
):
    family = FeedbackGraph(kind=kind, num_arms=num_arms)
    point = OperatingPoint.at(family.spec.horizon, budget=5 * num_arms)
    explorer = UniformMeans(num_arms)
    ending = run_episodes(explorer, family, point, 20_000, key=jr.key(0))
    # Standard error 0.0035; the reference is rounded to 0.01 and has noise of its own.
    assert np.mean(ending.correct) == pytest.approx(accuracy, abs=0.025)
