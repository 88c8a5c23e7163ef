"""What is said about a session: what it promises, cost, outlook and end."""

import dataclasses
import math
from typing import Literal

from icpe.artifact.operating_table import OperatingRow
from icpe.core.episode import StopReason
from icpe.core.request import Promise
from icpe.service.drawings.posterior import share
from icpe.service.drawings.scene import Scene

PROMISES = {
    Promise.AVERAGE: "on average over such problems",
    Promise.EVERY_HYPOTHESIS: "whichever hypothesis is true",
    Promise.BELIEF: "by the belief at the stop",
}
"""What an error probability may be about, in a few words."""


@dataclasses.dataclass(frozen=True)
class Assurance:
    """Whether an error probability is certified, in one word and in full."""

    state: Literal["certified", "lost", "none"]
    title: str
    text: str
    facts: tuple[tuple[str, str], ...] = ()


def assurance(scene: Scene) -> Assurance:
    """The certificate and what it promises, or why there is none (any more)."""
    it = scene.certificate
    if it is None:
        return Assurance("none", "Not certified", _without_certificate(scene))
    is_real = it.test == "held-out"
    facts = (
        ("Error probability", f"at most {it.error_prob:g}"),
        ("Confidence", f"{it.confidence:g}"),
        ("Accuracy shown", f"at least {it.lower_bound:.4f}"),
        (
            f"Held-out {it.counted}" if is_real else "Simulated problems",
            f"{it.episodes:,}",
        ),
        ("Questions on average", f"{it.mean_queries:.3g}"),
    )
    if it.undecided is not None:
        facts = (*facts, ("Undecided sessions", f"{100 * it.undecided:.1f} %"))
    if scene.certificate_lost is not None:
        text = f"The certificate does not cover this session: {scene.certificate_lost}."
        title = "Undecided" if scene.undecided else "Certificate lost"
        return Assurance("lost", title, text, facts)
    text = (
        f"{_sentence(scene.request.promised or '')} This was tested on "
        f"{f'{it.counted} that nothing had seen' if is_real else 'simulated problems'}"
        ", and "
        "holds if answers come as the explorer asks for them."
    )
    if not scene.guarded:
        text += " Nothing checks whether they look right: mind the units."
    return Assurance("certified", "Certified", text, facts)


def request_line(scene: Scene) -> str:
    """What was asked of the explorer, in a few words."""
    asked = scene.request
    if asked.budget is not None:
        return f"exactly {_questions(asked.budget)}"
    goal = (
        f"error probability {asked.error_prob:g}"
        if asked.error_prob is not None
        else f"price {asked.price:g} a question"
    )
    if asked.promise is not Promise.AVERAGE:
        goal += f" ({PROMISES[Promise(asked.promise)]})"
    cap = (
        "" if asked.max_queries is None else f", at most {asked.max_queries} questions"
    )
    return goal + cap


def cost_line(scene: Scene) -> str:
    """Questions and cost so far."""
    number = len(scene.answers)
    if not scene.spec.costs:
        return _questions(number)
    return f"{_questions(number)}, cost {scene.cost():g}"


def outlook(scene: Scene) -> str:
    """How many questions are to be expected, as far as that was measured."""
    made = len(scene.answers)
    if scene.ended:
        return ""
    if scene.request.budget is not None:
        left = max(scene.request.budget - made, 0)
        return f"{_questions(left)} left, as the budget says."
    row = _row(scene)
    if row is None:
        return f"At most {_questions(scene.max_queries - made)} left."
    quantiles = dict(zip(_SHARES, row.quantiles, strict=True))
    ahead = [(words, last) for words, last in quantiles.items() if last > made]
    usual = f"{row.mean_queries:.3g} questions on average"
    if not ahead:
        return (
            f"Longer than 99 of 100 simulated sessions at this setting, which take "
            f"{usual}; at most {_questions(scene.max_queries - made)} left."
        )
    parts = [f"{words} by question {last}" for words, last in ahead[:2]]
    return f"Simulated sessions at this setting take {usual}; {', '.join(parts)}."


def typical_total(scene: Scene) -> float | None:
    """Mean number of questions at this setting, None if it was not measured."""
    if scene.request.budget is not None:
        return float(scene.request.budget)
    row = _row(scene)
    return None if row is None else row.mean_queries


def standing(scene: Scene) -> str:
    """Where the session stands, in one sentence for a live region."""
    spec, now = scene.spec, scene.now
    number = len(scene.answers)
    after = (
        f"After {number} answer{'' if number == 1 else 's'}"
        if number
        else "Before the first answer"
    )
    name = spec.hypothesis_name(now.recommendation)
    belief = now.posterior
    sure = (
        ""
        if belief is None
        else f" with probability {share(float(belief[now.recommendation]))}"
    )
    if scene.ended:
        return f"{after} the session has ended: {name}{sure}."
    return f"{after} the most probable answer is {name}{sure}."


def end_sentence(scene: Scene) -> str:
    """Why it ended."""
    reason = scene.stop_reason.sentence
    if scene.closed and not scene.stop_reason:
        return "It was closed before the explorer had stopped."
    weighed = scene.now.weighed if scene.weighs else None
    if scene.stop_reason is StopReason.EXPLORER and weighed is not None:
        by_threshold = "the most probable answer reached the threshold"
        by_value = "another question is not worth its cost"
        reason = by_threshold if weighed.kind == "threshold" else by_value
    return f"It stopped because {reason}."


def _without_certificate(scene: Scene) -> str:
    asked = scene.request
    row = _row(scene)
    measured = (
        ""
        if row is None
        else f" In {row.episodes:,} simulated problems at this setting "
        f"{100 * row.accuracy:.1f} % of the answers were right."
    )
    if asked.budget is not None:
        return f"A budget of questions promises no accuracy.{measured}"
    if asked.error_prob is None:
        return f"A price promises no accuracy.{measured}"
    return (
        f"The explorer aims at an error probability of {asked.error_prob:g}, which no "
        f"certificate in its file covers.{measured}"
    )


def _row(scene: Scene) -> OperatingRow | None:
    """The measured row of this setting, the nearest in price where there is none."""
    if scene.table is None:
        return None
    if scene.request.budget is not None:
        rows = [
            it for it in scene.table.budgets() if it.max_queries == scene.max_queries
        ]
        return rows[0] if rows else None
    rows = scene.table.priced(scene.max_queries)
    if not rows or not scene.price > 0:
        return None
    return min(rows, key=lambda it: abs(math.log((it.price or 1e-9) / scene.price)))


_SHARES = ("half end", "9 of 10 end", "99 of 100 end")


def _sentence(clause: str) -> str:
    return clause[:1].upper() + clause[1:] + "."


def _questions(number: int) -> str:
    return f"{number} question" if number == 1 else f"{number} questions"
