"""A likelihood is all that a family of one's own needs for an exact belief."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.scipy.stats import norm

from icpe.core.errors import ConformanceError, UnsupportedError
from icpe.core.family import (
    AbstractTaskFamily,
    data,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.likelihood import belief_for, likelihood_belief
from icpe.core.request import Request
from icpe.core.spec import TaskSpec
from icpe.evaluate import evaluate
from icpe.evaluate.against_rule import best_rule
from icpe.explorers import explorers_for, make_explorer
from icpe.families import NoisyBinarySearch
from icpe.testing import check_family
from support.toy_tasks import TwoDoors


class Table(AbstractTaskFamily):
    """Outcomes 0, 1, .. with the probabilities of a table."""

    probability: jax.Array = data("P(outcome | hypothesis, query)")
    horizon: int = parameter(12, "most queries in an episode")

    @property
    def spec(self):
        hypotheses, queries, _ = self.probability.shape
        return TaskSpec(queries, hypotheses, 1, self.horizon, reveals=False)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, self.probability.shape[0])

    def reset(self, task, *, key):
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        logits = jnp.log(self.probability[task, query])
        outcome = jr.categorical(key, logits).astype(jnp.float32)
        return plain_step(self.spec, outcome[None])

    def hypothesis(self, task):
        return task

    def log_likelihood(self, hypothesis, query, outcome):
        return jnp.log(self.probability[hypothesis, query, outcome[0].astype(int)])


class Line(AbstractTaskFamily):
    """A signal of height 1 at one of several places, with Gaussian noise."""

    size: int = parameter(3, "how many places there are")
    noise: float = parameter(0.5, "standard deviation of an outcome")
    entries: int = parameter(1, "how often an outcome measures")

    @property
    def spec(self):
        return TaskSpec(self.size, self.size, self.entries, horizon=10)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, self.size)

    def reset(self, task, *, key):
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        signal = jnp.where(query == task, 1.0, 0.0)
        noise = self.noise * jr.normal(key, (self.entries,))
        return plain_step(self.spec, signal + noise)

    def hypothesis(self, task):
        return task

    def log_likelihood(self, hypothesis, query, outcome):
        signal = jnp.where(query == hypothesis, 1.0, 0.0)
        return jnp.sum(norm.logpdf(outcome, signal, self.noise))


def search_table(family):
    return jnp.exp(family.finite_belief().model.log_likelihood)


def test_posterior_and_gains_are_those_of_the_same_finite_model():
    search = NoisyBinarySearch(size=5, noise=0.2)
    known = search.exact_belief()
    found = likelihood_belief(Table(search_table(search)))
    state, other = known.init(jnp.zeros(1)), found.init(jnp.zeros(1))
    for query, answer in ((2, 1), (3, 0), (1, 1), (2, 1)):
        np.testing.assert_allclose(
            found.information_gains(other), known.information_gains(state), atol=1e-5
        )
        state = known.update(state, jnp.int32(query), jnp.float32([answer]))
        other = found.update(other, jnp.int32(query), jnp.float32([answer + 1.0]))
        np.testing.assert_allclose(
            found.log_posterior(other), known.log_posterior(state), atol=1e-5
        )


def gaussian_gain(noise):
    """Of one measurement of one of three equal places, by plain quadrature."""
    grid = np.linspace(-10 * noise, 1 + 10 * noise, 20_001)
    step = grid[1] - grid[0]
    there, away = (
        np.exp(-((grid - mean) ** 2) / (2 * noise**2)) / (noise * np.sqrt(2 * np.pi))
        for mean in (1.0, 0.0)
    )
    mixed = (there + 2 * away) / 3 + 1e-300
    entropy = -np.sum(mixed * np.log(mixed)) * step
    return entropy - 0.5 * np.log(2 * np.pi * np.e * noise**2)


@pytest.mark.parametrize("noise", [0.1, 0.5, 2.0])
def test_gains_of_continuous_outcomes_are_those_of_quadrature(noise):
    belief = likelihood_belief(Line(noise=noise))
    gains = belief.information_gains(belief.init(jnp.zeros(1)))
    np.testing.assert_allclose(gains, gaussian_gain(noise), atol=2e-3)


def test_gains_of_several_numbers_are_those_of_cells():
    """Two measurements of noise s tell what one of noise s / sqrt(2) tells."""
    belief = likelihood_belief(Line(noise=0.7, entries=2))
    gains = belief.information_gains(belief.init(jnp.zeros(2)))
    np.testing.assert_allclose(gains, gaussian_gain(0.7 / np.sqrt(2)), rtol=0.05)


def test_what_would_not_fit_into_memory_is_refused_in_one_sentence():
    large = Line(size=800, entries=2)
    with pytest.raises(UnsupportedError, match="800 hypotheses and 800 queries, too"):
        belief_for(large)
    assert best_rule(large) is None


def test_the_explorers_that_need_a_belief_serve_such_a_family():
    family = Line()
    assert {"uniform", "top-two", "information-gain"} <= set(explorers_for(family))
    names = ("uniform", "information-gain")
    explorers = {name: make_explorer(name, family) for name in names}
    random, greedy = evaluate(explorers, family, error_prob=0.1, episodes=500)
    assert random.accuracy > 0.85 and greedy.accuracy > 0.85
    assert greedy.mean_queries < random.mean_queries


def test_a_family_with_a_likelihood_conforms():
    check_family(Table(search_table(NoisyBinarySearch(size=4, noise=0.1))))


class Lopsided(Line):
    def sample_task(self, *, key):
        return jnp.where(jr.uniform(key) < 0.7, 0, 1)


class Impossible(Line):
    def log_likelihood(self, hypothesis, query, outcome):
        return jnp.where(outcome[0] > 0, 0.0, -jnp.inf)


@pytest.mark.parametrize(
    ("family", "sentence"),
    [
        (Lopsided(), "define log_prior as sample_task draws"),
        (Impossible(), "log_likelihood of an outcome that happened is infinite"),
    ],
)
def test_a_belief_that_is_not_that_of_the_simulator_is_noticed(family, sentence):
    with pytest.raises(ConformanceError, match=sentence):
        check_family(family)


def test_without_a_likelihood_there_is_no_belief():
    family = TwoDoors()
    with pytest.raises(UnsupportedError, match="log_likelihood"):
        belief_for(family)
    assert not explorers_for(family)


def test_costs_divide_the_gains():
    @dataclasses.dataclass(frozen=True)
    class _Costs:
        values: tuple[float, ...] = (1.0, 50.0, 1.0)

    class Priced(Line):
        @property
        def spec(self):
            return dataclasses.replace(super().spec, costs=_Costs().values)

    family = Priced()
    explorer = make_explorer("information-gain", family)
    state = explorer.init(family.spec, Request(budget=3).at(10), jnp.zeros(1))
    state = explorer.tell(state, jnp.int32(1), jnp.float32([0.6]))
    assert int(explorer.ask(state, jnp.ones(3, bool), key=jr.key(0))) != 1
