"""The site is built as `make docs` builds it: no warning, every tutorial executed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.services

ROOT = Path(__file__).parents[2]
TUTORIALS = [
    path
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    if "{code-cell}" in path.read_text(encoding="utf-8")
]


def test_the_site_is_built_without_warnings_and_tutorials_are_executed(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going"),
            *("--builder", "html", str(ROOT / "docs"), str(tmp_path / "html")),
        ],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    said = done.stdout + done.stderr
    executed = re.findall(r"([\w-]+)\.md: Executed notebook in", said)
    assert sorted(executed) == [path.stem for path in TUTORIALS]
    for tutorial in TUTORIALS:
        page = tmp_path / "html" / "tutorials" / f"{tutorial.stem}.html"
        text = page.read_text(encoding="utf-8")
        assert "cell_output" in text and "Traceback" not in text
