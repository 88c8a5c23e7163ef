"""A Gymnasium environment as a family, stepped on the host.

Policy and learner stay on the device; each step of a batch of episodes is one call to
the host, which knows every episode by its seed and its queries.
"""

import json
import operator
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from gymnasium.vector import VectorEnv
from jaxtyping import Array, Int, UInt32

from icpe.core.arrays import Index, PRNGKey
from icpe.core.checks import check_at_least, check_between, is_whole
from icpe.core.errors import IcpeError, InvalidParameterError, UnsupportedError
from icpe.core.family import AbstractTaskFamily, StepResult, parameter
from icpe.core.host import SimulatorError
from icpe.core.spec import TaskSpec
from icpe.families.registry import register
from icpe.integrations.gymnasium.host import HostWorld
from icpe.integrations.gymnasium.lanes import AbstractLanes, OneLane, VectorLanes
from icpe.integrations.gymnasium.observations import names_of, numbers_of

Source = str | Callable[[], Any] | gymnasium.Env | VectorEnv

_MAKERS: dict[str, Callable[[], Any]] = {}
"""Environments that have no id, by the name under which their families know them."""
_WORLDS: dict["HostFamily", HostWorld] = {}

_NUM_LOOKS = 16

Seed = UInt32[Array, ""]


class HostState(NamedTuple):
    """The queries of an episode so far."""

    queries: Int[Array, "horizon"]
    number: Index


class HostFamily(AbstractTaskFamily):
    """Episodes of a Gymnasium environment; made by `from_gymnasium`.

    A task is a seed, which fixes all that the environment draws: the keys of `reset`
    and `step` do nothing.
    """

    environment: str = parameter("icpe/binary-search-v0", "id of the environment")
    options: str = parameter("{}", "what it is made with, as JSON", rare=True)
    num_queries: int = parameter(10, "how many of its first actions are queries")
    num_hypotheses: int = parameter(10, "how many answers there are")
    outcome_size: int = parameter(1, "numbers in an observation")
    horizon: int = parameter(10, "most queries in an episode")
    costs: tuple[float, ...] = parameter(
        (), "cost of each query; 1 each if empty", rare=True, converter=tuple
    )
    masks: bool = parameter(True, "whether it says which actions are allowed")
    reveals: bool = parameter(True, "whether the first observation tells something")
    queries_alike: bool = parameter(False, "queries and answers are the same things")
    outcome_names: tuple[str, ...] = parameter(
        (), "names of the numbers in an observation", words=True, converter=tuple
    )
    lanes: int = parameter(4096, "episodes that may be under way at once", rare=True)

    def __check_init__(self):
        check_at_least("num_queries", self.num_queries, 1)
        check_at_least("num_hypotheses", self.num_hypotheses, 2)
        check_at_least("outcome_size", self.outcome_size, 1)
        check_at_least("horizon", self.horizon, 1)
        check_at_least("lanes", self.lanes, 1)

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(
            num_queries=self.num_queries,
            num_hypotheses=self.num_hypotheses,
            outcome_size=self.outcome_size,
            horizon=self.horizon,
            costs=self.costs,
            masks_queries=self.masks,
            queries_alike=self.queries_alike,
            reveals=self.reveals,
            outcome_names=self.outcome_names,
        )

    def outcome(self, observation: Any) -> np.ndarray:
        """An observation of the environment as the numbers that a session takes."""
        lanes = self._make()
        try:
            return numbers_of(lanes.observation_space, observation)
        finally:
            lanes.close()

    @property
    def on_host(self) -> bool:
        """Steps are slow, and a task answers a repeated query alike."""
        return True

    @property
    def world(self) -> HostWorld:
        """The environments behind it, made when they are first needed."""
        if self not in _WORLDS:
            _WORLDS[self] = HostWorld(
                self._make,
                self.environment,
                self.num_queries,
                self.num_hypotheses,
                outcome_size=self.outcome_size,
                most_lanes=self.lanes,
            )
        return _WORLDS[self]

    def _make(self) -> AbstractLanes:
        return _made(self.environment, json.loads(self.options))

    def steps_alone(self, number: int, *, seed: int = 0) -> float:
        """Steps a second of the environment by itself, with random queries."""
        lanes, rng = self._make(), np.random.default_rng(seed)
        ended, made = [True], 0
        began = time.perf_counter()
        while made < number:
            if all(ended):
                ended = [
                    it.ended
                    for it in lanes.reset(rng.integers(2**31, size=lanes.size).tolist())
                ]
            queries = rng.integers(self.num_queries, size=lanes.size).tolist()
            seen = lanes.step(queries, ended)
            ended = [before or it.ended for before, it in zip(ended, seen, strict=True)]
            made += lanes.size
        seconds = time.perf_counter() - began
        lanes.close()
        return made / seconds

    def sample_task(self, *, key: PRNGKey) -> Seed:
        return jr.bits(key, (), jnp.uint32) >> 1

    def reset(self, task: Seed, *, key: PRNGKey) -> StepResult:
        queries = jnp.full(self.horizon, -1, jnp.int32)
        return self._look(task, HostState(queries, jnp.zeros((), jnp.int32)))

    def step(
        self, state: HostState, query: Index, task: Seed, *, key: PRNGKey
    ) -> StepResult:
        at = jnp.minimum(state.number, self.horizon - 1)
        queries = state.queries.at[at].set(jnp.asarray(query, jnp.int32))
        return self._look(task, HostState(queries, at + 1))

    def hypothesis(self, task: Seed) -> Index:
        shape = jax.ShapeDtypeStruct((), jnp.int32)
        return jax.pure_callback(
            self.world.hypotheses, shape, task, vmap_method="broadcast_all"
        )

    def _look(self, task: Seed, state: HostState) -> StepResult:
        shapes = (
            jax.ShapeDtypeStruct((self.outcome_size,), jnp.float32),
            jax.ShapeDtypeStruct((self.num_queries,), bool),
            jax.ShapeDtypeStruct((), bool),
        )
        outcome, mask, ended = jax.pure_callback(
            self.world.look,
            shapes,
            task,
            state.queries,
            state.number,
            vmap_method="broadcast_all",
        )
        return StepResult(state, outcome, mask, ended)


