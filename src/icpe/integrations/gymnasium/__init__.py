"""Gymnasium both ways: environments as families, and families as environments.

Importing it registers every family of ours as `icpe/NAME-v0`.
"""

import importlib.util

from icpe.core.errors import missing_extra

if importlib.util.find_spec("gymnasium") is None:
    raise missing_extra("Environments need gymnasium", "gym")

from icpe.integrations.gymnasium.environment import FamilyEnv as FamilyEnv
from icpe.integrations.gymnasium.family import HostFamily as HostFamily
from icpe.integrations.gymnasium.family import from_gymnasium as from_gymnasium
from icpe.integrations.gymnasium.registration import register_envs

register_envs()
