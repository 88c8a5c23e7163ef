"""Blocks of code on the pages, and what is to be done with each.

A block is named by the word behind its fence: `sh` is typed into a shell, `console`
shows commands behind `$` with what they print, `python` and `{code-cell}` are run,
`text`, `csv` and the like are read. A comment on the line before may add marks:

    <!-- test: slow answer=quit -->

- `slow`: takes more than a few seconds.
- `tiny`: trains, which takes minutes; run at tiny size, with the slow ones.
- `server`: serves until it is stopped; run with the slow ones, on a port of its own.
- `clone`: needs a fresh clone, as `make demo` does; not run with the pages.
- `gpu`: needs a GPU, which the reader is told; not run.
- `by=tests/x.py::name`: run by that test instead, such as what needs a server.
- `file=NAME`: is the content of that file.
- `given=NAME`: needs that file, of another page or of `support.given`.
- `answer=WORD`: typed whenever the reader is asked for something; `,` between several.
"""

import dataclasses
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if "_build" not in path.parts and path.name != "commands.md"
)
"""All pages but the one that is made of every command's help."""

TYPED = ("sh", "console")
RUN = (*TYPED, "python")
BY_THE_SITE = "{code-cell}"
READ = ("text", "csv", "json", "ini", "html", "js")
MARKS = ("slow", "tiny", "server", "clone", "gpu", "by", "file", "given", "answer")

_BLOCK = re.compile(
    r"(?:^<!-- test: (?P<marks>[^\n]*) -->\n)?"
    r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclasses.dataclass(frozen=True)
class Block:
    """One block of a page."""

    page: str
    line: int
    kind: str
    text: str
    marks: dict[str, str]
    before: str
    """The paragraph that leads to it."""

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_slow(self) -> bool:
        return bool({"slow", "tiny", "server"} & set(self.marks))

    @property
    def is_run(self) -> bool:
        """Whether it is run with its page."""
        elsewhere = {"clone", "gpu", "by", "file"} & set(self.marks)
        return self.kind in RUN and not elsewhere


def blocks_of(path: Path) -> list[Block]:
    """All blocks of a page but directives of the site."""
    text = path.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        kind = match["kind"].split(" ")[0]
        if kind.startswith("{") and kind != BY_THE_SITE:
            continue
        words = (match["marks"] or "").split()
        marks = {name: value for name, _, value in (it.partition("=") for it in words)}
        body = text[match.start("text") : match.end("text")]
        found.append(
            Block(
                str(path.relative_to(ROOT)),
                text.count("\n", 0, match.start("text")),
                kind,
                body,
                marks,
                text[: match.start()].rstrip().rpartition("\n\n")[2],
            )
        )
    return found


BLOCKS = {path: blocks_of(path) for path in PAGES}
