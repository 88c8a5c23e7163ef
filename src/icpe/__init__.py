"""icpe learns to ask the right questions.

The names below are imported when first used, so that `import icpe` is instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from icpe.artifact.artifact import Artifact as Artifact
    from icpe.artifact.certificate import Certificate as Certificate
    from icpe.core.episode import StopReason as StopReason
    from icpe.core.errors import IcpeError as IcpeError
    from icpe.core.progress import LineProgress as LineProgress
    from icpe.core.request import OperatingPoint as OperatingPoint
    from icpe.core.request import Request as Request
    from icpe.core.units import Units as Units
    from icpe.deploy import Session as Session
    from icpe.deploy import open_session as open_session
    from icpe.evaluate.certify import certify as certify
    from icpe.evaluate.report import Report as Report
    from icpe.evaluate.verify import verify as verify
    from icpe.explorers import AbstractExplorer as AbstractExplorer
    from icpe.explorers import make_explorer as make_explorer
    from icpe.explorers import register_explorer as register_explorer
    from icpe.families import AbstractTaskFamily as AbstractTaskFamily
    from icpe.families import StepResult as StepResult
    from icpe.families import TaskSpec as TaskSpec
    from icpe.families import data as data
    from icpe.families import make as make
    from icpe.families import parameter as parameter
    from icpe.families import plain_reset as plain_reset
    from icpe.families import plain_step as plain_step
    from icpe.families import register as register
    from icpe.learn.config import TrainConfig as TrainConfig
    from icpe.learn.fit import FitOptions as FitOptions
    from icpe.learn.recipe import preset as preset
    from icpe.play.rollout import run_episodes as run_episodes
    from icpe.service.client import Client as Client
    from icpe.workflow import make_rule as make_rule
    from icpe.workflow import train as train

_HOMES = {
    "AbstractExplorer": "icpe.explorers",
    "AbstractTaskFamily": "icpe.families",
    "Artifact": "icpe.artifact.artifact",
    "Certificate": "icpe.artifact.certificate",
    "Client": "icpe.service.client",
    "FitOptions": "icpe.learn.fit",
    "IcpeError": "icpe.core.errors",
    "LineProgress": "icpe.core.progress",
    "OperatingPoint": "icpe.core.request",
    "Report": "icpe.evaluate.report",
    "Request": "icpe.core.request",
    "Session": "icpe.deploy",
    "StepResult": "icpe.families",
    "StopReason": "icpe.core.episode",
    "TaskSpec": "icpe.families",
    "TrainConfig": "icpe.learn.config",
    "Units": "icpe.core.units",
    "certify": "icpe.evaluate.certify",
    "data": "icpe.families",
    "make": "icpe.families",
    "make_explorer": "icpe.explorers",
    "make_rule": "icpe.workflow",
    "open_session": "icpe.deploy",
    "parameter": "icpe.families",
    "plain_reset": "icpe.families",
    "plain_step": "icpe.families",
    "preset": "icpe.learn.recipe",
    "register": "icpe.families",
    "register_explorer": "icpe.explorers",
    "run_episodes": "icpe.play.rollout",
    "train": "icpe.workflow",
    "verify": "icpe.evaluate.verify",
}


_MODULES = (
    "artifact",
    "core",
    "deploy",
    "evaluate",
    "explorers",
    "export",
    "families",
    "integrations",
    "learn",
    "nets",
    "play",
    "portable",
    "service",
    "sklearn",
    "studies",
    "testing",
    "theory",
    "workflow",
    "zoo",
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("icpe")
    if name in _MODULES:
        return importlib.import_module(f"icpe.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'icpe' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
