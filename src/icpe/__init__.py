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
    from icpe.rollout import run_episodes as run_episodes
    from icpe.tasks import AbstractTaskFamily as AbstractTaskFamily
    from icpe.tasks import TaskSpec as TaskSpec
    from icpe.tasks import make as make
    from icpe.tasks import register as register
    from icpe.types import OperatingPoint as OperatingPoint
    from icpe.types import StopReason as StopReason

_HOMES = {
    "AbstractExplorer": "icpe.explorers",
    "AbstractTaskFamily": "icpe.tasks",
    "Artifact": "icpe.artifact",
    "Certificate": "icpe.certificate",
    "IcpeError": "icpe.exceptions",
    "OperatingPoint": "icpe.types",
    "Report": "icpe.evaluate.report",
    "Session": "icpe.deploy",
    "StopReason": "icpe.types",
    "TaskSpec": "icpe.tasks",
    "certify": "icpe.evaluate.certify",
    "make": "icpe.tasks",
    "make_explorer": "icpe.explorers",
    "register": "icpe.tasks",
    "run_episodes": "icpe.rollout",
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
