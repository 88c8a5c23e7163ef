"""What a family is like, as a simulation shows it before anything is learned.

The survey is all that the recipe knows about a family beside its spec: whether outcomes
are few or many, noisy or not, whether the hypothesis fixes their law, how they are
scaled; tables of what each class of tasks predicts of each query; and how far a greedy
rule with these tables gets, which tells the prices worth training for.
"""

import dataclasses
import functools as ft
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.arrays import PRNGKey
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.fingerprint import fingerprint
from icpe.core.history import History
from icpe.core.programs import COMPILER_OPTIONS, jit_program
from icpe.core.request import OperatingPoint
from icpe.core.simulate import first_answers
from icpe.core.stopping import random_query
from icpe.explorers.neural.predicted import PredictedBelief
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.explorers.rules.scores import InformationScore
from icpe.learn.given import given_tables
from icpe.learn.tables import NUM_CELLS, Answers, Tally, cluster, fit_classes
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
_MOST_STEPS = 48
_MOST_PILOT_STEPS = 128
_CHUNK = 2**22
_MOST_RECENT = 4


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is simulated: answers in all, and the largest table that is kept."""

    draws: int
    table: int


SIZES = {"cpu": Size(2**22, 2**22), "gpu": Size(2**26, 2**26)}


@dataclasses.dataclass(frozen=True)
class Pilot:
    """How far the greedy rule with the tables gets, threshold by threshold.

    Attributes:
        thresholds: of the posterior at which it stops.
        accuracy: share of right answers.
        mean_cost: of the queries made.
        mean_queries: number of queries made.
        at_horizon: accuracy after all queries that the horizon allows.
        before: accuracy of the best guess before any query.
    """

    thresholds: tuple[float, ...]
    accuracy: tuple[float, ...]
    mean_cost: tuple[float, ...]
    mean_queries: tuple[float, ...]
    at_horizon: float
    before: float


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
        given: the tables that the family itself gives, whose evidence holds entirely;
            None where it gives none or outcomes are many.
    """

    num_symbols: int | None = eqx.field(static=True)
    is_noisy: bool = eqx.field(static=True)
    share_between_tasks: float = eqx.field(static=True)
    outcome_shift: tuple[float, ...] = eqx.field(static=True)
    outcome_scale: tuple[float, ...] = eqx.field(static=True)
    predictions: Predictions | None
    trust: float = eqx.field(static=True)
    pilot: Pilot | None = eqx.field(static=True)
    given: Predictions | None = None


def machine_here() -> str:
    """The kind of machine that this process runs on."""
    return "gpu" if jax.default_backend() == "gpu" else "cpu"


_RECENT: dict[tuple, Survey] = {}
"""The last surveys: the recipe and the learner look at the same one."""


def survey(
    family: AbstractTaskFamily, machine: str = "cpu", *, seed: int = 0
) -> Survey:
    """Simulates a family and fits tables of what its classes predict."""
    key = (fingerprint(family), machine, seed)
    if key not in _RECENT:
        while len(_RECENT) >= _MOST_RECENT:
            del _RECENT[next(iter(_RECENT))]
        _RECENT[key] = _survey(family, machine, seed)
    return _RECENT[key]


def _survey(family: AbstractTaskFamily, machine: str, seed: int) -> Survey:
    spec, size = family.spec, SIZES[machine]
    family = family.with_data()
    few = _answers(family, _FEW_DRAWS, _NUM_REPEATS, None, seed)
    share = few.share_between_tasks()
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
    given = None
    if few.symbols is not None and not np.any(few.first):
        given = given_tables(family, few.symbols, size.table)
    if given is not None:
        return Survey(
            **facts,
            predictions=predictions if trust else None,
            trust=trust,
            pilot=_pilot(family, given, 1.0, seed + 2),
            given=given,
        )
    if not trust:
        return nothing
    return Survey(
        **facts,
        predictions=predictions,
        trust=trust,
        pilot=_pilot(family, predictions, trust, seed + 2),
    )


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
            tally = _count_by_hypothesis(self._family, few, self._draws, seed)
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
    keys = jr.split(jr.key(seed), _NUM_EPISODES)
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


