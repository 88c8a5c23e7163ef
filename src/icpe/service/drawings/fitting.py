"""Which pictures fit a session; what its family and spec say decides."""

import dataclasses

from markupsafe import Markup

from icpe.service.drawings.arms import arms, shows_arms
from icpe.service.drawings.axis import axis
from icpe.service.drawings.board import board
from icpe.service.drawings.findings import findings, text_picture
from icpe.service.drawings.picture import picture, shows_picture
from icpe.service.drawings.scene import Scene


@dataclasses.dataclass(frozen=True)
class View:
    """A picture and its heading; `kind` names it for tests and style sheets."""

    kind: str
    heading: str
    body: Markup


def view_of(scene: Scene) -> View:
    """The picture that fits best.

    A family's own board comes first, then pictures made of patches, things of one
    kind, queries on a line, a picture in characters, and else the list of findings.
    """
    family, spec = scene.family, scene.spec
    drawn = family.episode_board(scene.history())
    if drawn is not None:
        return View("board", "Map", board(scene, drawn))
    if shows_picture(spec):
        return View("picture", "Picture", picture(scene))
    if shows_arms(spec):
        return View("arms", "Outcomes", arms(scene))
    line = family.query_axis()
    if line is not None:
        return View("axis", line.name.capitalize(), axis(scene, line))
    lines = family.episode_picture(scene.history())
    if lines:
        return View("text", "Picture", text_picture(lines))
    return View("findings", "Findings", findings(scene))
