"""`import icpe` alone makes everything reachable that the docs name."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = re.compile(r"\bicpe(?:\.[A-Za-z_]\w*)+")
SCRIPT = """
import functools, sys
import icpe
for name in sys.argv[1:]:
    functools.reduce(getattr, name.split(".")[1:], icpe)
"""


def names():
    """All names in the pages, as they are written there."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found = {name for page in pages for name in NAME.findall(page.read_text())}
    return sorted(name for name in found if not is_a_file(name))


def is_a_file(name):
    return name.endswith((".py", ".yml", ".md", ".db", ".service"))


def test_every_name_in_the_docs_is_reachable():
    found = names()
    assert {"icpe.testing.check_family", "icpe.evaluate.evaluate"} <= set(found)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *found],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_what_does_not_exist_is_no_attribute():
    import icpe

    assert not hasattr(icpe, "nothing")
    assert not hasattr(icpe.evaluate, "nothing")
    assert not hasattr(icpe.theory, "_nothing")
