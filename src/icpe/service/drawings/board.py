"""A family's board: a map, a grid of cells, the way that was taken."""

from markupsafe import Markup

from icpe.core.board import Board, BoardCell
from icpe.service.drawings.markup import points, tag
from icpe.service.drawings.scene import Scene

_SIZE = 40


def board(scene: Scene, drawn: Board) -> Markup:
    """The board as a picture, with its cells as a list for those who do not see it.

    A cell that is about a query that may be answered is a link that chooses it.
    """
    places = {(cell.row, cell.column): cell for cell in drawn.cells}
    cells = [
        _cell(scene, places.get((row, column), BoardCell(row, column)))
        for row in range(drawn.rows)
        for column in range(drawn.columns)
    ]
    path = Markup("")
    if len(drawn.path) > 1:
        middles = [_middle(row, column) for row, column in drawn.path]
        path = tag("polyline", points=points(middles), class_="path")
    picture = tag(
        "svg",
        *cells,
        path,
        *(_text(cell) for cell in drawn.cells if cell.text),
        viewBox=f"-1 -1 {_SIZE * drawn.columns + 2} {_SIZE * drawn.rows + 2}",
        class_="board",
        role="group",
        aria_label=drawn.caption or "Board",
    )
    told = [
        f"row {cell.row + 1}, column {cell.column + 1}: {cell.words}"
        for cell in drawn.cells
        if cell.words and cell.kind not in ("plain", "wall")
    ]
    words = tag("ul", *(tag("li", text) for text in told), class_="sr")
    return tag("figure", picture, words, tag("figcaption", drawn.caption))


def _cell(scene: Scene, cell: BoardCell) -> Markup:
    query = cell.query
    asked = query is not None and query in scene.open_queries and scene.is_live
    square = tag(
        "rect",
        x=_SIZE * cell.column + 1,
        y=_SIZE * cell.row + 1,
        width=_SIZE - 2,
        height=_SIZE - 2,
        rx=4,
        class_=f"cell {cell.kind}" + (" asked" if asked else ""),
    )
    open_to_all = scene.is_live and not scene.stopped
    if query is None or not (asked or (open_to_all and scene.allowed[query])):
        return square
    name = scene.spec.query_name(query)
    return tag(
        "a",
        square,
        href=f"?query={query}#answer",
        class_="choose",
        data_query=query,
        aria_label=f"{name}, {'asked for' if asked else 'not asked for'}",
        tabindex=None if asked else -1,
    )


def _text(cell: BoardCell) -> Markup:
    x, y = _middle(cell.row, cell.column)
    return tag(
        "text",
        cell.text[:4],
        x=x,
        y=y,
        class_=f"on {cell.kind}",
        text_anchor="middle",
        dominant_baseline="central",
        aria_hidden="true",
    )


def _middle(row: int, column: int) -> tuple[float, float]:
    return _SIZE * (column + 0.5), _SIZE * (row + 0.5)
