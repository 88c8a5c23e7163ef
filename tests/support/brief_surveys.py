"""Surveys that take no time, for tests that are about something else."""

from typing import Any

from icpe.learn import survey


def brief_settings() -> dict[str, Any]:
    """Settings of `icpe.learn.survey`, by name."""
    size = survey.Size(2**16, 2**22, belief=2**22, slow_belief=2**22)
    return {
        "SIZES": {"cpu": size, "gpu": size},
        "_MOST_TASKS": 1024,
        "_NUM_EPISODES": 512,
    }


def make_brief() -> None:
    """Makes every survey of this process a brief one."""
    for name, value in brief_settings().items():
        setattr(survey, name, value)
