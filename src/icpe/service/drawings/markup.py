"""HTML and SVG elements whose content is escaped."""

from collections.abc import Iterable

from markupsafe import Markup, escape

Value = str | float | int | bool | None


def tag(name: str, *children: str | Markup, **attributes: Value) -> Markup:
    """An element. What is not `Markup` is escaped.

    Underscores in names of attributes become hyphens, and one at the end is dropped
    (`class_`). Attributes that are None or False are left out.
    """
    parts = [Markup(name)]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.removesuffix("_").replace("_", "-")
        text = label if value is True else _text(value)
        parts.append(Markup('{}="{}"').format(label, text))
    opening = Markup(" ").join(parts)
    if not children and name in _VOID:
        return Markup("<{}>").format(opening)
    body = Markup("").join(map(escape, children))
    return Markup("<{}>{}</{}>").format(opening, body, Markup(name))


def join(parts: Iterable[str | Markup]) -> Markup:
    """Parts one after the other; what is not `Markup` is escaped."""
    return Markup("").join(map(escape, parts))


def hidden(text: str) -> Markup:
    """Text for those who do not see the picture beside it."""
    return tag("span", text, class_="sr")


def percent(share: float) -> str:
    """A share between 0 and 1 as a length in percent."""
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"


def points(pairs: Iterable[tuple[float, float]]) -> str:
    """The corners of a line."""
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in pairs)


_VOID = ("input", "br", "img", "meta", "link")


def _text(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
