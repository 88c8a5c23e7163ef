"""Surveys that take no time, for tests that are about something else."""

from types import ModuleType
from typing import Any

from icpe.learn import fitting, survey


def brief_settings() -> dict[tuple[ModuleType, str], Any]:
    """Settings of `icpe.learn`, by module and name."""
    size = survey.Size(2**16, 2**22, belief=2**22, slow_belief=2**22)
    return {
        (survey, "SIZES"): {"cpu": size, "gpu": size},
        (survey, "_NUM_EPISODES"): 512,
        (fitting, "_MOST_TASKS"): 1024,
    }


def make_brief() -> None:
    """Makes every survey of this process a brief one."""
    for (module, name), value in brief_settings().items():
        setattr(module, name, value)
