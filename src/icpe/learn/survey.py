"""What a family is like, as a simulation shows it before anything is learned.

The survey is all that the recipe knows about a family beside its spec: whether outcomes
are few or many, noisy or not, whether the hypothesis fixes their law, how they are
scaled; tables of what each class of tasks predicts of each query; and how far a greedy
rule with these tables gets, which tells the prices worth training for.
"""

import dataclasses
import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core import distributed
from icpe.core.arrays import PRNGKey
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.fingerprint import fingerprint
from icpe.core.host import explained
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint
from icpe.core.simulate import first_answers
from icpe.core.stopping import random_query
from icpe.learn.counting import count_by_hypothesis
from icpe.learn.given import given_belief, given_tables
from icpe.learn.pilot import Pilot, fly_pilot, posteriors
from icpe.learn.tables import NUM_CELLS, Answers, cluster, fit_classes
from icpe.nets.evidence import AbstractPredictions
from icpe.nets.predictions import Predictions
from icpe.play.rollout import rollout

_FEW_DRAWS = 2**19
_NUM_REPEATS = 4
_MOST_TASKS = 8192
_MOST_CLASSES = 1024
_CANDIDATES = (4, 16, 64)
_FIXED_LAW = 0.01
"""Below this share of variance between tasks, the hypothesis fixes the law."""
_TRUSTS = (0.25, 0.5, 0.75, 1.0)
_NUM_EPISODES = 2048
_ON_HOST = 2**13
"""Answers in all where each is a call of Python; elsewhere they are nearly free."""
_MOST_STEPS = 48
_MOST_RECENT = 4


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is simulated and computed.

    Attributes:
        draws: answers in all.
        table: entries of the largest table that is kept.
        belief: operations of an exact belief in one episode, where it is used.
    """

    draws: int
    table: int
    belief: float


SIZES = {"cpu": Size(2**22, 2**22, 2**22), "gpu": Size(2**26, 2**26, 2**26)}


class Survey(eqx.Module):
    """What the simulation showed.

    Attributes:
        num_symbols: how many distinct outcomes there are, None if they are many.
        is_noisy: whether a repeated query may be answered differently.
        share_between_tasks: of the variance of answers, given the hypothesis.
        outcome_shift: mean of each outcome entry over tasks and queries.
        outcome_scale: its standard deviation.
        predictions: the tables, None where they predict nothing or would be too large.
        trust: how much of their evidence holds on fresh random episodes, 0 to 1.
        pilot: how far a greedy rule with the tables gets; None without them.
        given: tables or a belief that the family itself gives, whose evidence holds
            entirely; None where it gives none that can be used.
    """

    num_symbols: int | None = eqx.field(static=True)
    is_noisy: bool = eqx.field(static=True)
    share_between_tasks: float = eqx.field(static=True)
    outcome_shift: tuple[float, ...] = eqx.field(static=True)
    outcome_scale: tuple[float, ...] = eqx.field(static=True)
    predictions: Predictions | None
    trust: float = eqx.field(static=True)
    pilot: Pilot | None = eqx.field(static=True)
    given: AbstractPredictions | None = None


def machine_here() -> str:
    """The kind of machine that this process runs on."""
    return "gpu" if jax.default_backend() == "gpu" else "cpu"


_RECENT: dict[tuple, Survey] = {}
"""The last surveys: the recipe and the learner look at the same one."""


@explained()
def survey(
    family: AbstractTaskFamily, machine: str = "cpu", *, seed: int = 0
) -> Survey:
    """Simulates a family and fits tables of what its classes predict.

    Of several processes the first one does so, and tells the others.
    """
    key = (fingerprint(family), machine, seed)
    if key not in _RECENT:
        while len(_RECENT) >= _MOST_RECENT:
            del _RECENT[next(iter(_RECENT))]
        first = distributed.is_first()
        found = _survey(family, machine, seed) if first else None
        _RECENT[key] = distributed.share(found)
    return _RECENT[key]


def _survey(family: AbstractTaskFamily, machine: str, seed: int) -> Survey:
    spec, size = family.spec, SIZES[machine]
    family = family.with_data()
    if family.on_host:
        size = dataclasses.replace(size, draws=_ON_HOST)
    few, share = _few_answers(family, seed)
    flat = few.outcomes.reshape(-1, spec.outcome_size)
    facts = {
        "num_symbols": None if few.symbols is None else len(few.symbols),
        "is_noisy": few.is_noisy,
        "share_between_tasks": share,
        "outcome_shift": tuple(map(float, flat.mean(axis=0))),
        "outcome_scale": tuple(float(x) or 1.0 for x in flat.std(axis=0)),
    }
    cells = NUM_CELLS if few.symbols is None else len(few.symbols)
    table_size = spec.num_queries * spec.num_hypotheses * cells
    nothing = Survey(**facts, predictions=None, trust=0.0, pilot=None)
    if table_size > size.table:
        return nothing
    histories = _random_histories(family, seed=seed + 1)
    best = None
    fit = _Fitting(family, few, size.draws, seed)
    for num_each in _candidates(spec, share):
        found = fit(num_each)
        loss, trust = _trust(found, histories)
        if best is None or loss < 0.995 * best[0]:
            best = (loss, trust, found)
    assert best is not None
    _, trust, predictions = best
    keys = jr.split(jr.key(seed + 2), _num_episodes(family))
    given = None
    if few.symbols is not None and not np.any(few.first):
        given = given_tables(family, few.symbols, size.table)
    if given is None:
        given = given_belief(family, size.belief)
    if given is not None:
        return Survey(
            **facts,
            predictions=predictions if trust else None,
            trust=trust,
            pilot=fly_pilot(family, given, 1.0, keys),
            given=given,
        )
    if not trust:
        return nothing
    return Survey(
        **facts,
        predictions=predictions,
        trust=trust,
        pilot=fly_pilot(family, predictions, trust, keys),
    )


def _few_answers(family: AbstractTaskFamily, seed: int) -> tuple[Answers, float]:
    """Some answers, and how much of their variance is between tasks.

    On the host a task repeats itself, so that noise shows between tasks alone.
    """
    if family.on_host:
        few = _answers(family, _ON_HOST // 4, 1, None, seed)
        return dataclasses.replace(few, tasks_repeat=True), 0.0
    few = _answers(family, _FEW_DRAWS, _NUM_REPEATS, None, seed)
    return few, few.share_between_tasks()


def _num_episodes(family: AbstractTaskFamily) -> int:
    return _NUM_EPISODES // 8 if family.on_host else _NUM_EPISODES


def _answers(
    family: AbstractTaskFamily, draws: int, repeats: int, symbols, seed: int
) -> Answers:
    """So many answers in all, with at least a task for each hypothesis or so."""
    spec = family.spec
    tasks = draws // (repeats * spec.num_queries * spec.outcome_size)
    tasks = int(np.clip(tasks, 64, _MOST_TASKS))
    found = first_answers(family, tasks, repeats=repeats, seed=seed)
    return Answers.of(spec, found, symbols)


def _candidates(spec, share: float) -> tuple[int, ...]:
    """Numbers of classes for each hypothesis that are worth a try."""
    if share < _FIXED_LAW:
        return (1,)
    most = min(_MOST_CLASSES // spec.num_hypotheses, _MOST_TASKS // 16)
    return (1, *(number for number in _CANDIDATES if number <= most))


class _Fitting:
    """Tables with different numbers of classes, from answers that are drawn once."""

    def __init__(self, family: AbstractTaskFamily, few: Answers, draws: int, seed: int):
        self._family, self._few, self._draws, self._seed = family, few, draws, seed

    def __call__(self, num_each: int) -> Predictions:
        """With so many classes for each hypothesis."""
        few = self._few
        if num_each == 1 and not np.any(few.first):
            seed = self._seed + 10
            tally = count_by_hypothesis(self._family, few, self._draws, seed)
            return tally.predictions(few.spec, few.symbols, few.is_noisy)
        classes = cluster(self._answers, num_each, self._seed)
        return fit_classes(self._answers, classes, num_each)

    @ft.cached_property
    def _answers(self) -> Answers:
        spec = self._few.spec
        per_task = spec.num_queries * spec.outcome_size
        repeats = int(np.clip(self._draws // (_MOST_TASKS * per_task), 1, 64))
        symbols, seed = self._few.symbols, self._seed + 10
        return _answers(self._family, self._draws, repeats, symbols, seed)


def _random_histories(family: AbstractTaskFamily, *, seed: int):
    """Episodes of uniformly random queries that never stop."""
    steps = min(family.spec.horizon, _MOST_STEPS)
    point = OperatingPoint.at(family.spec.horizon, budget=steps)
    keys = jr.split(jr.key(seed), _num_episodes(family))
    transcript = jit_program(rollout)(_RandomQueries(), family, point, keys=keys)
    return transcript.history, transcript.ending.hypothesis


class _RandomQueries(AbstractExplorer):
    """Makes any allowed query and never stops."""

    def init(self, spec, operating_point, first_outcome):
        return jnp.zeros(())

    def ask(self, state, query_mask, *, key: PRNGKey):
        return random_query(query_mask, key=key)

    def tell(self, state, query, outcome):
        return state

    def recommend(self, state):
        return jnp.zeros((), jnp.int32)

    def log_posterior(self, state):
        return None


def _trust(predictions: Predictions, histories) -> tuple[float, float]:
    """Cross-entropy on fresh histories, and the share of the evidence that gives it.

    The share is 0 where no share is better than knowing the prior alone.
    """
    history, hypothesis = histories
    log_posterior = np.asarray(posteriors(predictions, history), float)
    truth = np.asarray(hypothesis)
    reached = np.arange(log_posterior.shape[1]) <= np.asarray(history.length)[:, None]
    prior = log_posterior[:, :1]

    def loss(share: float) -> float:
        logits = prior + share * (log_posterior - prior)
        logits = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        each = np.take_along_axis(logits, truth[:, None, None], axis=2)[..., 0]
        return float(-(each * reached).sum() / reached.sum())

    losses = {share: loss(share) for share in (0.0, *_TRUSTS)}
    best = min(losses, key=lambda share: losses[share])
    worthwhile = losses[best] < 0.98 * losses[0.0]
    return losses[best], best if worthwhile else 0.0
