"""How often other units can be noticed in best-of-k at all, by the third answer.

    python benchmarks/most_noticed.py

The density of the first answers is known by quadrature over noise and lead, for the
family itself and for answers ten times as large. By the lemma of Neyman and Pearson no
test with as many false alarms notices more than the ratio of the two; this prints how
often the ratio does.
"""

import math
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe import zoo
from icpe.artifact.saved_rule import SavedRule
from icpe.core.request import OperatingPoint
from icpe.families.best_of_k import BestOfK
from icpe.play.rollout import rollout
from icpe.theory.best_setting import Outcomes, best_setting_log_evidence

sys.path.insert(0, str(Path(__file__).parent))
from guards import changed

EPISODES = 16_384
ANSWERS = 3
TIMES = 10.0
FALSE_ALARMS = (0.01, 0.005)
NUM_NOISES = 65


def log_density(family: BestOfK, queries, answers, number, noise):
    """Of the answers after the first one, which is 0 by definition."""
    size = family.most_settings
    asked = jax.nn.one_hot(queries, size)
    counts = asked.sum(axis=0)
    means = (asked * answers[:, None]).sum(axis=0) / jnp.maximum(counts, 1.0)
    squares = (asked * jnp.square(answers[:, None] - means)).sum(axis=0)
    exists = jnp.arange(size) < number
    seen = Outcomes(counts, means, squares)
    repeats = jnp.maximum(counts - 1.0, 0.0)

    def given(noise):
        evidence = best_setting_log_evidence(seen, exists, noise, family.scales)
        found = jax.nn.logsumexp(jnp.where(exists, evidence, -jnp.inf))
        scatter = -repeats * (jnp.log(noise) + 0.5 * math.log(2 * math.pi))
        scatter -= 0.5 * (squares / noise**2 + jnp.log(jnp.maximum(counts, 1.0)))
        return found - jnp.log(number) + scatter.sum()

    ends = math.log(family.least_noise), math.log(family.most_noise)
    possible = jnp.exp(jnp.linspace(*ends, NUM_NOISES))
    unknown = jax.nn.logsumexp(jax.vmap(given)(possible)) - math.log(NUM_NOISES)
    return jnp.where(noise > 0, given(jnp.where(noise > 0, noise, 1.0)), unknown)


def log_ratios(explorer, family: BestOfK, played_on, seed: int) -> np.ndarray:
    """How much better the larger units explain the first answers of each episode."""
    point = OperatingPoint.at(ANSWERS, budget=ANSWERS)
    keys = jr.split(jr.key(seed), EPISODES)
    play: Callable = jax.jit(
        lambda keys: rollout(explorer, played_on, point, keys=keys)
    )
    history = play(keys).history

    @jax.jit
    @jax.vmap
    def ratio(queries, outcomes):
        answers, (_, number, noise) = outcomes[1:, 0], outcomes[0]
        one = log_density(family, queries, answers, number, noise)
        ten = log_density(family, queries, answers / TIMES, number, noise)
        return ten - (ANSWERS - 1) * math.log(TIMES) - one

    outcomes = history.outcomes[:, : 1 + ANSWERS]
    return np.asarray(ratio(history.queries[:, :ANSWERS], outcomes))


def main() -> None:
    """Prints a line for each share of false alarms."""
    artifact = zoo.load("best-of-k")
    assert isinstance(artifact.nets, SavedRule)
    assert isinstance(artifact.family, BestOfK)
    explorer, family = artifact.nets.explorer, artifact.family
    own = log_ratios(explorer, family, family, 1)
    larger = log_ratios(explorer, family, changed(artifact, scale=TIMES), 2)
    for share in FALSE_ALARMS:
        noticed = np.mean(larger > np.quantile(own, 1.0 - share))
        print(f"false alarms {share:.1%}: at most {noticed:.1%} are noticed")


if __name__ == "__main__":
    main()
