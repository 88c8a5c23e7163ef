"""Things of one kind side by side, such as arms, with every outcome of each."""

import collections

from markupsafe import Markup

from icpe.core.spec import TaskSpec
from icpe.service.drawings.markup import hidden, percent, tag
from icpe.service.drawings.posterior import share
from icpe.service.drawings.scene import Scene

_LEVELS = 5
_BINS = 48
_MOST_ROWS = 64


def shows_arms(spec: TaskSpec) -> bool:
    """Whether queries are things of one kind that outcomes are about."""
    return spec.queries_alike and spec.num_queries <= _MOST_ROWS


def arms(scene: Scene) -> Markup:
    """A row for each arm: its outcomes as dots, their mean, number and belief."""
    found = outcomes_of_arms(scene)
    values = [value for some in found.values() for value in some]
    low, high = _range(scene, values)
    rows = [
        _row(scene, arm, found[arm], low, high)
        for arm in range(scene.spec.num_queries)
        if scene.exists[arm] or found[arm]
    ]
    what = "Outcomes"
    if not scene.spec.outcome_flags:
        name = scene.spec.outcome_name(0)
        what += "" if name == "outcome" else f": {name}"
        what += f" ({scene.unit})" if scene.unit else ""
    head = tag(
        "tr",
        *(tag("th", text, scope="col") for text in ("Choice", what, "Mean", "Number")),
    )
    axis = tag(
        "tr",
        tag("td"),
        tag(
            "td",
            tag("div", tag("span", _number(low)), tag("span", _number(high))),
            class_="axis",
        ),
        tag("td"),
        tag("td"),
        aria_hidden="true",
    )
    return tag(
        "table",
        tag("caption", "Outcomes of each choice", class_="sr"),
        tag("thead", head),
        tag("tbody", *rows, axis),
        class_="arms",
    )


def outcomes_of_arms(scene: Scene) -> dict[int, list[float]]:
    """All that is known of each arm, also where one query tells about several."""
    spec, found = scene.spec, collections.defaultdict(list)
    half = spec.outcome_size // 2
    for it in scene.answers:
        if it.query is None:
            continue
        if spec.outcome_flags and half == spec.num_queries:
            for arm in range(half):
                if it.outcome[half + arm]:
                    found[arm].append(float(it.outcome[arm]))
        else:
            told = it.outcome[0] if it.told is None else it.told
            found[it.query].append(float(told))
    return found


def _row(
    scene: Scene, arm: int, values: list[float], low: float, high: float
) -> Markup:
    spec, belief = scene.spec, scene.now.posterior
    stacked: collections.Counter[int] = collections.Counter()
    dots = []
    for i, value in enumerate(values):
        place = (value - low) / (high - low)
        column = round(place * _BINS)
        level = stacked[column] % _LEVELS
        stacked[column] += 1
        latest = i == len(values) - 1 and scene.now.query == arm
        dots.append(
            tag(
                "circle",
                cx=percent(place),
                cy=25 - 5 * level,
                r=4.5,
                class_="dot latest" if latest else "dot",
            )
        )
    mean = sum(values) / len(values) if values else None
    if mean is not None:
        place = percent((mean - low) / (high - low))
        dots.append(
            tag(
                "line",
                id=f"mean-{arm}",
                x1=place,
                x2=place,
                y1=2,
                y2=32,
                class_="mean",
            )
        )
    strip = tag(
        "svg",
        tag("line", x1="0%", x2="100%", y1=31, y2=31, class_="rule"),
        *dots,
        class_="strip",
        aria_hidden="true",
    )
    asked = arm in scene.open_queries and scene.is_live
    states = [word for word, holds in _states(scene, arm, asked).items() if holds]
    probability = "" if belief is None else f", {share(float(belief[arm]))} best"
    said = hidden(": " + ", ".join(f"{value:.4g}" for value in values))
    return tag(
        "tr",
        tag(
            "th",
            tag("span", spec.query_name(arm)),
            tag("small", "asked for" if asked else probability.removeprefix(", ")),
            scope="row",
        ),
        tag("td", strip, said if values else hidden("none yet")),
        tag("td", "" if mean is None else _number(mean), class_="number"),
        tag("td", f"{len(values)}", class_="number"),
        class_=" ".join(states) or None,
    )


def _states(scene: Scene, arm: int, asked: bool) -> dict[str, bool]:
    allowed = bool(scene.allowed[arm]) or not scene.is_live or scene.stopped
    return {
        "asked": asked,
        "leads": arm == scene.now.recommendation,
        "off": not allowed and not asked,
    }


def _range(scene: Scene, values: list[float]) -> tuple[float, float]:
    """From below the smallest to above the largest, or where outcomes usually are."""
    spec = scene.spec
    labels = [value[0] for _, value in spec.outcome_labels]
    shift = spec.outcome_shift[0] if spec.outcome_shift else 0.0
    scale = spec.outcome_scale[0] if spec.outcome_scale else 1.0
    usual = labels or [shift - scale, shift + scale]
    in_own_units = any(it.told is not None for it in scene.moments)
    known = values if in_own_units else values + usual
    low, high = min(known, default=0.0), max(known, default=0.0)
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")
