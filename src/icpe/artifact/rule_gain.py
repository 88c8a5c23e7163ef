"""What training gains over a rule with an exact belief, as a file keeps it."""

import dataclasses
from typing import Any

_CLEAR_LOSS = 0.02
"""Share of the rule's cost that training must lose for the rule to be preferred."""


@dataclasses.dataclass(frozen=True)
class RuleGain:
    """A trained explorer and the best rule, at equal accuracy on the same episodes.

    Attributes:
        rule: the name of the rule, as in `icpe baselines`.
        accuracy: at which both are compared.
        episodes: number of episodes, the same for both.
        seed: of these.
        unit: what is counted, "queries" or "cost".
        mean_cost: of the trained explorer; None if it is never so accurate.
        rule_mean_cost: of the rule; None if it is never so accurate.
        saving: the share of the rule's cost that is saved, negative if training loses.
        saving_interval: 95 % interval, from paired episodes.
        decision_ms: time for one decision in a session, in milliseconds, median.
        rule_decision_ms: the same of the rule.
        device: on which these were measured.
    """

    rule: str
    accuracy: float
    episodes: int
    seed: int
    unit: str
    mean_cost: float | None
    rule_mean_cost: float | None
    saving: float | None
    saving_interval: tuple[float, float] | None
    decision_ms: float
    rule_decision_ms: float
    device: str

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        of_rule = f"the rule {self.rule}, which needs no training"
        at = f"At accuracy {self.accuracy:g}"
        times = (
            f"one decision takes {self.decision_ms:.2g} ms, the rule's "
            f"{self.rule_decision_ms:.2g} ms"
        )
        if self.saving is None or self.saving_interval is None:
            return f"{self._who_gets_there(of_rule)}; {times}."
        low, high = (100 * end for end in self.saving_interval)
        word = "saves" if self.saving >= 0 else "costs"
        if word == "costs":
            low, high = -high, -low
        more = "" if word == "saves" else " more"
        return (
            f"{at} it needs {_amount(self.mean_cost)} {self.unit} where {of_rule}, "
            f"needs {_amount(self.rule_mean_cost)}: training {word} "
            f"{100 * abs(self.saving):.1f} %{more} ({low:.1f} to {high:.1f}); {times}."
        )

    def _who_gets_there(self, of_rule: str) -> str:
        """Which of both reaches the accuracy, where not both do."""
        accuracy = f"accuracy {self.accuracy:g}"
        if self.mean_cost is not None:
            return (
                f"It reaches {accuracy} with {_amount(self.mean_cost)} {self.unit}; "
                f"{of_rule}, does not reach it"
            )
        if self.rule_mean_cost is not None:
            return (
                f"It does not reach {accuracy}; {of_rule}, reaches it with "
                f"{_amount(self.rule_mean_cost)} {self.unit}"
            )
        return f"Neither it nor {of_rule}, reaches {accuracy}"

    @property
    def is_clear_loss(self) -> bool:
        """Whether the rule is better beyond noise, or alone reaches the accuracy."""
        if self.saving_interval is None:
            return self.mean_cost is None and self.rule_mean_cost is not None
        return self.saving_interval[1] < -_CLEAR_LOSS

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "RuleGain":
        """From the values of `to_dict`."""
        interval = values["saving_interval"]
        return RuleGain(
            **{**values, "saving_interval": None if interval is None else (*interval,)}
        )


def _amount(cost: float | None) -> str:
    """With two decimals, unless it is smaller than these show."""
    if cost is None:
        return "nothing"
    return f"{cost:.2f}" if cost == 0 or cost >= 0.1 else f"{cost:.3g}"
