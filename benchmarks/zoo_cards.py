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
from icpe.cli.episode import EpisodeEnd, SimulatedWorld, episode_key, run_episode
from icpe.cli.film import Film
from icpe.cli.runtime import keep_compiled_programs

PAGES = Path(__file__).parents[1] / "docs" / "zoo"
SEED = 0


def draw_episode(name: str) -> None:
    """Draws the first episode that is at least as long as the average one."""
    artifact = zoo.load(name)
    error_prob = zoo.card(name).certified_error_prob
    end, film, truth = _long_episode(artifact, error_prob)
    path = PAGES / f"{name}.svg"
    film.save(path, f"{name} at error probability {error_prob:g}", end, truth)
    mark = f"<!-- weights {artifact.weights_hash} -->\n"
    path.write_text(path.read_text(encoding="utf-8") + mark, encoding="utf-8")


def _long_episode(
    artifact: Artifact, error_prob: float
) -> tuple[EpisodeEnd, Film, int]:
    """An episode, its film and its truth."""
    player = artifact.serve(error_prob=error_prob)
    certificate = player.certificate
    assert certificate is not None, "explorers of the zoo are certified"
    number = 0
    while True:
        film = Film(artifact.family)
        world = SimulatedWorld(artifact.family, key=episode_key(SEED, number))
        end = run_episode(
            player,
            artifact.family,
            world,
            key=world.explorer_key,
            on_exchange=film.exchange,
        )
        if len(end.exchanges) >= certificate.mean_queries:
            return end, film, world.truth
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
