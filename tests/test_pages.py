"""Every block of code on every page is run, or says why not."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.given import given
from support.pages import BLOCKS, BY_THE_SITE, MARKS, READ, ROOT, RUN, Block

ALL = [
    pytest.param(block, id=block.name) for blocks in BLOCKS.values() for block in blocks
]
_COMMAND = re.compile(r"^(?:\$ )?(?:icpe|make|pip|python) ", re.MULTILINE)
_IS_USAGE = re.compile(r"[\[|<]|\.\.(?!/)|\(--|\s{3,}")
"""Lines of usage and tables of commands, which nobody types."""


def pages(*, slow: bool) -> list[str]:
    """Those that have something to run, of this kind."""
    return [
        str(path.relative_to(ROOT))
        for path, blocks in BLOCKS.items()
        if any(block.is_run and block.is_slow == slow for block in blocks)
    ]


def test_blocks_are_found():
    kinds = [block.kind for blocks in BLOCKS.values() for block in blocks]
    assert min(kinds.count("sh"), kinds.count("python")) > 25


@pytest.mark.parametrize("block", ALL)
def test_a_block_says_what_becomes_of_it(block: Block):
    assert set(block.marks) <= set(MARKS)
    assert block.kind in (*RUN, *READ, BY_THE_SITE), "a fence without its kind"
    if "gpu" in block.marks:
        assert re.search(r"\bGPU\b|--preset gpu|--gpus", block.before + block.text)
    if "tiny" in block.marks:
        assert re.search(r"\btrain|\bstudy", block.text)
    for name in filter(None, block.marks.get("given", "").split(",")):
        assert given(name)
    if "clone" in block.marks:
        targets = re.findall(r"^make ([\w-]+)", block.text, re.MULTILINE)
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert targets and all(f"\n{target}:" in makefile for target in targets)
    if "by" in block.marks:
        file, _, name = block.marks["by"].partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
    if block.kind in READ and "file" not in block.marks:
        typed = [it for it in block.text.splitlines() if _COMMAND.match(it)]
        assert [it for it in typed if not _IS_USAGE.search(it)] == []


def run(page: str, folder: Path, *words: str) -> None:
    paths = os.pathsep.join(str(ROOT / it) for it in ("src", "tests"))
    cache = os.path.join(tempfile.gettempdir(), "icpe-test-compilations")
    environment = os.environ | {
        "PYTHONPATH": paths,
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PLATFORMS": "cpu",
    }
    done = subprocess.run(
        [sys.executable, "-m", "support.run_page", page, *words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("page", pages(slow=False))
def test_what_a_page_says_works(page, tmp_path):
    run(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages(slow=True))
def test_what_takes_longer_on_a_page_works(page, tmp_path):
    run(page, tmp_path, "slow")
