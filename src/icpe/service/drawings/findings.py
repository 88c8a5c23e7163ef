"""What was found so far: each question with its answer, the latest first."""

from markupsafe import Markup

from icpe.service.drawings.axis import outcome_class
from icpe.service.drawings.markup import tag
from icpe.service.drawings.scene import Scene


def findings(scene: Scene) -> Markup:
    """A list of questions with their answers in the family's words."""
    if not scene.answers:
        return tag("p", "Nothing has been found yet.", class_="quiet")
    spec = scene.spec
    entries = []
    for i, it in reversed(list(enumerate(scene.answers))):
        assert it.query is not None
        note = scene.family.query_note(it.query)
        entries.append(
            tag(
                "li",
                tag(
                    "span",
                    spec.query_name(it.query),
                    tag("small", note) if note else "",
                    class_="what",
                ),
                tag(
                    "span",
                    scene.describe(it),
                    class_="chip"
                    if scene.label(it) is None
                    else f"chip {outcome_class(scene, it)}",
                ),
                class_="latest" if i == len(scene.answers) - 1 else None,
            )
        )
    return tag("ol", *entries, class_="findings", reversed=True)


def text_picture(lines: tuple[str, ...]) -> Markup:
    """A family's picture in characters."""
    return tag(
        "pre",
        "\n".join(lines),
        class_="text-picture",
        role="img",
        aria_label="Picture of the session so far, in characters",
    )
