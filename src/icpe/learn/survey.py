"""What a family is like, as a simulation shows it before anything is learned.

The survey is all that the recipe knows about a family beside its spec: whether outcomes
are few or many, noisy or not, whether the hypothesis fixes their law, how they are
scaled; tables of what each class of tasks predicts of each query; and how far a greedy
rule with these tables gets, which tells the prices worth training for.
"""

import dataclasses
import functools as ft
from typing import Literal

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

from icpe.core import distributed
from icpe.core.family import AbstractTaskFamily
from icpe.core.fingerprint import fingerprint
from icpe.core.history import History
from icpe.core.host import explained
from icpe.core.spec import TaskSpec
from icpe.learn.answers import Answers
from icpe.learn.class_share import CLASS_SHARE, Tried, saved_by
from icpe.learn.fitting import ON_HOST, Fitting, best_tables, few_answers, fits
from icpe.learn.given import (
    given_belief,
    given_posterior,
    given_tables,
    operations_of,
)
from icpe.learn.later import Later, carries_state
from icpe.learn.pilot import Pilot, fly_pilot, play_greedy, prices_of_stops
from icpe.nets.evidence import AbstractPredictions
from icpe.nets.exact import ExactPredictions
from icpe.nets.outcome_tables import kind_and_cells
from icpe.nets.predictions import Predictions
from icpe.play.rollout import Transcript

Machine = Literal["cpu", "gpu"]

