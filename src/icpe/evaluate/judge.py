"""A quick look at an explorer in training: a few prices, the same fresh episodes."""

import dataclasses
import functools as ft

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.arrays import PRNGKey
from icpe.core.engine import LocalEngine, chosen_engine, in_order
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint, Regime
from icpe.play.rollout import rollout


@dataclasses.dataclass(frozen=True)
class Judgment:
    """What an explorer does at each of some prices, on the same episodes."""

    prices: tuple[float, ...]
    accuracy: tuple[float, ...]
    sureness: tuple[float, ...]
    """Mean posterior of the answers; less noisy than the accuracy it estimates."""
    mean_queries: tuple[float, ...]
    mean_cost: tuple[float, ...]

    @property
    def values(self) -> tuple[float, ...]:
        """P(correct) - price * cost at each price, what training maximizes."""
        rows = zip(self.accuracy, self.prices, self.mean_cost, strict=True)
        return tuple(accuracy - price * cost for accuracy, price, cost in rows)

    @property
    def expected_values(self) -> tuple[float, ...]:
        """The same as an exact posterior expects it, without the luck of answers."""
        rows = zip(self.sureness, self.prices, self.mean_cost, strict=True)
        return tuple(sure - price * cost for sure, price, cost in rows)

    def saves(self, other: "Judgment", mean_cost: float = 1.0) -> float:
        """Mean share of the other's cost that is saved, all else being equal.

        A difference in sureness is counted at the price that it is worth; less than
        the mean cost of one query is no cost to save from.
        """
        shares = []
        for i, price in enumerate(self.prices):
            more = (self.sureness[i] - other.sureness[i]) / price
            saved = more - (self.mean_cost[i] - other.mean_cost[i])
            shares.append(saved / max(other.mean_cost[i], mean_cost))
        return float(np.mean(shares))

    def sentence(self, accuracy: float, episodes: int) -> str:
        """The point whose accuracy is closest to a given one, in words.

        Args:
            accuracy: the one in question.
            episodes: on how many episodes each point was judged.
        """
        index = int(np.argmin(np.abs(np.asarray(self.accuracy) - accuracy)))
        return (
            f"right in {self.accuracy[index]:.1%} of {episodes} episodes with "
            f"{self.mean_queries[index]:.1f} queries"
        ).replace("%", " %")

    def record(self) -> dict[str, list[float]]:
        """As JSON-compatible values."""
        return {name: list(row) for name, row in dataclasses.asdict(self).items()}


def judge(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    prices: tuple[float, ...],
    episodes: int,
    *,
    key: PRNGKey,
) -> Judgment:
    """Plays the same fresh episodes at every price.

    An engine that was chosen gets one price at a time; here, all are one program.
    """
    engine = chosen_engine()
    asked = [prices] if engine is None else [(price,) for price in prices]
    given = (explorer, family.with_data(), jr.key_data(key))
    play = ft.partial(_rows, given, episodes)
    found = in_order(LocalEngine() if engine is None else engine, play, asked)
    rows = np.concatenate(list(found), axis=1)
    return Judgment(prices, *(tuple(row.tolist()) for row in rows))


def _rows(given: tuple, episodes: int, prices: tuple[float, ...]) -> np.ndarray:
    """What is judged, by price; it may be played on another machine."""
    explorer, family, key_data = given
    key = jr.wrap_key_data(key_data)
    return np.asarray(
        _play(explorer, family, jnp.asarray(prices), episodes, key), float
    )


@jit_program
def _play(explorer, family, prices, episodes: int, key):
    number, horizon = prices.shape[0], family.spec.horizon
    points = OperatingPoint(
        price=jnp.repeat(prices, episodes),
        error_prob=jnp.zeros(number * episodes),
        max_queries=jnp.full(number * episodes, horizon, jnp.int32),
        regime=Regime.MIXED,
    )
    keys = jnp.tile(jr.split(key, episodes), number)
    ending = rollout(explorer, family, points, keys=keys).ending
    assert ending.log_posterior is not None
    sure = jnp.exp(jnp.max(ending.log_posterior, axis=1))
    rows = (ending.correct, sure, ending.num_queries, ending.cost)
    return jnp.stack(
        [row.astype(jnp.float32).reshape(number, -1).mean(axis=1) for row in rows]
    )
