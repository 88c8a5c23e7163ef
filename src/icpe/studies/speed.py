"""How fast the two learners and a session are on this machine."""

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.artifact import Artifact
from icpe.core.arrays import PyTree
from icpe.core.checks import check_at_least
from icpe.deploy.session import Session
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families.gaussian_bandit import GaussianBandit
from icpe.learn.config import TrainConfig
from icpe.learn.layout import device_mesh, placed, run_chunk
from icpe.learn.learner import LearnerState, UniversalLearner
from icpe.learn.paper.config import PaperConfig
from icpe.learn.paper.learner import PaperLearner
from icpe.learn.paper.transitions import sample_transitions
from icpe.learn.replay import Experience, Replay
from icpe.learn.survey import machine_here, survey

NUM_ARMS = 10
_CHUNKS = 3


@dataclasses.dataclass(frozen=True)
class Workload:
    """What is timed: a Gaussian bandit of ten arms, episodes of full length."""

    episodes: int
    """Episodes in an update."""
    steps: int
    """Steps in an episode."""
    width: int
    """Width of the Transformers."""
    layers: int
    """Blocks in each Transformer."""
    repeats: int
    """Timed runs, of which the median counts; and updates in a timed chunk."""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            check_at_least(field.name, getattr(self, field.name), 1)


@dataclasses.dataclass(frozen=True)
class Speed:
    """Medians over the timed runs; compilation is told apart.

    Attributes:
        device: what it ran on.
        rollout_ms: playing the episodes, every one to its last step.
        gradient_ms: one gradient step of both networks on them.
        update_ms: the two together, inside the compiled loop of a training.
        episodes_per_second: episodes trained, each of whose transitions had one
            gradient step.
        rollout_steps_per_second: steps played.
        compile_seconds: compiling that loop.
        ask_ms: `Session.ask` after a history of `steps`.
        tell_ms: `Session.tell`, which reads the outcome and works out the next query.
        paper: the paper's learner, with the same networks on the same workload.
        episodes_ratio: episodes trained per second, ours over the paper's.
    """

    device: str
    rollout_ms: float
    gradient_ms: float
    update_ms: float
    episodes_per_second: float
    rollout_steps_per_second: float
    compile_seconds: float
    ask_ms: float
    tell_ms: float
    paper: "PaperSpeed"
    episodes_ratio: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class PaperSpeed:
    """The paper's learner, whose gradient step is on transitions, one prefix each.

    Attributes:
        rollout_ms: playing the episodes, every one to its last step.
        gradient_ms: one gradient step of both networks on as many transitions as
            there are episodes.
        gradient_steps: such steps until each transition of the episodes had one.
        update_ms: the rollout and all these steps.
        episodes_per_second: episodes trained, each of whose transitions had one
            gradient step.
        compile_seconds: compiling the rollout and the gradient step.
    """

    rollout_ms: float
    gradient_ms: float
    gradient_steps: int
    update_ms: float
    episodes_per_second: float
    compile_seconds: float


def measure_speed(workload: Workload) -> Speed:
    """Times the universal learner, a session, and the paper's learner."""
    learner = _learner(workload)
    state = learner.init(key=jr.key(0))
    play = eqx.filter_jit(
        lambda state, key: learner.play(_whole(state), state.iteration, key)[0]
    )
    experience = play(state, jr.key(1))
    learn = eqx.filter_jit(learner.learn)
    rate = jnp.asarray(learner.config.learning_rate)
    parts = (state.nets, state.averaged, state.predictions, state.optimizer)
    rollout = _median_seconds(play, (state, jr.key(1)), workload.repeats)
    gradient = _median_seconds(learn, (*parts, experience, rate), workload.repeats)
    ask, tell = _session_seconds(learner, state, workload.steps)
    compiled, both = _update_seconds(learner, state, workload.repeats)
    paper = _paper_speed(workload)
    return Speed(
        device=jax.devices()[0].device_kind,
        rollout_ms=1e3 * rollout,
        gradient_ms=1e3 * gradient,
        update_ms=1e3 * both,
        episodes_per_second=workload.episodes / both,
        rollout_steps_per_second=workload.episodes * workload.steps / rollout,
        compile_seconds=compiled,
        ask_ms=1e3 * ask,
        tell_ms=1e3 * tell,
        paper=paper,
        episodes_ratio=workload.episodes / both / paper.episodes_per_second,
    )


def _whole(state: LearnerState) -> ExplorerNets:
    """The networks with their tables."""
    return state.nets.with_predictions(state.predictions)


