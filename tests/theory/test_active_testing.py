import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.theory.active_testing import (
    chernoff_proportions,
    extrinsic_divergences,
    pairwise_divergences,
)
from icpe.theory.finite_model import finite_model
from icpe.theory.noisy_search import noisy_search_model


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    return finite_model(
        prior=np.full(4, 0.25), likelihood=rng.dirichlet(np.ones(3), size=(4, 5))
    )


def test_divergences_are_those_of_the_table(model):
    laws = np.exp(np.asarray(model.log_likelihood))
    got = pairwise_divergences(model)
    truth = np.sum(laws[1, 2] * np.log(laws[1, 2] / laws[3, 2]))
    assert got[1, 3, 2] == pytest.approx(truth, rel=1e-9)
    assert np.abs(np.einsum("iiq->iq", got)).max() < 1e-12


def test_what_cannot_happen_is_worth_a_finite_divergence():
    got = pairwise_divergences(noisy_search_model(4, 0.0))
    assert got.max() == pytest.approx(np.log(1e6), rel=1e-3)


def test_no_law_separates_a_task_better_than_chernoffs(model):
    divergences, laws = pairwise_divergences(model), chernoff_proportions(model)
    np.testing.assert_allclose(laws.sum(1), 1.0)
    others = np.random.default_rng(1).dirichlet(np.ones(5) / 2, size=5000)
    for task in range(4):
        rivals = np.delete(divergences[task], task, axis=0)
        reached = (rivals @ laws[task]).min()
        assert reached >= (others @ rivals.T).min(1).max()


def test_tasks_with_the_same_answer_need_not_be_told_apart():
    likelihood = np.array([[[0.9, 0.1]] * 2, [[0.9, 0.1]] * 2, [[0.1, 0.9]] * 2])
    model = finite_model(np.full(3, 1 / 3), likelihood, np.array([0, 0, 1]))
    assert np.isfinite(chernoff_proportions(model)).all()


def test_extrinsic_divergences_are_the_rise_of_the_log_odds(model):
    weights = np.array([0.1, 0.4, 0.3, 0.2])
    laws = np.exp(np.asarray(model.log_likelihood))
    truth = np.zeros(5)
    for query in range(5):
        for task, weight in enumerate(weights):
            rest = np.delete(weights, task) / (1 - weight)
            others = rest @ np.delete(laws[:, query], task, axis=0)
            law = laws[task, query]
            truth[query] += weight * np.sum(law * np.log(law / others))
    got = extrinsic_divergences(model, jnp.log(jnp.asarray(weights)))
    np.testing.assert_allclose(got, truth, rtol=1e-6)
