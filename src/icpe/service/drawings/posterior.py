"""What is believed: a bar for each probable hypothesis."""

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from icpe.service.drawings.markup import hidden, join, percent, points, tag
from icpe.service.drawings.scene import Scene

_MOST_BARS = 12
_FEWER_BARS = 8
_LIKELY = 0.001
_LONG_NAME = 16


def posterior_bars(scene: Scene) -> Markup:
    """A table with a bar for each hypothesis, of many for the most probable.

    Rows stay in the order of the hypotheses, so that they do not jump, and bars have
    names of their own, so that a page that replaces them can let them move.
    """
    belief = scene.now.posterior
    if belief is None:
        return tag("p", "This explorer keeps no probabilities.", class_="quiet")
    possible = scene.hypotheses
    many = len(possible) > _MOST_BARS
    shown = shown_hypotheses(belief, possible)
    rows = [_row(scene, hypothesis, float(belief[hypothesis])) for hypothesis in shown]
    table = tag(
        "table",
        tag("caption", "Probability of each answer", class_="sr"),
        tag("thead", tag("tr", _head("Answer"), _head("Probability")), class_="sr"),
        tag("tbody", *rows),
        class_="belief long" if _has_long_names(scene, shown) else "belief",
    )
    others = _others(belief, len(possible) - len(shown), shown)
    return join([_skyline(belief[possible]) if many else "", table, others])


def shown_hypotheses(
    belief: Float[np.ndarray, "hypotheses"], possible: list[int]
) -> list[int]:
    """All that are possible if they are few, else the most probable, in their order."""
    if len(possible) <= _MOST_BARS:
        return possible
    likeliest = sorted(possible, key=lambda it: -belief[it])[:_FEWER_BARS]
    return sorted(it for it in likeliest if belief[it] >= _LIKELY) or likeliest[:1]


def share(probability: float) -> str:
    """A probability in percent that says 0 and 100 only where it is exactly that."""
    if 0.0 < probability < 0.001:
        return "< 0.1 %"
    if 0.999 < probability < 1.0:
        return "> 99.9 %"
    return f"{100 * probability:.1f} %"


def _has_long_names(scene: Scene, shown: list[int]) -> bool:
    names = [scene.spec.hypothesis_name(hypothesis) for hypothesis in shown]
    return any(len(name) > _LONG_NAME for name in names)


def _head(text: str) -> Markup:
    return tag("th", text, scope="col")


def _row(scene: Scene, hypothesis: int, probability: float) -> Markup:
    leads = hypothesis == scene.now.recommendation
    bar = tag(
        "svg",
        tag("rect", class_="track", width="100%", height="100%", rx=3),
        tag(
            "rect",
            id=f"belief-{hypothesis}",
            class_="fill",
            width=percent(probability),
            height="100%",
            rx=3,
        ),
        class_="bar",
        aria_hidden="true",
    )
    name = scene.spec.hypothesis_name(hypothesis)
    mark = hidden(" (leads)") if leads else ""
    return tag(
        "tr",
        tag("th", name, mark, scope="row", title=name),
        tag("td", bar, tag("span", share(probability), class_="number")),
        class_="leads" if leads else None,
    )


def _others(
    belief: Float[np.ndarray, "hypotheses"], number: int, shown: list[int]
) -> Markup:
    if number <= 0:
        return Markup("")
    rest = max(0.0, 1.0 - float(belief[shown].sum()))
    noun = "other answer has" if number == 1 else "other answers share"
    return tag("p", f"{number:,} {noun} {share(rest)}", class_="quiet")


def _skyline(belief: Float[np.ndarray, "hypotheses"]) -> Markup:
    """The outline of all probabilities, from the first hypothesis to the last."""
    top = max(float(belief.max()), 1e-9)
    count = len(belief)
    corners = [(0.0, 100.0)]
    for i, probability in enumerate(belief.tolist()):
        height = 100.0 - 96.0 * probability / top
        corners += [(100.0 * i / count, height), (100.0 * (i + 1) / count, height)]
    corners.append((100.0, 100.0))
    return tag(
        "svg",
        tag("polygon", points=points(corners), class_="fill"),
        class_="skyline",
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"Probabilities of all {count:,} answers; the largest is "
        f"{share(top)}",
    )
