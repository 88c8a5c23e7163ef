"""Why train? What training gains over a rule with an exact belief, which needs none.

At equal accuracy, on the same episodes, in queries (or cost) and in time for one
decision. The rule is the best that the family has, chosen on episodes of its own.
"""

import statistics
import time
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import jax.random as jr

from icpe.artifact import Artifact
from icpe.artifact.operating_table import OperatingTable
from icpe.artifact.rule_gain import RuleGain
from icpe.artifact.saved_rule import SavedRule, rules_for
from icpe.core.errors import UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.likelihood import belief_for
from icpe.core.progress import AbstractProgress
from icpe.core.request import OperatingPoint
from icpe.evaluate.equal_accuracy import compare_at_accuracy
from icpe.evaluate.thresholds import play_thresholds
from icpe.explorers.registry import make_explorer
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.play.live import LiveEpisode

_ACCURACIES = (0.9, 0.95, 0.99, 0.8, 0.7, 0.6, 0.5)
"""The first at which a comparison tells something is taken."""
_PILOT_EPISODES = 512
_PILOT_STREAM = 0x9E51
_NUM_DECISIONS = 24


def best_rule(
    family: AbstractTaskFamily, *, accuracy: float = 0.9, seed: int = 0
) -> str | None:
    """The rule that is cheapest at an accuracy, on a few episodes of its own.

    All play the same tasks, and their posteriors say how accurate they are, so that a
    few hundred episodes tell close rules apart. None where the family has no exact
    belief. Random queries are no rule worth having where there is another; of rules
    that never arrive the most accurate is taken.
    """
    if not _has_belief(family):
        return None
    names = rules_for(family)
    names = [name for name in names if name != "uniform"] or list(names)
    if len(names) < 2:
        return names[0] if names else None
    key = jr.fold_in(jr.key(seed), _PILOT_STREAM)

    def merit(name: str) -> tuple[float, float]:
        explorer = make_explorer(name, family)
        assert isinstance(explorer, BeliefExplorer)
        played = play_thresholds(explorer, family, _PILOT_EPISODES, key=key)
        cost = played.expected_cost(accuracy)
        if cost is None:
            return 0.0, float(played.sure[:, -1].mean())
        return 1.0, -cost

    return max(names, key=merit)


def _has_belief(family: AbstractTaskFamily) -> bool:
    try:
        belief_for(family)
    except UnsupportedError:
        return False
    return True


def gain_over_rule(
    artifact: Artifact,
    *,
    rule: str | None = None,
    accuracy: float | None = None,
    episodes: int = 2048,
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> RuleGain | None:
    """What a trained explorer gains over a rule at equal accuracy.

    None where the family has no exact belief, cannot stop, or where no accuracy tells
    them apart.

    Args:
        artifact: the explorer, calibrated.
        rule: the name of the rule; the best one if None.
        accuracy: at which they are compared; 0.9 if None, or the next round number
            that the explorer reaches and that needs queries.
        episodes: number of episodes, the same for both.
        seed: of tasks, noise and the explorers' own randomness.
        progress: receives every finished explorer.
    """
    family = artifact.family
    if artifact.table is None or not family.spec.can_stop:
        return None
    accuracy = _telling(artifact.table) if accuracy is None else accuracy
    if accuracy is None:
        return None
    rule = best_rule(family, accuracy=accuracy, seed=seed) if rule is None else rule
    if rule is None:
        return None
    saved = SavedRule.of(family, rule)
    ours, theirs = compare_at_accuracy(
        {"trained": artifact, rule: saved.explorer},
        family,
        accuracy,
        episodes=episodes,
        seed=seed,
        progress=progress,
    )
    horizon = family.spec.horizon
    low = artifact.prices.low
    return RuleGain(
        rule=rule,
        accuracy=accuracy,
        episodes=episodes,
        seed=seed,
        unit="cost" if family.spec.costs else "queries",
        mean_cost=ours.mean_cost,
        rule_mean_cost=theirs.mean_cost,
        saving=None if ours.mean_cost is None else theirs.saving,
        saving_interval=None if ours.mean_cost is None else theirs.saving_interval,
        decision_ms=decision_ms(artifact.explorer, family, artifact.point_at(low)),
        rule_decision_ms=decision_ms(
            saved.explorer, family, OperatingPoint.at(horizon, price=saved.prices.low)
        ),
        device=jax.devices()[0].device_kind,
    )


def _telling(table: OperatingTable) -> float | None:
    """An accuracy that the explorer reaches, but not without queries."""
    rows = table.priced()
    most = max(row.lower_bound for row in rows)
    cheapest = min(rows, key=lambda row: row.mean_cost)
    least = 0.0 if cheapest.mean_cost > 0 else cheapest.accuracy
    fits = (it for it in _ACCURACIES if least + 0.01 < it <= most)
    return next(fits, None)


def decision_ms(
    explorer: AbstractExplorer, family: AbstractTaskFamily, point: OperatingPoint
) -> float:
    """Median time of a decision when one answer at a time is told, in milliseconds.

    That is what a session needs to take in an answer and to choose the next query,
    without compiling.
    """
    key = jr.key(0)
    task = family.sample_task(key=key)
    live = LiveEpisode(explorer, point, key, family.spec)
    times: list[float] = []
    while len(times) <= _NUM_DECISIONS:
        before = len(times)
        times += _episode(live, family, task)
        if len(times) == before:  # it stops at once
            break
    return 1e3 * statistics.median(times[1:] or times or [0.0])


def _episode(live: LiveEpisode, family: AbstractTaskFamily, task) -> Sequence[float]:
    """Seconds of each decision of one episode."""
    world = family.reset(task, key=jr.key(1))
    turn = live.begin(world.outcome, world.query_mask)
    seconds = []
    for step in range(family.spec.horizon):
        if int(turn.stop_reason):
            break
        key = jr.fold_in(jr.key(2), step)
        world = family.step(world.state, turn.query, task, key=key)
        jax.block_until_ready(world.outcome)
        start = time.perf_counter()
        turn = live.advance(
            turn,
            int(turn.query),
            jnp.asarray(world.outcome),
            world.query_mask,
            terminated=bool(world.terminated),
        )
        jax.block_until_ready((turn.query, turn.posterior))
        seconds.append(time.perf_counter() - start)
    return seconds
