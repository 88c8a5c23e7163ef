"""The page on rules: what it tells to type is typed."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "rules.md"


@pytest.mark.slow
def test_the_page_runs():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    exec(compile(code, str(PAGE), "exec"), {})
