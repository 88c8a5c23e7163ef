"""Small families as newcomers would write them, of kinds that no recipe was tuned on.

Some come twice: without what their author may not know (`..Blind`), and with an exact
belief, which serves as the reference for both.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import entr, gammaln, logsumexp
from jax.scipy.stats import norm

from icpe.core.belief import AbstractBelief, AbstractPredictiveBelief
from icpe.core.family import AbstractTaskFamily, StepResult, plain_reset, plain_step
from icpe.core.spec import TaskSpec


class AbstractPlain(AbstractTaskFamily):
    """The task is the hypothesis, and all are equally probable."""

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, self.spec.num_hypotheses)

    def hypothesis(self, task):
        return task

    def reset(self, task, *, key):
        return plain_reset(self.spec)


class RingBlind(AbstractPlain):
    """A source on a ring of 12 cells; one reading in ten is an outlier."""

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(12, 12, outcome_size=1, horizon=40)

    def signal(self, source, cell):
        """Decays with the distance around the ring."""
        distance = jnp.abs(source - cell)
        return 2.0 * jnp.exp(-jnp.minimum(distance, 12 - distance) / 1.5)

    def step(self, state, query, task, *, key):
        clean_key, wild_key, which_key = jr.split(key, 3)
        clean = self.signal(task, query) + 0.8 * jr.normal(clean_key)
        is_wild = jr.bernoulli(which_key, 0.1)
        reading = jnp.where(is_wild, 6.0 * jr.normal(wild_key), clean)
        return plain_step(self.spec, reading[None])


class Ring(RingBlind):
    """The same with its likelihood."""

    def log_likelihood(self, hypothesis, query, outcome):
        clean = norm.logpdf(outcome[0], self.signal(hypothesis, query), 0.8)
        wild = norm.logpdf(outcome[0], 0.0, 6.0)
        return jnp.logaddexp(clean + np.log(0.9), wild + np.log(0.1))


class Counts(AbstractPlain):
    """A source in one of 16 cells, counted by 8 detectors."""

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(8, 16, outcome_size=1, horizon=20)

    def rate(self, source, detector):
        """Of a Poisson law."""
        return 1.0 + 6.0 * jnp.exp(-jnp.abs(source - 2.0 * detector - 0.5) / 2.0)

    def step(self, state, query, task, *, key):
        count = jr.poisson(key, self.rate(task, query))
        return plain_step(self.spec, count.astype(jnp.float32)[None])

    def log_likelihood(self, hypothesis, query, outcome):
        rate, count = self.rate(hypothesis, query), outcome[0]
        return count * jnp.log(rate) - rate - gammaln(count + 1)


class Plane(AbstractPlain):
    """Ten objects, ten views, each giving two noisy numbers."""

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(10, 10, outcome_size=2, horizon=20)

    def mean(self, thing, view):
        """What a view shows without noise."""
        table = 0.6 * np.random.default_rng(3).normal(size=(10, 10, 2))
        return jnp.asarray(table, jnp.float32)[thing, view]

    def step(self, state, query, task, *, key):
        return plain_step(self.spec, self.mean(task, query) + jr.normal(key, (2,)))

    def log_likelihood(self, hypothesis, query, outcome):
        return jnp.sum(norm.logpdf(outcome, self.mean(hypothesis, query), 1.0))


class Priced(AbstractPlain):
    """24 faults, 30 tests that cost 1 to 5, each made once."""

    @property
    def spec(self) -> TaskSpec:
        costs = np.random.default_rng(5).integers(1, 6, 30)
        return TaskSpec(
            30, 24, 1, horizon=30, costs=tuple(map(float, costs)), ask_once=True
        )

    def chance(self, fault, test):
        """That a test is positive."""
        table = np.random.default_rng(6).beta(0.4, 0.4, size=(24, 30))
        return jnp.asarray(np.clip(table, 0.03, 0.97), jnp.float32)[fault, test]

    def step(self, state, query, task, *, key):
        positive = jr.bernoulli(key, self.chance(task, query))
        return plain_step(self.spec, positive.astype(jnp.float32)[None])

    def log_likelihood(self, hypothesis, query, outcome):
        return _log_bernoulli(outcome[0], self.chance(hypothesis, query))


class Many(AbstractPlain):
    """200 hypotheses, 20 queries of three answers."""

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(20, 200, outcome_size=1, horizon=24)

    def law(self, hypothesis, query):
        """Of the answers."""
        table = np.random.default_rng(8).dirichlet(np.full(3, 0.5), size=(200, 20))
        return jnp.asarray(0.94 * table + 0.02, jnp.float32)[hypothesis, query]

    def step(self, state, query, task, *, key):
        answer = jr.categorical(key, jnp.log(self.law(task, query)))
        return plain_step(self.spec, answer.astype(jnp.float32)[None])

    def log_likelihood(self, hypothesis, query, outcome):
        return jnp.log(self.law(hypothesis, query))[outcome[0].astype(int)]


class Twenty(AbstractPlain):
    """64 animals, some likelier than others, 30 yes-or-no questions, no noise."""

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(30, 64, outcome_size=1, horizon=20)

    def log_prior(self):
        return jax.nn.log_softmax(-0.04 * jnp.arange(64.0))

    def sample_task(self, *, key):
        return jr.categorical(key, self.log_prior())

    def answer(self, animal, question):
        """0 or 1."""
        table = np.random.default_rng(9).random((64, 30)) < np.linspace(0.1, 0.5, 30)
        return jnp.asarray(table, jnp.float32)[animal, question]

    def step(self, state, query, task, *, key):
        return plain_step(self.spec, self.answer(task, query)[None])

    def log_likelihood(self, hypothesis, query, outcome):
        agrees = jnp.abs(outcome[0] - self.answer(hypothesis, query)) < 0.5
        return jnp.where(agrees, 0.0, -jnp.inf)


class TiredBlind(AbstractPlain):
    """Eight sources, eight sensors; one that was just used tells less."""

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(8, 8, outcome_size=1, horizon=24)

    def reset(self, task, *, key):
        first = plain_reset(self.spec)
        return StepResult(jnp.zeros(8), first.outcome, first.query_mask, False)

    def chance(self, source, sensor, tiredness):
        """That the sensor fires."""
        fires = np.random.default_rng(11).random((8, 8)) < 0.5
        fires[np.arange(8), np.arange(8)] = True
        sign = jnp.asarray(np.where(fires, 1.0, -1.0), jnp.float32)[source, sensor]
        return 0.5 + sign * 0.38 * (1.0 - tiredness)

    def step(self, state, query, task, *, key):
        fires = jr.bernoulli(key, self.chance(task, query, state[query]))
        tired = (0.5 * state).at[query].set(0.8)
        outcome = fires.astype(jnp.float32)[None]
        return StepResult(tired, outcome, jnp.ones(8, bool), False)


class TiredBelief(AbstractPredictiveBelief):
    """How tired each sensor is, and the logarithm of the posterior."""

    family: TiredBlind

    def init(self, first_outcome):
        return jnp.zeros(8), jnp.full(8, -jnp.log(8.0))

    def update(self, state, query, outcome):
        tired, logs = state
        chance = self.family.chance(jnp.arange(8), query, tired[query])
        logs = jax.nn.log_softmax(logs + _log_bernoulli(outcome[0], chance))
        return (0.5 * tired).at[query].set(0.8), logs

    def log_posterior(self, state):
        return state[1]

    def information_gains(self, state):
        tired, logs = state
        each = jnp.arange(8)
        chances = jax.vmap(lambda q: self.family.chance(each, q, tired[q]))(each)
        return _binary_gains(chances, jnp.exp(logs))


class Tired(TiredBlind):
    """The same with its belief."""

    def exact_belief(self):
        return TiredBelief(self)


class ContextBlind(AbstractTaskFamily):
    """Six places, six probes; which of three maps holds is shown at first."""

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(6, 6, outcome_size=2, horizon=20, reveals=True)

    def sample_task(self, *, key):
        place_key, map_key = jr.split(key)
        return jr.randint(place_key, (), 0, 6), jr.randint(map_key, (), 0, 3)

    def hypothesis(self, task):
        return task[0]

    def chance(self, which, place, probe):
        """That a probe finds something."""
        table = np.random.default_rng(12).choice([0.15, 0.5, 0.85], size=(3, 6, 6))
        return jnp.asarray(table, jnp.float32)[which, place, probe]

    def reset(self, task, *, key):
        shown = jnp.stack([task[1].astype(jnp.float32) + 1.0, jnp.zeros(())])
        return StepResult(None, shown, jnp.ones(6, bool), False)

    def step(self, state, query, task, *, key):
        found = jr.bernoulli(key, self.chance(task[1], task[0], query))
        outcome = jnp.stack([jnp.zeros(()), found.astype(jnp.float32)])
        return StepResult(None, outcome, jnp.ones(6, bool), False)


class ContextBelief(AbstractPredictiveBelief):
    """The map, and the logarithm of the posterior."""

    family: ContextBlind

    def init(self, first_outcome):
        which = jnp.clip(first_outcome[0].astype(int) - 1, 0, 2)
        return which, jnp.full(6, -jnp.log(6.0))

    def update(self, state, query, outcome):
        which, logs = state
        chance = self.family.chance(which, jnp.arange(6), query)
        return which, jax.nn.log_softmax(logs + _log_bernoulli(outcome[1], chance))

    def log_posterior(self, state):
        return state[1]

    def information_gains(self, state):
        which, logs = state
        each = jnp.arange(6)
        chances = jax.vmap(lambda q: self.family.chance(which, each, q))(each)
        return _binary_gains(chances, jnp.exp(logs))


class Context(ContextBlind):
    """The same with its belief."""

    def exact_belief(self):
        return ContextBelief(self)


class SamplesBlind(AbstractTaskFamily):
    """Five materials at nine wavelengths; nobody knows how thick a sample is."""

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(9, 5, outcome_size=1, horizon=30)

    def sample_task(self, *, key):
        which_key, thick_key = jr.split(key)
        thickness = jnp.exp(0.5 * jr.normal(thick_key))
        return jr.randint(which_key, (), 0, 5), thickness

    def hypothesis(self, task):
        return task[0]

    def mean(self, material, thickness, wavelength):
        """The share of light that comes through."""
        table = np.random.default_rng(14).random((5, 9))
        absorbs = jnp.asarray(table, jnp.float32)[material, wavelength]
        return jnp.exp(-thickness * absorbs)

    def reset(self, task, *, key):
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        material, thickness = task
        reading = self.mean(material, thickness, query) + 0.12 * jr.normal(key)
        return plain_step(self.spec, reading[None])


_NODES = np.linspace(-3, 3, 25)


class SamplesPosterior(AbstractBelief):
    """Log-weights of material and thickness; it does not look ahead."""

    family: SamplesBlind

    def means(self, query):
        """At every material and thickness."""
        thickness = jnp.exp(0.5 * jnp.asarray(_NODES, jnp.float32))
        each = jax.vmap(self.family.mean, in_axes=(None, 0, None))
        return jax.vmap(each, in_axes=(0, None, None))(jnp.arange(5), thickness, query)

    def init(self, first_outcome):
        logs = jnp.asarray(np.tile(-0.5 * _NODES**2, (5, 1)), jnp.float32)
        return logs - logsumexp(logs)

    def update(self, state, query, outcome):
        logs = state + norm.logpdf(outcome[0], self.means(query), 0.12)
        return logs - logsumexp(logs)

    def log_posterior(self, state):
        return logsumexp(state, axis=1)


class SamplesBelief(SamplesPosterior, AbstractPredictiveBelief):
    """The same, with the expected information by quadrature."""

    def information_gains(self, state):
        readings = jnp.linspace(-0.5, 1.5, 81)
        weights = jnp.exp(state)

        def gain(query):
            means = self.means(query)[None]
            density = jnp.exp(norm.logpdf(readings[:, None, None], means, 0.12))
            joint = jnp.sum(0.025 * density * weights[None], axis=2)
            alone = jnp.sum(entr(jnp.sum(weights, axis=1)))
            return jnp.sum(entr(joint.sum(axis=1))) - jnp.sum(entr(joint)) + alone

        return jax.vmap(gain)(jnp.arange(9))


class SamplesHalf(SamplesBlind):
    """With a posterior that does not look ahead."""

    def exact_belief(self):
        return SamplesPosterior(self)


class Samples(SamplesBlind):
    """With one that does, slowly."""

    def exact_belief(self):
        return SamplesBelief(self)


def _log_bernoulli(outcome, chance):
    return jnp.where(outcome > 0.5, jnp.log(chance), jnp.log1p(-chance))


def _binary_gains(chances, weights):
    """Of queries whose answers are 1 with these chances, queries x hypotheses."""
    mixed = chances @ weights
    entropy = entr(chances) + entr(1.0 - chances)
    return entr(mixed) + entr(1.0 - mixed) - entropy @ weights
