"""Evaluation of an explorer whose every episode is known from the task."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.progress import AbstractProgress
from icpe.core.request import Regime, Request
from icpe.evaluate import evaluate, sweep
from icpe.explorers import AbstractExplorer, make_explorer
from icpe.families import BinarySearch
from icpe.theory.intervals import bounded_mean_interval

SIZE = 4
FAMILY = BinarySearch(size=SIZE, horizon=3)


class ScanState(eqx.Module):
    low: jax.Array
    found: jax.Array
    may_stop: jax.Array


class Scan(AbstractExplorer):
    """Guesses 0, 1, 2, ...; number i takes i + 1 guesses, the last one takes i."""

    offset: int = 0

    def init(self, spec, operating_point, first_outcome):
        may_stop = operating_point.regime is not Regime.BUDGET
        return ScanState(jnp.array(0), jnp.array(False), jnp.array(may_stop))

    def ask(self, state, query_mask, *, key):
        known = state.found | (state.low == SIZE - 1)
        return jnp.where(known & state.may_stop, STOP, state.low)

    def tell(self, state, query, outcome):
        hit = state.found | (outcome[0] == 0)
        return ScanState(jnp.where(hit, state.low, query + 1), hit, state.may_stop)

    def recommend(self, state):
        return (state.low + self.offset) % SIZE

    def log_posterior(self, state):
        return None


def numbers(seed, episodes):
    """The numbers that the episodes of a seed hide, by the documented keys."""
    keys = jax.vmap(jr.fold_in, (None, 0))(jr.key(seed), jnp.arange(episodes))
    task_keys = jax.vmap(lambda key: jr.split(key, 3)[0])(keys)
    return np.asarray(jax.vmap(lambda key: FAMILY.sample_task(key=key))(task_keys))


class Heard(AbstractProgress):
    def __init__(self):
        self.events = []

    def start(self, label, total):
        self.events.append(("start", label, total))

    def advance(self, amount):
        self.events.append(("advance", amount))

    def finish(self):
        self.events.append(("finish",))


def test_the_report_is_that_of_the_known_episodes():
    [report] = evaluate({"scan": Scan()}, FAMILY, error_prob=0.1, episodes=200, seed=3)
    queries = np.minimum(numbers(3, 200) + 1, SIZE - 1)
    assert (report.accuracy, report.episodes, report.seed) == (1.0, 200, 3)
    assert report.mean_queries == pytest.approx(queries.mean())
    assert report.mean_cost == pytest.approx(queries.mean())
    assert report.max_queries == 3
    assert report.survival == tuple((queries > t).mean() for t in range(4))
    assert report.query_quantiles["0.5"] == np.quantile(
        queries, 0.5, method="inverted_cdf"
    )
    ends_at_horizon = int((queries == 3).sum())
    assert report.stop_reasons == {
        "explorer": 200 - ends_at_horizon,
        "horizon": ends_at_horizon,
    }
    assert (report.error_prob, report.price, report.budget) == (0.1, None, None)
    assert not report.certified


def test_the_intervals_are_the_textbook_ones():
    [report] = evaluate({"scan": Scan()}, FAMILY, error_prob=0.1, episodes=200, seed=3)
    queries = np.minimum(numbers(3, 200) + 1, SIZE - 1)
    ends = bounded_mean_interval(queries, low=0, high=SIZE - 1)
    expected = (float(ends.low), float(ends.high))
    assert report.mean_queries_interval == pytest.approx(expected)
    # 1.971957 is the 97.5 % quantile of Student's t with 199 degrees of freedom, from
    # which it differs by what rare extremes may add.
    half = 1.971957 * queries.std(ddof=1) / np.sqrt(200)
    assert report.mean_queries_interval == pytest.approx(
        (queries.mean() - half, queries.mean() + half), abs=0.1 * half
    )
    # Clopper-Pearson with no failure: the lower end solves low^n = 0.025.
    assert report.accuracy_interval == pytest.approx((0.025 ** (1 / 200), 1.0))


def test_all_explorers_face_the_same_tasks():
    right, wrong = evaluate(
        {"right": Scan(), "wrong": Scan(offset=1)},
        FAMILY,
        error_prob=0.1,
        episodes=200,
        seed=3,
    )
    assert (right.accuracy, wrong.accuracy) == (1.0, 0.0)
    assert right.survival == wrong.survival


def test_a_budget_of_two_guesses_finds_the_two_smallest_and_the_rest_by_luck():
    [report] = evaluate({"scan": Scan()}, FAMILY, budget=2, episodes=200, seed=3)
    # After "higher, higher" the scan names 2.
    assert report.accuracy == (numbers(3, 200) <= 2).mean()
    assert report.survival == (1.0, 1.0, 0.0)
    assert (report.budget, report.stop_reasons) == (2, {"budget": 200})


def test_a_sweep_gives_each_explorer_one_report_per_point_in_order():
    curves = sweep(
        {"scan": Scan()},
        FAMILY,
        [Request(budget=n) for n in (1, 2, 3)],
        episodes=200,
        seed=3,
    )
    assert [report.budget for report in curves["scan"]] == [1, 2, 3]
    accuracies = [report.accuracy for report in curves["scan"]]
    assert accuracies == [(numbers(3, 200) <= n).mean() for n in (1, 2, 3)]


def test_a_sweep_leaves_out_what_an_explorer_does_not_serve():
    explorers = {"uniform": make_explorer("uniform", FAMILY)}
    assert sweep(explorers, FAMILY, [Request(price=0.1)], episodes=8) == {"uniform": []}


def test_a_sweep_refuses_points_that_nobody_could_serve():
    with pytest.raises(OperatingPointError, match="horizon 3; got 4"):
        sweep({"scan": Scan()}, FAMILY, [Request(budget=4)], episodes=8)


def test_progress_hears_every_episode_once():
    heard = Heard()
    evaluate({"scan": Scan()}, FAMILY, budget=2, episodes=200, seed=3, progress=heard)
    assert heard.events[0] == ("start", "scan", 200)
    assert sum(event[1] for event in heard.events[1:-1]) == 200
    assert heard.events[-1] == ("finish",)


@pytest.mark.parametrize(
    "request_, sentence",
    [
        ({}, "got none of them"),
        ({"error_prob": 0.1, "budget": 2}, "got error_prob and budget"),
        ({"budget": 4}, "between 1 and the family's horizon 3; got 4"),
        ({"error_prob": 1.0}, "strictly between 0 and 1; got 1.0"),
    ],
)
def test_an_impossible_request_is_refused(request_, sentence):
    with pytest.raises(OperatingPointError, match=sentence):
        evaluate({"scan": Scan()}, FAMILY, episodes=10, **request_)


def test_no_episodes_is_refused():
    with pytest.raises(InvalidParameterError, match="episodes must be at least 1"):
        evaluate({"scan": Scan()}, FAMILY, budget=1, episodes=0)
