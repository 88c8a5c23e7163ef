"""Every family of ours as an environment of a name."""

import gymnasium

from icpe.families.registry import family_names

_ENTRY_POINT = "icpe.integrations.gymnasium.environment:FamilyEnv"


def register_envs() -> None:
    """Registers `icpe/NAME-v0` for every family that has a name and none yet."""
    for name in family_names():
        env_id = f"icpe/{name}-v0"
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id, entry_point=_ENTRY_POINT, kwargs={"family": name}
            )
