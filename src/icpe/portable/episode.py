"""Words for an episode: why it ended, and what is to be known of its family."""

import dataclasses
import enum


class StopReason(enum.IntEnum):
    """Why an episode ended. Inside compiled code it is an integer."""

    RUNNING = 0
    EXPLORER = 1
    BUDGET = 2
    TERMINATED = 3
    HORIZON = 4
    NO_QUERY = 5
    ALARM = 6

    @property
    def sentence(self) -> str:
        """The reason in words, for people."""
        return _SENTENCES[self]


_SENTENCES = (
    "the episode is still running",
    "the explorer decided to stop",
    "the budget of queries was used up",
    "the task itself ended the episode",
    "the horizon was reached, so the answer was forced",
    "no query was left to make",
    "answers did not look like those of the family",
)


@dataclasses.dataclass(frozen=True)
class Spec:
    """What is to be known of a family: numbers, names and rules of its episodes."""

    num_queries: int
    num_hypotheses: int
    outcome_size: int
    horizon: int
    masks_queries: bool
    ask_once: bool
    asks_about_hypotheses: bool
    may_end: bool | None
    query_names: tuple[str, ...]
    hypothesis_names: tuple[str, ...]
    outcome_names: tuple[str, ...]
    outcome_labels: tuple[tuple[str, tuple[float, ...]], ...]
    question: str
    outcome_shape: tuple[int, ...]
    query_grid: tuple[int, ...]
    query_outcomes: tuple[tuple[str, ...], ...] = ()

    def labels(self, query: int | None) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """`(word, outcome)` pairs of the outcomes of a query; empty if unnamed."""
        if not self.query_outcomes or query is None:
            return self.outcome_labels
        words = self.query_outcomes[query]
        return tuple((word, (float(code),)) for code, word in enumerate(words))

    def query_name(self, query: int) -> str:
        """The name of a query for people."""
        return self.query_names[query] if self.query_names else str(query)

    def hypothesis_name(self, hypothesis: int) -> str:
        """The name of a hypothesis for people."""
        names = self.hypothesis_names
        return names[hypothesis] if names else str(hypothesis)
