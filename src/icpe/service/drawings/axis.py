"""Queries on a line, such as test items by difficulty, in the order they were made."""

from markupsafe import Markup

from icpe.core.family import QueryAxis
from icpe.service.drawings.markup import points, tag
from icpe.service.drawings.scene import Moment, Scene


def axis(scene: Scene, line: QueryAxis) -> Markup:
    """Where each query lay, colored by its outcome; the open one is hollow."""
    places = [float(place) for place in line.places]
    least, most = min(places), max(places)
    pad = 0.06 * (most - least) or 1.0
    low, high = least - pad, most + pad
    made = [it.query for it in scene.answers if it.query is not None]
    asking = scene.asking
    shown = [*made, asking] if asking is not None else made
    right = max(len(shown) + 1, 8)

    def place(i: int, query: int) -> tuple[float, float]:
        return 100 * (i + 1) / right, 100 * (high - places[query]) / (high - low)

    corners = [place(i, query) for i, query in enumerate(shown)]
    dots = [
        tag(
            "circle",
            cx=f"{x:.2f}%",
            cy=f"{y:.2f}%",
            r=6,
            class_=f"dot {outcome_class(scene, scene.answers[i])}"
            if i < len(made)
            else "dot open",
        )
        for i, (x, y) in enumerate(corners)
    ]
    chart = tag(
        "svg",
        tag(
            "svg",
            tag(
                "polyline",
                points=points(corners),
                class_="line faint",
                vector_effect="non-scaling-stroke",
            ),
            viewBox="0 0 100 100",
            preserveAspectRatio="none",
            width="100%",
            height="100%",
        ),
        *dots,
        class_="chart tall",
        role="img",
        aria_label=f"{line.name} of the {len(made)} questions so far; they are listed "
        "in the table of answers",
    )
    scale = tag(
        "div",
        tag("span", f"{most:.3g}"),
        tag("span", line.name, class_="axis-name"),
        tag("span", f"{least:.3g}"),
        class_="scale",
        aria_hidden="true",
    )
    box = tag("div", scale, chart, class_="chart-box")
    return tag("figure", box, _key(scene))


def outcome_class(scene: Scene, moment: Moment) -> str:
    """The color of an answer, by the number of its label."""
    return f"outcome-{(scene.label(moment) or 0) % 6}"


def _key(scene: Scene) -> Markup:
    entries = [
        tag(
            "li",
            tag("span", class_=f"key outcome-{i % 6}", aria_hidden="true"),
            word,
        )
        for i, (word, _) in enumerate(scene.spec.outcome_labels)
    ]
    return tag("ul", *entries, class_="keys") if entries else Markup("")