def _update_seconds(
    learner: UniversalLearner, state: LearnerState, updates: int
) -> tuple[float, float]:
    """Of compiling a chunk of updates as training runs it, and of one update in it."""
    current, seconds = placed(learner, state), []
    for _ in range(1 + _CHUNKS):  # the first compiles
        start = time.perf_counter()
        current, _ = jax.block_until_ready(run_chunk(learner, current, updates))
        seconds.append(time.perf_counter() - start)
    chunk = statistics.median(seconds[1:])
    return seconds[0] - chunk, chunk / updates


def _paper_speed(workload: Workload) -> PaperSpeed:
    learner = _paper_learner(workload)
    state = learner.init(key=jr.key(0))
    play = eqx.filter_jit(
        lambda state, key: learner.play(state.nets, state.iteration, key)[0]
    )
    first_play = _seconds(play, (state, jr.key(1)))
    episodes = play(state, jr.key(1))
    spec = learner.family.spec
    replay = Replay.empty(Experience.like(spec), workload.episodes).add(episodes)
    batch = sample_transitions(replay, spec, workload.episodes, key=jr.key(2))
    learn = eqx.filter_jit(learner.learn)
    arguments = (state.nets, state.targets, state.optimizer, state.cost, batch)
    arguments = (*arguments, jr.key(3), jnp.asarray(learner.config.learning_rate))
    first_learn = _seconds(learn, arguments)
    rollout = _median_seconds(play, (state, jr.key(1)), workload.repeats)
    gradient = _median_seconds(learn, arguments, workload.repeats)
    steps = workload.steps  # as many transitions in a step as there are episodes
    update = rollout + steps * gradient
    return PaperSpeed(
        rollout_ms=1e3 * rollout,
        gradient_ms=1e3 * gradient,
        gradient_steps=steps,
        update_ms=1e3 * update,
        episodes_per_second=workload.episodes / update,
        compile_seconds=first_play + first_learn - rollout - gradient,
    )


def _learner(workload: Workload) -> UniversalLearner:
    config = TrainConfig(
        num_iterations=1000,
        batch_size=workload.episodes,
        minibatch_size=workload.episodes,
        updates_per_iteration=1,
        replay_size=workload.episodes,
        width=workload.width,
        num_layers=workload.layers,
        bfloat16=jax.default_backend() != "cpu",
    )
    family = _family(workload)
    found = survey(family, machine_here())
    return UniversalLearner(
        family, config, found, device_mesh(config, jax.devices()[:1])
    )


def _paper_learner(workload: Workload) -> PaperLearner:
    """The same networks; all episodes explore, so that none ends early."""
    config = PaperConfig(
        num_iterations=1000,
        batch_size=workload.episodes,
        minibatch_size=workload.episodes,
        updates_per_iteration=1,
        replay_size=workload.episodes,
        exploration_end=1.0,
        greedy_fraction=0.0,
        width=workload.width,
        num_layers=workload.layers,
        bfloat16=jax.default_backend() != "cpu",
        summary=True,
    )
    return PaperLearner(_family(workload), config)


def _family(workload: Workload) -> GaussianBandit:
    return GaussianBandit(num_arms=NUM_ARMS, horizon=workload.steps)


def _session_seconds(
    learner: UniversalLearner, state: LearnerState, history: int
) -> tuple[float, float]:
    """Median time of an ask and of a tell over the last tenth of a long session."""
    nets = state.averaged.with_predictions(state.predictions)
    artifact = Artifact(nets, learner.family, {}, {})
    asks, tells = [], []
    for _ in range(2):  # the first session compiles
        session = Session(artifact, budget=history)
        asks, tells = [], []
        for step in range(history):
            start = time.perf_counter()
            query = session.ask()
            asks.append(time.perf_counter() - start)
            assert query is not None
            start = time.perf_counter()
            session.tell(query, np.asarray([1.0 + 0.01 * step]))
            tells.append(time.perf_counter() - start)
    last = max(1, history // 10)
    return statistics.median(asks[-last:]), statistics.median(tells[-last:])


def _median_seconds(
    function: Callable[..., PyTree], arguments: tuple, repeats: int
) -> float:
    _seconds(function, arguments)
    return statistics.median(_seconds(function, arguments) for _ in range(repeats))


def _seconds(function: Callable[..., PyTree], arguments: tuple) -> float:
    start = time.perf_counter()
    jax.block_until_ready(eqx.filter(function(*arguments), eqx.is_array))
    return time.perf_counter() - start