def _count_by_hypothesis(
    family: AbstractTaskFamily, few: Answers, draws: int, seed: int
) -> Tally:
    """Adds up answers on the device, a chunk of tasks at a time.

    Every hypothesis needs tasks of its own, so there are at least 32 for each, on
    average, however many queries that makes.
    """
    spec = family.spec
    symbols = few.symbols
    width = spec.num_queries * (spec.outcome_size if symbols is None else len(symbols))
    tasks = max(draws // spec.num_queries, 32 * spec.num_hypotheses)
    chunk = int(np.clip(_CHUNK // width, 16, tasks))
    arrays, static = eqx.partition(family, eqx.is_array)
    sums = jax.device_get(
        _count(
            static,
            chunk,
            arrays,
            None if symbols is None else jnp.asarray(symbols, jnp.float32),
            jr.key(seed),
            jnp.asarray(-(-tasks // chunk), jnp.int32),
        )
    )
    found: dict[str, Any] = {k: np.asarray(v, float) for k, v in sums.items()}
    return Tally(**found)


@ft.partial(jax.jit, static_argnums=(0, 1), compiler_options=COMPILER_OPTIONS)
def _count(static, chunk: int, arrays, symbols, key: PRNGKey, num_chunks):
    family: AbstractTaskFamily = eqx.combine(arrays, static)
    spec = family.spec
    queries = jnp.arange(spec.num_queries)

    def look(key: PRNGKey):
        task_key, reset_key, step_key = jr.split(key, 3)
        task = family.sample_task(key=task_key)
        first = family.reset(task, key=reset_key)
        keys = jr.split(step_key, spec.num_queries)
        answers = jax.vmap(
            lambda query, key: family.step(first.state, query, task, key=key).outcome
        )(queries, keys)
        return family.hypothesis(task), first.query_mask, answers

    def sums(key: PRNGKey):
        hypothesis, mask, outcomes = jax.vmap(look)(jr.split(key, chunk))
        allowed = mask.astype(jnp.float32)

        def add(values):
            return jax.ops.segment_sum(values, hypothesis, spec.num_hypotheses)

        found = {"sizes": add(jnp.ones(chunk)), "asked": jnp.sum(allowed, axis=0)}
        weight = allowed[..., None]
        if symbols is not None:
            distance = jnp.square(outcomes[:, :, None] - symbols[None, None]).sum(-1)
            codes = jax.nn.one_hot(jnp.argmin(distance, axis=-1), symbols.shape[0])
            return found | {"symbol_counts": add(codes * weight)}
        if not spec.outcome_flags:
            return found | {
                "counts": add(allowed),
                "sums": add(weight * outcomes),
                "squares": add(weight * jnp.square(outcomes)),
            }
        values, shown = jnp.split(outcomes, 2, axis=-1)
        shown = shown * weight
        return found | {
            "counts": add(jnp.sum(shown, axis=1)),
            "sums": add(jnp.sum(shown * values, axis=1))[..., None],
            "squares": add(jnp.sum(shown * jnp.square(values), axis=1))[..., None],
            "revealed": jnp.sum(shown, axis=0),
        }

    zero = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(sums, key)
    )
    return jax.lax.fori_loop(
        0,
        num_chunks,
        lambda i, total: jax.tree.map(jnp.add, total, sums(jr.fold_in(key, i))),
        zero,
    )


@jit_program
def _posteriors(predictions: Predictions, history: History):
    """log P(h | D) by the tables at every position of every history."""
    log_weights = jax.vmap(predictions.along)(history.queries, history.outcomes)
    return predictions.log_posterior(log_weights)


def _trust(predictions: Predictions, histories) -> tuple[float, float]:
    """Cross-entropy on fresh histories, and the share of the evidence that gives it.

    The share is 0 where no share is better than knowing the prior alone.
    """
    history, hypothesis = histories
    log_posterior = np.asarray(_posteriors(predictions, history), float)
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


def _pilot(
    family: AbstractTaskFamily, predictions: Predictions, trust: float, seed: int
) -> Pilot:
    """Plays the greedy rule to the horizon, and stops it afterwards in thought."""
    spec = family.spec
    steps = min(spec.horizon, _MOST_PILOT_STEPS)
    explorer = BeliefExplorer(
        "pilot", PredictedBelief(predictions), InformationScore(spec.costs)
    )
    point = OperatingPoint.at(spec.horizon, budget=steps)
    keys = jr.split(jr.key(seed), _NUM_EPISODES)
    transcript = jit_program(rollout)(explorer, family, point, keys=keys)
    history = dataclasses.replace(
        transcript.history,
        queries=transcript.history.queries[:, :steps],
        outcomes=transcript.history.outcomes[:, : steps + 1],
    )
    log_posterior = np.asarray(_posteriors(predictions, history), float)
    prior = log_posterior[:, :1]
    logits = prior + trust * (log_posterior - prior)
    logits = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    length = np.asarray(history.length)
    last = np.minimum(np.arange(steps + 1)[None], length[:, None])
    rows = np.arange(len(length))[:, None]
    sure = np.exp(logits.max(axis=-1))[rows, last]
    truth = np.asarray(transcript.ending.hypothesis)[:, None]
    right = (logits.argmax(axis=-1) == truth)[rows, last]
    costs = np.asarray(spec.costs or (1.0,) * spec.num_queries)
    queries = np.asarray(history.queries)
    paid = np.where(queries >= 0, costs[np.maximum(queries, 0)], 0.0).cumsum(axis=1)
    paid = np.concatenate([np.zeros((len(paid), 1)), paid], axis=1)
    thresholds = 1.0 - np.geomspace(1.0 - sure[:, 0].mean() + 1e-9, 1e-4, 40)
    points = [_stop_at(threshold, sure, right, paid, last) for threshold in thresholds]
    accuracy, cost, made = np.array(points).T
    return Pilot(
        thresholds=tuple(thresholds.tolist()),
        accuracy=tuple(accuracy.tolist()),
        mean_cost=tuple(cost.tolist()),
        mean_queries=tuple(made.tolist()),
        at_horizon=float(right[:, -1].mean()),
        before=float(right[:, 0].mean()),
    )


def _stop_at(threshold: float, sure, right, paid, last) -> tuple[float, float, float]:
    """Accuracy, mean cost and mean queries of stopping at a threshold."""
    reaches = sure >= threshold
    stop = np.where(reaches.any(axis=1), reaches.argmax(axis=1), sure.shape[1] - 1)
    rows = np.arange(len(stop))
    made = last[rows, stop]
    return (
        float(right[rows, stop].mean()),
        float(paid[rows, made].mean()),
        float(made.mean()),
    )