FAMILY_NAME = "gymnasium"


def from_gymnasium(
    environment: Source,
    *,
    num_hypotheses: int | None = None,
    num_queries: int | None = None,
    horizon: int | None = None,
    costs: Sequence[float] = (),
    queries_alike: bool = False,
    **options: Any,
) -> HostFamily:
    """The family of the episodes of an environment.

    Its `reset` must return `info["hypothesis"]`, the number of the true answer, and
    draw all that is random from the seed that it is given. Actions are a `Discrete`,
    `MultiDiscrete` or `MultiBinary` space; `info["action_mask"]`, where there is one,
    says which are allowed. Rewards are not used. Observations of any space are
    flattened by `gymnasium.spaces.flatten`; `outcome` of the family does the same.

    Args:
        environment: the id of a registered environment; or a function without
            arguments that makes one, or several side by side (a `VectorEnv` in any of
            the three autoreset modes); or such an environment, of which more are made
            from its `spec`.
        num_hypotheses: how many answers there are; read from an attribute of this name
            if None.
        num_queries: how many of the first actions are queries; read from an attribute
            of this name if None, and all actions if there is none.
        horizon: most queries in an episode; if None, read from an attribute of this
            name, or the limit with which the environment is registered.
        costs: cost of each query; 1 each if empty.
        queries_alike: whether hypothesis i is about query i, as with arms of a bandit.
        options: what the environment of an id is made with.

    Raises:
        InvalidParameterError: something is missing or does not fit.
        SimulatorError: the environment raised, or does not say what is true.
    """
    register(FAMILY_NAME, HostFamily)
    name = _known(environment, options)
    lanes = _made(name, options)
    env: Any = lanes.env  # pyright: ignore[reportAttributeAccessIssue]
    names = names_of(lanes.observation_space)
    try:
        facts = _facts(env, lanes, name, num_hypotheses, num_queries, horizon)
        first = _FirstLook(lanes, name, facts)
    finally:
        lanes.close()
    again = _made(name, options)
    try:
        first.check_same(_FirstLook(again, name, facts))
    finally:
        again.close()
    family = HostFamily(
        environment=name,
        options=json.dumps(options, sort_keys=True),
        outcome_size=first.outcome.shape[-1],
        reveals=bool(np.any(first.outcome)),
        masks=first.says_masks,
        costs=tuple(map(float, costs)),
        queries_alike=queries_alike,
        outcome_names=names,
        **facts,
    )
    return family


