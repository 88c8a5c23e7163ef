"""Pages are read in the repository as well as on the site, where some things differ.

- `[name](../src/icpe/x.py)` leads to a file of the repository; on the site, which
  has no such files, the words stand alone.
- `<a id="name"></a>` before a heading is a place to link to; Sphinx has its own marks.
- A `README.md` lists the pages of its folder; the site wants them in its contents too.
"""

import re
from typing import Any

_INTO_REPOSITORY = re.compile(
    r"\[(?P<words>[^\]]+)\]"
    r"\((?:(?:\.\./)+(?:src/|benchmarks/|tests/|[A-Z]{4,})[^)]*|schemas/?[^)]*)\)"
)
_PLACE = re.compile(r'^<a id="(?P<name>[^"]+)"></a>$', re.MULTILINE)
_CONTENTS = "\n\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def _rewritten(app: Any, name: str, source: list[str]) -> None:
    text = _INTO_REPOSITORY.sub(r"\g<words>", source[0])
    text = _PLACE.sub(r"(\g<name>)=", text)
    source[0] = text + (_CONTENTS if name.endswith("/README") else "")


def setup(app: Any) -> dict[str, bool]:
    """Registers the rewriting of sources."""
    app.connect("source-read", _rewritten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
