"""What a file says about its guard: how rarely it errs, or why there is none."""

from collections.abc import Mapping
from typing import Any

_ENOUGH = 4096
"""Episodes that `icpe train` and `icpe calibrate` play if nobody says otherwise."""


def guard_words(document: Mapping[str, Any], path: str) -> str:
    """A sentence without its period."""
    guard = document.get("guard")
    if guard is not None:
        return (
            "guarded: sessions whose answers do not look like this family's lose the "
            "certificate; of its own sessions at most "
            f"{100 * guard['record']['upper_bound']:.2g} % do"
        )
    return (
        "no guard: nothing notices answers that do not look like this family's; "
        f"{_why_none(document, path)}"
    )


def _why_none(document: Mapping[str, Any], path: str) -> str:
    family, table = document["family"], document.get("operating_table")
    learned = family["parameters"].get("split", "train") == "train"
    if family["name"] == "table" or (family["name"] == "patches" and learned):
        return "explorers made from your own data have none"
    if document.get("kind") == "paper":
        return "explorers of the paper's learner have none"
    command = f"icpe calibrate {path} --episodes {_ENOUGH}"
    if table is None:
        return f"it comes with the operating table: {command}"
    episodes = min(row["episodes"] for row in table["rows"])
    if episodes >= _ENOUGH:
        return f"if one can be had, this makes it: {command}"
    return (
        f"{episodes} episodes for each row were too few to show that false alarms "
        f"are rare: {command}"
    )
