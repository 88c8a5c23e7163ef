"""Stop or ask: the statistic that decides, now and over time."""

from markupsafe import Markup

from icpe.service.drawings.markup import points, tag
from icpe.service.drawings.scene import Scene, Weighed


def weighing_sentence(scene: Scene) -> str:
    """The two sides that are compared, and what follows from them."""
    weighed = scene.now.weighed
    if not scene.weighs or weighed is None:
        return _why_nothing_is_weighed(scene)
    if weighed.kind == "threshold":
        return (
            f"The most probable answer has {weighed.stop:.4g}; it stops at "
            f"{weighed.ask:.4g} or more."
        )
    sides = (
        f"Stopping now is worth {weighed.stop:.4g}, asking on {weighed.ask:.4g} after "
        "costs"
    )
    if weighed.margin > 0:
        return f"{sides}: another question gains {weighed.margin:.3g}."
    return f"{sides}: another question gains nothing, so it stops."


def weighing_rule(scene: Scene) -> str:
    """When it stops, in words."""
    weighed = scene.now.weighed
    if not scene.weighs or weighed is None:
        return ""
    if weighed.kind == "threshold":
        return (
            "It stops as soon as the most probable answer reaches the threshold. A "
            "stop is final."
        )
    return "It stops when asking is worth no more than stopping. A stop is final."


def weighing_chart(scene: Scene) -> Markup:
    """Both sides after each answer; it stops where the lines meet."""
    if not scene.weighs:
        return Markup("")
    seen = [it.weighed for it in scene.moments[: scene.shown + 1]]
    steps = [(i, it) for i, it in enumerate(seen) if it is not None]
    values = [value for _, it in steps for value in (it.stop, it.ask)]
    low, high = min(values), max(values)
    pad = max(0.08 * (high - low), 0.01)
    # Probabilities do not leave the unit interval, nor does their scale.
    low = max(low - pad, 0.0) if low >= 0.0 else low - pad
    high = min(high + pad, 1.0) if high <= 1.0 else high + pad
    right = max(scene.last, scene.shown, 4)

    def place(i: int, value: float) -> tuple[float, float]:
        return 100.0 * i / right, 100.0 * (high - value) / (high - low)

    lines = [
        tag(
            "polyline",
            points=points(place(i, getattr(it, side)) for i, it in steps),
            class_=f"line {side}",
            vector_effect="non-scaling-stroke",
        )
        for side in ("ask", "stop")
    ]
    dots = [_dot(side, place(steps[-1][0], value)) for side, value in _ends(steps)]
    chart = tag(
        "svg",
        tag(
            "svg",
            *lines,
            viewBox="0 0 100 100",
            preserveAspectRatio="none",
            width="100%",
            height="100%",
        ),
        *dots,
        class_="chart",
        role="img",
        aria_label=weighing_sentence(scene),
    )
    scale = tag(
        "div",
        tag("span", f"{high:.2f}"),
        tag("span", f"{low:.2f}"),
        class_="scale",
        aria_hidden="true",
    )
    return tag("div", scale, chart, class_="chart-box")


def weighing_legend(scene: Scene) -> Markup:
    """The two sides with their present values."""
    weighed = scene.now.weighed
    if not scene.weighs or weighed is None:
        return Markup("")
    words = ("Stop now", "Ask on")
    if weighed.kind == "threshold":
        words = ("Most probable", "Threshold")
    entries = [
        tag(
            "div",
            tag("dt", tag("span", class_=f"key {side}", aria_hidden="true"), word),
            tag("dd", f"{value:.4f}"),
        )
        for side, word, value in zip(
            ("stop", "ask"), words, (weighed.stop, weighed.ask), strict=True
        )
    ]
    return tag("dl", *entries, class_="legend")


def _ends(steps: list[tuple[int, Weighed]]) -> list[tuple[str, float]]:
    last = steps[-1][1]
    return [("ask", last.ask), ("stop", last.stop)]


def _dot(side: str, at: tuple[float, float]) -> Markup:
    x, y = at
    return tag(
        "circle",
        id=f"weighed-{side}",
        cx=f"{x:.2f}%",
        cy=f"{y:.2f}%",
        r=4,
        class_=f"dot {side}",
    )


def _why_nothing_is_weighed(scene: Scene) -> str:
    if scene.request.budget is not None:
        number = scene.request.budget
        noun = "question is" if number == 1 else "questions are"
        return f"Nothing is weighed: exactly {number} {noun} asked."
    if not scene.spec.can_stop:
        return "Nothing is weighed: only the task itself ends a session of this kind."
    return "This explorer does not say what it weighs."
