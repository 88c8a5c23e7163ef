"""Writes the pages of the zoo in docs/zoo, with a figure of one episode each.

    python benchmarks/zoo_cards.py [NAME ..]

Figures of explorers that are not named are kept; pages are always written.
"""

import sys
from pathlib import Path

from zoo_page import zoo_index, zoo_page

from icpe import zoo
from icpe.artifact import Artifact
from icpe.artifact.document import read_card
from icpe.cli.episode import (
    EpisodeEnd,
    SimulatedWorld,
    episode_key,
    run_episode,
)
from icpe.cli.runtime import keep_compiled_programs
from icpe.evaluate.episode_figure import episode_figure
from icpe.evaluate.frames import Frame, PictureEpisode, strip_figure
from icpe.evaluate.plots import save_figure

PAGES = Path(__file__).parents[1] / "docs" / "zoo"
SEED = 0


def draw_episode(name: str) -> None:
    """Draws the first episode that is at least as long as the average one."""
    artifact = zoo.load(name)
    spec = artifact.family.spec
    error_prob = zoo.card(name).certified_error_prob
    end, truth = _long_episode(artifact, error_prob)
    frames = [Frame(turn.query, turn.outcome, turn.belief) for turn in end.turns]
    title = f"{name} at error probability {error_prob:g}"
    if spec.query_grid:
        figure = strip_figure(PictureEpisode(spec, tuple(frames), truth))
    else:
        figure = episode_figure(spec, frames, truth, title)
    path = PAGES / f"{name}.svg"
    save_figure(figure, path)
    mark = f"<!-- weights {artifact.weights_hash} -->\n"
    path.write_text(path.read_text(encoding="utf-8") + mark, encoding="utf-8")


def _long_episode(artifact: Artifact, error_prob: float) -> tuple[EpisodeEnd, int]:
    """An episode and its truth."""
    (certificate,) = artifact.certificates
    point = artifact.operating_point(error_prob=error_prob)
    number = 0
    while True:
        world = SimulatedWorld(artifact.family, key=episode_key(SEED, number))
        end = run_episode(
            artifact.explorer,
            artifact.family.spec,
            point,
            world,
            key=world.explorer_key,
            on_turn=lambda turn: None,
        )
        if len(end.turns) >= certificate["mean_queries"]:
            return end, world.truth
        number += 1


def main(chosen: list[str]) -> None:
    """Writes pages, and the figures of the chosen explorers or of all."""
    keep_compiled_programs()
    PAGES.mkdir(exist_ok=True)
    names = zoo.names()
    for name in names:
        page = zoo_page(zoo.card(name), read_card(zoo.path(name)))
        (PAGES / f"{name}.md").write_text(page, encoding="utf-8")
        if name in (chosen or names):
            draw_episode(name)
    index = zoo_index([zoo.card(name) for name in names])
    (PAGES / "README.md").write_text(index, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
