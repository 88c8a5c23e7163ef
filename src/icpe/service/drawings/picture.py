"""A picture that is revealed patch by patch."""

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from icpe.core.spec import TaskSpec
from icpe.service.drawings.markup import tag
from icpe.service.drawings.scene import Scene


def shows_picture(spec: TaskSpec) -> bool:
    """Whether queries are patches of one picture."""
    return bool(spec.query_grid and spec.outcome_shape)


def picture(scene: Scene) -> Markup:
    """The patches seen so far, and the one asked for.

    A patch that may be answered is a link that chooses it; the answer is then given
    for that one.
    """
    spec = scene.spec
    rows, columns = spec.query_grid
    height, width = spec.outcome_shape
    seen = {it.query: it.outcome for it in scene.answers if it.query is not None}
    tiles = []
    for query in range(spec.num_queries):
        row, column = divmod(query, columns)
        y, x = row * height, column * width
        if query in seen:
            latest = query == scene.now.query
            tiles.append(_seen(scene, query, seen[query], x, y, latest))
        else:
            tiles.append(_covered(scene, query, x, y))
    drawing = tag(
        "svg",
        *tiles,
        viewBox=f"-0.5 -0.5 {columns * width + 1} {rows * height + 1}",
        class_="picture",
        role="group",
        aria_label=f"Picture of {rows} by {columns} patches, {len(seen)} of them seen",
        data_columns=columns,
    )
    return tag("figure", drawing)


def _seen(
    scene: Scene,
    query: int,
    outcome: Float[np.ndarray, "pixels"],
    x: int,
    y: int,
    latest: bool,
) -> Markup:
    height, width = scene.spec.outcome_shape
    levels = np.clip(np.asarray(outcome, float), 0.0, 1.0).reshape(height, width)
    pixels = [
        tag(
            "rect",
            x=x + column,
            y=y + row,
            width=1.02,
            height=1.02,
            fill=_gray(float(levels[row, column])),
        )
        for row in range(height)
        for column in range(width)
    ]
    frame = tag(
        "rect",
        x=x,
        y=y,
        width=width,
        height=height,
        class_="frame latest" if latest else "frame",
    )
    words = f"{scene.spec.query_name(query)}: {scene.spec.describe_outcome(outcome)}"
    return tag("g", *pixels, frame, role="img", aria_label=words)


def _covered(scene: Scene, query: int, x: int, y: int) -> Markup:
    height, width = scene.spec.outcome_shape
    asked = query in scene.open_queries and scene.is_live
    cover = tag(
        "rect",
        x=x + 0.15,
        y=y + 0.15,
        width=width - 0.3,
        height=height - 0.3,
        rx=0.5,
        class_="cover asked" if asked else "cover",
    )
    name = scene.spec.query_name(query)
    if asked:
        mark = tag("circle", cx=x + width / 2, cy=y + height / 2, r=0.7, class_="mark")
        return _link(query, f"{name}, asked for", cover, mark, first=True)
    if scene.is_live and not scene.stopped and scene.allowed[query]:
        return _link(query, f"{name}, not asked for", cover, first=False)
    return cover


def _link(query: int, words: str, *drawn: Markup, first: bool) -> Markup:
    """Chooses a patch; by keyboard only the one asked for, the others by a list."""
    return tag(
        "a",
        *drawn,
        href=f"?query={query}#answer",
        class_="choose",
        data_query=query,
        aria_label=words,
        tabindex=None if first else -1,
    )


def _gray(level: float) -> str:
    return f"#{round(255 * level):02x}" + f"{round(255 * level):02x}" * 2
