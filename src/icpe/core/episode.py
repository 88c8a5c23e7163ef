"""The rules of an episode: why it ends."""

import enum

STOP = -1
"""What an explorer answers instead of a query when it wants to stop."""


class StopReason(enum.IntEnum):
    """Why an episode ended. Inside compiled code it is an integer."""

    RUNNING = 0
    EXPLORER = 1
    BUDGET = 2
    TERMINATED = 3
    HORIZON = 4
    NO_QUERY = 5

    @property
    def sentence(self) -> str:
        """The reason in words, for people."""
        return _SENTENCES[self]


_SENTENCES = {
    StopReason.RUNNING: "the episode is still running",
    StopReason.EXPLORER: "the explorer was sure enough to stop",
    StopReason.BUDGET: "the budget of queries was used up",
    StopReason.TERMINATED: "the task itself ended the episode",
    StopReason.HORIZON: "the horizon was reached, so the answer was forced",
    StopReason.NO_QUERY: "no query was left to make",
}
