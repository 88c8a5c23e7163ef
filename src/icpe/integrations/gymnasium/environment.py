"""A family as a Gymnasium environment."""

import functools as ft
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.random as jr
import numpy as np

from icpe.core.checks import check_at_least
from icpe.core.errors import InvalidParameterError, SessionError
from icpe.core.family import AbstractTaskFamily, StepResult
from icpe.families.registry import make


class FamilyEnv(gymnasium.Env):
    """One task of a family after the other, each with a question at its end.

    The first `num_queries` actions are queries; each of the `num_hypotheses` after them
    names an answer and ends the episode. A query costs `price` times its cost, the
    right answer earns 1. Where the family ends the episode, nothing may be asked any
    more, or the horizon is reached, only the answer is left. What is not allowed
    (`info["action_mask"]` says what is) tells nothing, and costs as much.

    `info["hypothesis"]` is the true answer: for learning, not for the policy.

    Args:
        family: a family, or the name of one.
        price: price of one unit of cost.
        render_mode: "ansi" to have episodes as text, None for none.
        parameters: of the family, where it is named.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  as in the class above
        "render_modes": ["ansi"],
        "render_fps": 1,
    }

    def __init__(
        self,
        family: AbstractTaskFamily | str,
        *,
        price: float = 0.0,
        render_mode: str | None = None,
        **parameters: Any,
    ):
        check_at_least("price", price, 0.0)
        if isinstance(family, str):
            family = make(family, **parameters)
        elif parameters:
            raise InvalidParameterError(
                f"{', '.join(parameters)}: parameters go with the name of a family; "
                "give them to the family itself."
            )
        self.family = family.with_data()
        self.render_mode = render_mode
        self._arrays, self._static = eqx.partition(self.family, eqx.is_array)
        self._spec = spec = self.family.spec
        self.num_queries, self.num_hypotheses = spec.num_queries, spec.num_hypotheses
        self.horizon = spec.horizon
        self._costs = price * np.asarray(spec.costs or (1.0,) * spec.num_queries)
        most = float(np.finfo(np.float32).max)
        self.observation_space = gymnasium.spaces.Box(
            -most, most, (spec.outcome_size,), np.float32
        )
        self.action_space = gymnasium.spaces.Discrete(
            self.num_queries + self.num_hypotheses
        )
        self._result: StepResult | None = None
        self._lines: list[str] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._number = self.np_random.integers(2**32, dtype=np.uint32)
        begun = _begin(self._static, self._arrays, self._number)
        self._task, result, truth = begun
        self._truth = int(truth)
        self._take(result)
        self._asked = np.zeros(self.num_queries, bool)
        self._count, self._over = 0, False
        self._lines = []
        return np.asarray(result.outcome), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self._result is None or self._over:
            raise SessionError("The episode is over; call reset before step.")
        action = int(action)
        if not 0 <= action < self.num_queries + self.num_hypotheses:
            raise InvalidParameterError(
                f"action must be a whole number from 0 to "
                f"{self.num_queries + self.num_hypotheses - 1}; got {action}."
            )
        is_allowed = bool(self._allowed()[action])
        if action >= self.num_queries and is_allowed:
            return self._answered(action - self.num_queries)
        if self._must_answer:  # there was one thing left to do
            self._over = True
            return self._nothing(), 0.0, False, True, self._info()
        cost = float(self._costs[min(action, self.num_queries - 1)])
        outcome = self._ask(action) if is_allowed else self._nothing()
        self._count += 1
        self._must_answer |= self._count >= self.horizon
        return outcome, -cost, False, False, self._info()

    def render(self) -> str | None:
        """The episode so far, one line for each query."""
        return "\n".join(self._lines) if self.render_mode == "ansi" else None

    def _ask(self, query: int) -> np.ndarray:
        assert self._result is not None
        spec = self._spec
        result = _advance(
            self._static,
            self._arrays,
            self._result.state,
            np.int32(query),
            self._task,
            self._number,
            np.uint32(self._count),
        )
        self._take(result)
        self._asked[query] = self._spec.ask_once
        outcome = np.asarray(result.outcome)
        if self.render_mode is not None:
            shown = spec.describe_outcome(outcome.tolist())
            self._lines.append(f"{spec.query_name(query)}: {shown}")
        return outcome

    def _take(self, result: StepResult) -> None:
        self._result = result
        self._mask = np.asarray(result.query_mask)
        self._must_answer = bool(result.terminated)

    def _answered(self, hypothesis: int):
        self._over = True
        right = hypothesis == self._truth
        word = "right" if right else "wrong"
        name = self._spec.hypothesis_name(hypothesis)
        self._lines.append(f"answer {name}: {word}")
        return self._nothing(), float(right), True, False, self._info()

    def _nothing(self) -> np.ndarray:
        return np.zeros(self.observation_space.shape or (), np.float32)

    def _allowed(self) -> np.ndarray:
        """Queries and answers, as truth values."""
        assert self._result is not None
        spec = self._spec
        queries = self._mask & ~self._asked
        if not queries.any():
            self._must_answer = True
        answers = np.full(self.num_hypotheses, self._must_answer or spec.can_stop)
        return np.concatenate([queries & ~self._must_answer, answers])

    def _info(self) -> dict[str, Any]:
        return {
            "hypothesis": self._truth,
            "action_mask": self._allowed().astype(np.int8),
        }


@ft.partial(jax.jit, static_argnums=0)
def _begin(static, arrays, number):
    family: AbstractTaskFamily = eqx.combine(arrays, static)
    task_key, reset_key = jr.split(jr.fold_in(jr.key(number), 0))
    task = family.sample_task(key=task_key)
    return task, family.reset(task, key=reset_key), family.hypothesis(task)


@ft.partial(jax.jit, static_argnums=0)
def _advance(static, arrays, state, query, task, number, count) -> StepResult:
    family: AbstractTaskFamily = eqx.combine(arrays, static)
    key = jr.fold_in(jr.key(number), count + 1)
    return family.step(state, query, task, key=key)
