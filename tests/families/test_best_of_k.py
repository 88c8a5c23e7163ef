import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import icpe
from icpe.core.errors import InvalidParameterError
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint
from icpe.families import BestOfK
from icpe.play.rollout import rollout
from icpe.testing import check_family

SMALL = BestOfK(most_settings=4, horizon=24)


def test_it_keeps_the_contract_of_a_family():
    check_family(SMALL)


def test_the_best_leads_by_what_matters_and_others_by_exponentials(draw_tasks):
    tasks = draw_tasks(SMALL, 20_000)
    exists = np.isfinite(tasks.lags)
    numbers = exists.sum(axis=1)
    assert set(numbers) == {2, 3, 4}
    assert (tasks.lags.min(axis=1) == 0).all()
    behind = tasks.lags[exists & (tasks.lags > 0)]
    assert behind.min() >= 1.0
    # Mean of the excess 2.5, variance 2 (1 + 16) / 2 - 2.5^2; false alarm 6e-5.
    error = np.sqrt((17 - 6.25) / behind.size)
    assert abs(behind.mean() - 3.5) < 4 * error
    least, most = np.log(SMALL.least_noise), np.log(SMALL.most_noise)
    logs = np.log(tasks.noise)
    assert least - 1e-6 < logs.min() and logs.max() < most + 1e-6
    error = (most - least) / np.sqrt(12 * logs.size)
    assert abs(logs.mean() - (least + most) / 2) < 4 * error
    assert abs(tasks.told.mean() - 0.5) < 4 * 0.5 / np.sqrt(20_000)


def test_an_offset_leaves_no_trace():
    """The same keys with all means moved give the same outcomes, up to the grid."""
    task = SMALL.sample_task(key=jr.key(3))
    moved = task._replace(lags=task.lags - 7.25)
    result, other = (SMALL.reset(it, key=jr.key(0)) for it in (task, moved))
    for step in range(6):
        query, key = jnp.asarray(step % 2), jr.key(step)
        result = SMALL.step(result.state, query, task, key=key)
        other = SMALL.step(other.state, query, moved, key=key)
        assert abs(float(result.outcome[0] - other.outcome[0])) <= 1.01 / 1024
        assert float(result.outcome[0] * 1024).is_integer()


def test_the_first_outcome_is_what_others_are_compared_with():
    task = SMALL.sample_task(key=jr.key(3))
    start = SMALL.reset(task, key=jr.key(0))
    first = SMALL.step(start.state, jnp.asarray(1), task, key=jr.key(1))
    assert float(first.outcome[0]) == 0.0


def test_the_belief_is_as_sure_as_it_is_right():
    """Whatever the noise, told or not: false alarm 7e-6 for each of the two."""
    explorer = icpe.make_explorer("top-two", SMALL)
    point = OperatingPoint.at(SMALL.horizon, budget=7)
    keys = jr.split(jr.key(1), 2000)
    ending = jit_program(rollout)(explorer, SMALL, point, keys=keys).ending
    log_posterior = np.asarray(ending.log_posterior)
    sure = np.exp(log_posterior.max(axis=1))
    right = np.asarray(ending.correct, float)
    spread = np.sqrt((sure * (1 - sure)).sum())
    assert abs((right - sure).sum()) < 4.5 * spread
    doubtful = sure < np.median(sure)
    spread = np.sqrt((sure * (1 - sure))[doubtful].sum())
    assert abs((right - sure)[doubtful].sum()) < 4.5 * spread


def test_welford_is_the_mean_and_the_scatter():
    belief = SMALL.exact_belief()
    state = belief.init(jnp.array([0.0, 3.0, 0.0]))
    values = np.array([0.0, 2.5, -1.25, 4.0])
    for value in values:
        outcome = jnp.array([value, 0.0, 0.0])
        state = jax.jit(belief.update)(state, jnp.asarray(1), outcome)
    assert int(state.seen.counts[1]) == 4
    np.testing.assert_allclose(state.seen.means[1], values.mean(), rtol=1e-6)
    scatter = ((values - values.mean()) ** 2).sum()
    np.testing.assert_allclose(state.seen.squares[1], scatter, rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"fewest_settings": 1}, "fewest_settings must be at least 2"),
        ({"most_settings": 3, "fewest_settings": 4}, "most_settings must be at least"),
        ({"least_noise": 0.0}, "least_noise must be a positive"),
        ({"least_noise": 5.0}, "most_noise must be at least 5"),
        ({"noise_told": 1.5}, "noise_told must be between"),
        ({"scales": ()}, "scales must have one entry"),
        ({"scales": (1.0, -1.0)}, "scales must be a positive"),
    ],
)
def test_impossible_parameters(given, words):
    with pytest.raises(InvalidParameterError, match=words):
        BestOfK(**given)