class _FirstLook:
    """A few episodes: what is shown at reset and after one query."""

    def __init__(self, lanes: AbstractLanes, name: str, facts: dict[str, Any]):
        numbers = facts["num_queries"], facts["num_hypotheses"]
        # There is one environment, so no more episodes than it has lanes.
        world = HostWorld(lambda: lanes, name, *numbers, most_lanes=lanes.size)
        seeds, ones = np.arange(_NUM_LOOKS), np.ones(_NUM_LOOKS, np.int32)
        queries = np.zeros((_NUM_LOOKS, 1), np.int32)
        self._name = name
        self.hypotheses = world.hypotheses(seeds)
        self.outcome, mask, _ = world.look(seeds, queries, 0 * ones)
        queries[:, 0] = mask.argmax(axis=1)
        self.answer, _, _ = world.look(seeds, queries, ones)
        self.says_masks = world.says_masks

    def check_same(self, other: "_FirstLook") -> None:
        """Raises SimulatorError where another environment differs with equal seeds."""
        pairs = (
            ("hypothesis", self.hypotheses, other.hypotheses),
            ("observation", self.outcome, other.outcome),
            ("answer to a query", self.answer, other.answer),
        )
        for what, mine, theirs in pairs:
            if not np.allclose(mine, theirs, rtol=1e-3, atol=1e-4):
                raise SimulatorError(
                    f"Environment {self._name} has another {what} when it is reset "
                    "with the same seed; let it draw all that is random from "
                    "self.np_random after super().reset(seed=seed)."
                )


def _facts(env, lanes, name, num_hypotheses, num_queries, horizon) -> dict[str, Any]:
    actions = lanes.actions.number
    num_hypotheses = num_hypotheses or _attribute(env, "num_hypotheses")
    num_queries = num_queries or _attribute(env, "num_queries") or actions
    limit = getattr(env.spec, "max_episode_steps", None)
    horizon = horizon or _attribute(env, "horizon") or limit
    facts = {"num_hypotheses": num_hypotheses, "horizon": horizon}
    for word, value in facts.items():
        if not is_whole(value):
            raise InvalidParameterError(
                f"{word} is missing: {name} does not say it; give it to from_gymnasium."
            )
    check_at_least("num_hypotheses", facts["num_hypotheses"], 2)
    check_between("num_queries", num_queries, 1, actions)
    facts["num_queries"] = num_queries
    return {word: operator.index(value) for word, value in facts.items()}


def _attribute(env: Any, name: str) -> Any:
    """An attribute of the innermost environment, or of the first one side by side."""
    inner = env.unwrapped
    if isinstance(inner, VectorEnv):
        envs = getattr(inner, "envs", None)
        inner = envs[0].unwrapped if envs else inner
    return getattr(inner, name, None)


def _known(environment: Source, options: dict[str, Any]) -> str:
    """The name under which a family knows its environment."""
    if isinstance(environment, str):
        return environment
    if options:
        raise InvalidParameterError(
            f"{', '.join(options)}: options are for environments that are named by an "
            "id."
        )
    if isinstance(environment, gymnasium.Env | VectorEnv):
        make, name = _again(environment), str(environment)
    elif callable(environment):
        make = environment
        name = getattr(environment, "__qualname__", repr(environment))
    else:
        raise InvalidParameterError(
            "environment must be an id, an environment, or a function that makes one; "
            f"got {environment!r}."
        )
    unique, number = name, 1
    while unique in _MAKERS and _MAKERS[unique] is not make:
        number += 1
        unique = f"{name} {number}"
    _MAKERS[unique] = make
    return unique


def _again(env: gymnasium.Env | VectorEnv) -> Callable[[], Any]:
    """Makes more environments like a given one."""
    spec = env.spec
    if spec is None:
        raise InvalidParameterError(
            "environment was not made by gymnasium.make, so that there is no making "
            "more of it; give a function that makes one."
        )
    if isinstance(env, VectorEnv):
        return lambda: gymnasium.make_vec(spec, num_envs=env.num_envs)
    return lambda: gymnasium.make(spec, disable_env_checker=True)


def _maker(name: str, options: dict[str, Any]) -> Callable[[], Any]:
    if name in _MAKERS:
        return _MAKERS[name]

    def make() -> gymnasium.Env:
        try:
            return gymnasium.make(name, disable_env_checker=True, **options)
        except gymnasium.error.Error as error:
            raise UnsupportedError(
                f"Gymnasium cannot make {name!r} ({error}); register it first, or give "
                "from_gymnasium a function that makes it and load the file with the "
                "family."
            ) from error

    return make


def _made(name: str, options: dict[str, Any]) -> AbstractLanes:
    """Environments side by side, or one."""
    try:
        env = _maker(name, options)()
    except IcpeError:
        raise
    except Exception as error:  # whatever making it runs into
        short = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SimulatorError(f"Making environment {name} raised {short}") from error
    if isinstance(env, VectorEnv):
        return VectorLanes(env, name)
    if isinstance(env, gymnasium.Env):
        return OneLane(env, name)
    raise InvalidParameterError(
        f"environment must make a gymnasium.Env or VectorEnv; it made {env!r}."
    )
