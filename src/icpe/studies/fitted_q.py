"""Fitted Q-iteration on histories, as in the paper's finite-sample analysis, exactly.

The idealized training with a fixed budget (appendix, algorithm "Finite-budget
idealized ICPE training"): each epoch draws a batch of histories and queries from a
fixed law, fits Q by least squares with one feature for each history and query, and is
greedy next time. The model is so small that the value of every policy is a finite sum.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

Prior = Float[np.ndarray, "hypotheses"]
Likelihood = Float[np.ndarray, "hypotheses queries outcomes"]
Values = Float[np.ndarray, "_ queries"]


@dataclasses.dataclass(frozen=True, eq=False)
class HistoryTree:
    """All histories of a finite model up to a budget, each its own state.

    History number i followed by query a and outcome x is number
    i * queries * outcomes + a * outcomes + x of the next level.

    Attributes:
        prior: probability of each hypothesis.
        likelihood: probability of each outcome of each query under each hypothesis.
        budget: number of queries.
    """

    prior: Prior
    likelihood: Likelihood
    budget: int

    @property
    def num_queries(self) -> int:
        """Number of queries to choose from."""
        return self.likelihood.shape[1]

    @property
    def num_outcomes(self) -> int:
        """Number of outcomes of a query."""
        return self.likelihood.shape[2]

    def weights(self, depth: int) -> Float[np.ndarray, "histories hypotheses"]:
        """P(hypothesis, outcomes | queries) of every history of a length."""
        table = self.prior[None]
        steps = self.likelihood.reshape(len(self.prior), -1).T
        for _ in range(depth):
            table = (table[:, None] * steps[None]).reshape(-1, len(self.prior))
        return table

    def predictions(
        self, depth: int
    ) -> Float[np.ndarray, "histories queries outcomes"]:
        """Probability of each next outcome after every history of a length."""
        weights = self.weights(depth)
        joint = np.einsum("nh,hqo->nqo", weights, self.likelihood)
        total = weights.sum(1)[:, None, None]
        return np.where(total > 0, joint / np.where(total > 0, total, 1.0), 0.0)

    def final_values(self) -> Float[np.ndarray, "histories"]:
        """The largest posterior after every whole history."""
        weights = self.weights(self.budget)
        total = weights.sum(1)
        return np.where(total > 0, weights.max(1) / np.where(total > 0, total, 1), 0)

    def optimal_value(self) -> float:
        """Accuracy of the best policy, by backward induction."""
        values = self.final_values()
        for depth in reversed(range(self.budget)):
            values = self._backed_up(values, depth).max(1)
        return float(values[0])

    def value_of(self, tables: list[Values]) -> float:
        """Accuracy of the policy that is greedy for a Q-table of each level."""
        values = self.final_values()
        for depth in reversed(range(self.budget)):
            backed = self._backed_up(values, depth)
            greedy = np.argmax(tables[depth], axis=1)
            values = backed[np.arange(len(greedy)), greedy]
        return float(values[0])

    def _backed_up(self, values: Float[np.ndarray, "next"], depth: int) -> Values:
        shape = (-1, self.num_queries, self.num_outcomes)
        return np.einsum("nqo,nqo->nq", self.predictions(depth), values.reshape(shape))

    def sample(
        self, number: int, rng: np.random.Generator
    ) -> list[tuple[Int[np.ndarray, "n"], Int[np.ndarray, "n"], Int[np.ndarray, "n"]]]:
        """A batch from the reference law: history, query and next history, by level.

        The level is uniform, the history that of uniformly random queries, the query
        uniform, and the next outcome is drawn from the prediction.
        """
        depths = rng.integers(self.budget, size=number)
        found = []
        for depth in range(self.budget):
            count = int((depths == depth).sum())
            truths = rng.choice(len(self.prior), size=count, p=self.prior)
            history = before = last = np.zeros(count, int)
            for _ in range(depth + 1):
                query = rng.integers(self.num_queries, size=count)
                laws = self.likelihood[truths, query]
                draws = rng.random(count)[:, None]
                outcome = (draws > np.cumsum(laws, axis=1)[:, :-1]).sum(1)
                before, last = history, query
                history = (history * self.num_queries + query) * self.num_outcomes
                history = history + outcome
            found.append((before, last, history))
        return found


def fit_q(
    tree: HistoryTree, batch_size: int, epochs: int, rng: np.random.Generator
) -> list[Values]:
    """The Q-tables after some epochs, each on a batch of its own.

    Least squares with one indicator for each history and query is the mean of the
    targets seen there, and 0 where none was.
    """
    final = tree.final_values()
    step = tree.num_queries * tree.num_outcomes
    tables = [np.zeros((step**d, tree.num_queries)) for d in range(tree.budget)]
    for _ in range(epochs):
        new = []
        for depth, (history, query, after) in enumerate(tree.sample(batch_size, rng)):
            last = depth + 1 == tree.budget
            target = final[after] if last else tables[depth + 1][after].max(1)
            flat = history * tree.num_queries + query
            size = tables[depth].size
            counts = np.bincount(flat, minlength=size)
            sums = np.bincount(flat, weights=target, minlength=size)
            new.append((sums / np.maximum(counts, 1)).reshape(tables[depth].shape))
        tables = new
    return tables