_NUM_EPISODES = 2048
_MANY = 4
"""How many times as many episodes of the rule that networks start from are played."""
_AT_ONCE = 2**25
"""Numbers at one step of all these episodes, beyond which they are fewer."""
_MOST_RECENT = 4
_ROUNDING = 1e-6
"""Of numbers in single precision."""


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is simulated and computed.

    Attributes:
        draws: answers in all.
        table: entries of the largest table that is kept.
        belief: operations of an exact belief in one episode, where it is used.
        slow_belief: the same where it knows no faster way; fewer episodes are played.
    """

    draws: int
    table: int
    belief: float
    slow_belief: float


SIZES = {
    "cpu": Size(2**22, 2**22, 2**23, 2**26),
    "gpu": Size(2**26, 2**26, 2**26, 2**26),
}


class Survey(eqx.Module):
    """What the simulation showed.

    Attributes:
        num_symbols: how many distinct outcomes there are, None if they are many.
        is_noisy: whether a repeated query may be answered differently.
        share_between_tasks: of the variance of answers, given the hypothesis.
        outcome_shift: mean of each outcome entry over tasks and queries.
        outcome_scale: its standard deviation.
        task_spread: its standard deviation within a task.
        predictions: the tables, None where they predict nothing, mislead a rule that
            acts on them, would be too large, or are not needed.
        trust: how much of their evidence holds on fresh random episodes, 0 to 1.
        pilot: how far a greedy rule with the tables gets; None without them.
        given: tables or a belief that the family itself gives, whose evidence holds
            entirely; None where it gives none that can be used.
        operations: of all looks of a belief at one episode; 0 of tables.
        greedy: episodes of the greedy rule with these, which never stops by itself.
    """

    num_symbols: int | None = eqx.field(static=True)
    is_noisy: bool = eqx.field(static=True)
    share_between_tasks: float = eqx.field(static=True)
    outcome_shift: tuple[float, ...] = eqx.field(static=True)
    outcome_scale: tuple[float, ...] = eqx.field(static=True)
    task_spread: tuple[float, ...] = eqx.field(static=True)
    predictions: Predictions | None
    trust: float = eqx.field(static=True)
    pilot: Pilot | None = eqx.field(static=True)
    given: AbstractPredictions | None = None
    operations: float = eqx.field(static=True, default=0.0)
    greedy: History | None = None


def can_be_counted(spec: TaskSpec, found: Survey, machine: str) -> bool:
    """Whether every hypothesis and query fit into tables on this kind of machine."""
    return fits(spec, found.num_symbols, SIZES[machine].table)


def machine_here() -> Machine:
    """The kind of machine that this process runs on."""
    return "gpu" if jax.default_backend() == "gpu" else "cpu"


_RECENT: dict[tuple, Survey] = {}
"""The last surveys: the recipe and the learner look at the same one."""


@explained()
def survey(
    family: AbstractTaskFamily,
    machine: str = "cpu",
    *,
    seed: int = 0,
    counts: bool = False,
) -> Survey:
    """Simulates a family and fits tables of what its classes predict.

    Of several processes the first one does so, and tells the others.

    Args:
        family: any.
        machine: how much is simulated.
        seed: of the simulation.
        counts: fit tables even where the family gives what they would tell.
    """
    key = (fingerprint(family), machine, seed, counts)
    if key not in _RECENT:
        while len(_RECENT) >= _MOST_RECENT:
            del _RECENT[next(iter(_RECENT))]
        first = distributed.is_first()
        found = _survey(family, machine, seed, counts) if first else None
        _RECENT[key] = distributed.share(found)
    return _RECENT[key]


def _survey(
    family: AbstractTaskFamily, machine: str, seed: int, counts: bool
) -> Survey:
    size, family = SIZES[machine], family.with_data()
    if family.on_host:
        size = dataclasses.replace(size, draws=ON_HOST)
    few, share = few_answers(family, seed)
    ways = [Fitting(family, few, size.draws, seed)]
    if not family.on_host and carries_state(family):
        later = Later.of(family)
        more, _ = few_answers(later, seed)
        ways.append(Fitting(later, more, size.draws, seed))
        few = more if more.shows_more(few) else few
    facts = {
        "num_symbols": few.num_symbols,
        "is_noisy": few.is_noisy,
        "share_between_tasks": share,
        **_location(few),
    }
    keys = jr.split(jr.key(seed + 2), _num_episodes(family))
    given = None
    if few.symbols is not None and not np.any(few.first):
        given = given_tables(family, few.symbols, size.table)
    if given is None:
        given = given_belief(family, size.belief, size.slow_belief)
    predictions, trust = None, 0.0
    if given is None or counts:
        predictions, trust = best_tables(
            family,
            ways,
            share,
            largest=size.table,
            episodes=_num_episodes(family),
            seed=seed + 1,
        )
    if given is None and predictions is not None:
        given = given_posterior(family, predictions, size.belief)
    pilot, greedy, spec = None, None, family.spec
    if given is not None:
        many = jr.split(jr.key(seed + 2), _num_greedy(family, given))
        given, played = _better_rule(family, given, many, len(keys))
        pilot = fly_pilot(spec, given, 1.0, _some(played, len(keys)))
        greedy = played.history
    elif predictions is not None:
        played = play_greedy(family, predictions, keys)
        pilot = fly_pilot(spec, predictions, trust, played)
        if pilot.is_misled:
            predictions, trust, pilot = None, 0.0, None
    operations = 0.0
    if isinstance(given, ExactPredictions):
        operations = operations_of(given.belief, family.spec)
    return Survey(
        **facts,
        predictions=predictions,
        trust=trust,
        pilot=pilot,
        given=given,
        operations=operations,
        greedy=greedy,
    )


def _better_rule(
    family: AbstractTaskFamily, given: AbstractPredictions, keys, number: int
) -> tuple[AbstractPredictions, Transcript]:
    """The greedy rule with what is given, and its episodes.

    Where classes are finer than hypotheses, it may want to know the class, too.
    """
    spec, played = family.spec, play_greedy(family, given, keys)
    if not (isinstance(given, Predictions) and given.can_share and spec.can_stop):
        return given, played
    pilot = fly_pilot(spec, given, 1.0, _some(played, number))
    shared = given.with_class_share(CLASS_SHARE)
    other = play_greedy(family, shared, keys)
    tried = (Tried(shared, other.history), Tried(given, played.history))
    if saved_by(*tried, spec, prices_of_stops(pilot, spec)) > 0:
        return shared, other
    return given, played


def _some(played: Transcript, number: int) -> Transcript:
    """The first episodes."""
    return jax.tree.map(lambda leaf: leaf[:number], played)


def _location(few: Answers) -> dict[str, tuple[float, ...]]:
    """Where the numbers of outcomes lie: mean and spread, over all and in a task.

    A constant has the spread 1, to divide by.
    """
    made = few.outcomes.shape[1] * few.allowed.sum(axis=1, dtype=float)
    add = ft.partial(np.einsum, dtype=float)
    shift = add("tq,trqo->o", few.allowed, few.outcomes) / made.sum()
    around = few.outcomes - shift.astype(np.float32)
    squares = "tq,trqo,trqo->o"
    scale = np.sqrt(add(squares, few.allowed, around, around) / made.sum())
    own = add("tq,trqo->to", few.allowed, around) / np.maximum(made, 1.0)[:, None]
    around -= own[:, None, None].astype(np.float32)
    within = np.sqrt(add(squares, few.allowed, around, around) / made.sum())
    varies = scale > _ROUNDING * np.abs(shift)
    return {
        "outcome_shift": tuple(shift.tolist()),
        "outcome_scale": tuple(np.where(varies, scale, 1.0).tolist()),
        "task_spread": tuple(np.where(varies, within, 0.0).tolist()),
    }


def _num_greedy(family: AbstractTaskFamily, given: AbstractPredictions) -> int:
    """More episodes tell better when to stop; beliefs take too long for them."""
    number, spec = _num_episodes(family), family.spec
    if family.on_host or not isinstance(given, Predictions):
        return number
    _, num_cells = kind_and_cells(given.outcomes)
    if not num_cells:
        return number
    numbers = spec.num_hypotheses * spec.num_queries * num_cells
    return number * max(1, min(_MANY, _AT_ONCE // (number * numbers)))


def _num_episodes(family: AbstractTaskFamily) -> int:
    return _NUM_EPISODES // 8 if family.on_host else _NUM_EPISODES
