"""An explorer as one page that plays it, without a network."""

import base64
import html
from pathlib import Path

from icpe.artifact import Artifact
from icpe.core.errors import UnsupportedError
from icpe.core.files import replacing
from icpe.export.onnx_file import Exported, exported
from icpe.export.web_runtime import VERSION, compressed, web_runtime

_PARTS = Path(__file__).parent / "page"
_SCRIPTS = ("guard.js", "reading.js", "session.js", "model.js", "drawing.js", "view.js")


def export_html(artifact: Artifact, path: str | Path, name: str = "") -> Exported:
    """Writes an explorer as an HTML page that holds all it needs.

    Args:
        artifact: what to export.
        path: where to write the page.
        name: how it is called for people; that of the file if empty.

    Raises:
        UnsupportedError: it cannot be exported, with the reason.
        MissingExtraError: a package or npm is missing.
        DataError: the runtime of pages cannot be fetched.
    """
    done = exported(artifact, name or Path(path).stem)
    spec = artifact.family.spec
    if spec.masks_queries and not done.gives_mask:
        raise UnsupportedError(
            "This explorer cannot become a page, since some queries of its family are "
            "forbidden at times and only the user knows which; export it to onnx and "
            "tell query_mask."
        )
    with replacing(Path(path)) as temporary:
        temporary.write_text(page(done), encoding="utf-8")
    return done


def page(done: Exported) -> str:
    """The text of the page of an exported explorer."""
    runtime, document = web_runtime(), done.document
    parts = {
        "title": html.escape(document["name"]),
        "lead": html.escape(
            f"{document['summary']} This page holds an explorer for "
            f"{document['described']}: it asks, you answer, and it names the answer. "
            "All of it runs here; nothing is sent anywhere.".strip()
        ),
        "footer": html.escape(
            f"Made by icpe {document['versions']['icpe']}. It runs on onnxruntime-web "
            f"{VERSION}, copyright Microsoft Corporation, under the MIT license."
        ),
        "style": (_PARTS / "page.css").read_text(),
        "scripts": "\n".join((_PARTS / name).read_text() for name in _SCRIPTS),
        "wasm": base64.b64encode(runtime.wasm).decode(),
        "runtime": base64.b64encode(runtime.code).decode(),
        "model": base64.b64encode(compressed(done.model)).decode(),
    }
    text = (_PARTS / "page.html").read_text()
    for key, value in parts.items():
        text = text.replace("{{" + key + "}}", value)
    return text
