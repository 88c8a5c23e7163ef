"""icpe learns to ask the right questions.

The names below are imported when first used, so that `import icpe` is instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from icpe.artifact import Artifact as Artifact
    from icpe.certificate import Certificate as Certificate
    from icpe.deploy import Session as Session
    from icpe.evaluate.certify import certify as certify
    from icpe.evaluate.report import Report as Report
    from icpe.evaluate.verify import verify as verify
    from icpe.exceptions import IcpeError as IcpeError
    from icpe.explorers import AbstractExplorer as AbstractExplorer
    from icpe.explorers import make_explorer as make_explorer
    from icpe.explorers import register_explorer as register_explorer
    from icpe.learn.config import TrainConfig as TrainConfig
    from icpe.learn.fit import FitOptions as FitOptions
    from icpe.learn.presets import preset as preset
    from icpe.rollout import run_episodes as run_episodes
    from icpe.tasks import AbstractTaskFamily as AbstractTaskFamily
    from icpe.tasks import StepResult as StepResult
    from icpe.tasks import TaskSpec as TaskSpec
    from icpe.tasks import make as make
    from icpe.tasks import parameter as parameter
    from icpe.tasks import plain_reset as plain_reset
    from icpe.tasks import plain_step as plain_step
    from icpe.tasks import register as register
    from icpe.types import OperatingPoint as OperatingPoint
    from icpe.types import StopReason as StopReason
    from icpe.workflow import train as train

_HOMES = {
    "AbstractExplorer": "icpe.explorers",
    "AbstractTaskFamily": "icpe.tasks",
    "Artifact": "icpe.artifact",
    "Certificate": "icpe.certificate",
    "FitOptions": "icpe.learn.fit",
    "IcpeError": "icpe.exceptions",
    "OperatingPoint": "icpe.types",
    "Report": "icpe.evaluate.report",
    "Session": "icpe.deploy",
    "StepResult": "icpe.tasks",
    "StopReason": "icpe.types",
    "TaskSpec": "icpe.tasks",
    "TrainConfig": "icpe.learn.config",
    "certify": "icpe.evaluate.certify",
    "make": "icpe.tasks",
    "make_explorer": "icpe.explorers",
    "parameter": "icpe.tasks",
    "plain_reset": "icpe.tasks",
    "plain_step": "icpe.tasks",
    "preset": "icpe.learn.presets",
    "register": "icpe.tasks",
    "register_explorer": "icpe.explorers",
    "run_episodes": "icpe.rollout",
    "train": "icpe.workflow",
    "verify": "icpe.evaluate.verify",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("icpe")
    if name not in _HOMES:
        raise AttributeError(f"module 'icpe' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
