"""Pictures of two episodes of the digit explorer, one right and one wrong.

    ICPE_DATA=DATA python benchmarks/digits_episodes.py FILE FOLDER

writes FOLDER/digits-{right,wrong}.{png,gif}; curves and tests between digits are drawn
by `icpe study report digits`.
"""

import argparse
from pathlib import Path

from icpe.artifact import Artifact
from icpe.cli.episode import SimulatedWorld, episode_key, run_episode
from icpe.evaluate.frames import (
    Frame,
    PictureEpisode,
    save_animation,
    strip_figure,
)
from icpe.evaluate.plots import save_figure

BUDGET = 10


def main() -> None:
    """Draws them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="the trained explorer")
    parser.add_argument("folder", type=Path, help="for the pictures")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, episode in episodes(Artifact.load(args.file)).items():
        save_figure(strip_figure(episode), args.folder / f"digits-{name}.png")
        save_animation(episode, args.folder / f"digits-{name}.gif")


def episodes(artifact: Artifact) -> dict[str, PictureEpisode]:
    """The first right and the first wrong episode of `icpe evaluate` with seed 0."""
    family = artifact.family
    budget = min(BUDGET, family.spec.horizon)
    point = artifact.operating_point(budget=budget)
    found: dict[str, PictureEpisode] = {}
    for number in range(200):
        world = SimulatedWorld(family, key=episode_key(0, number))
        end = run_episode(
            artifact.explorer,
            family.spec,
            point,
            world,
            key=world.explorer_key,
            on_turn=lambda turn: None,
        )
        name = "right" if end.recommendation == world.truth else "wrong"
        frames = tuple(Frame(t.query, t.outcome, t.belief) for t in end.turns)
        found.setdefault(name, PictureEpisode(family.spec, frames, world.truth))
        if len(found) == 2:
            break
    return found


if __name__ == "__main__":
    main()
