"""Pages read what people type as Python does."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from icpe import export
from icpe.core.errors import InvalidOutcomeError
from icpe.families.table.columns import TableAnswers

TYPED = [
    *(
        "5",
        " 5 ",
        "5.4",
        "5,4",
        "1.234,5",
        "1 234,5",
        "1,234.5",
        "−3",
        "–3",
        "1e3",
        "5 kg",
    ),
    *("5KG", "<0.5", "> 5 kg", "≥5", "4+", "", "   ", "NA", "?", "-", "none", "#N/A"),
    *("kg", "0x10", "1,234", "warm", "5 g", "inf", "1__0", "< x"),
]


@pytest.fixture(scope="module")
def page_reads():
    """What the page makes of texts: a number each, or its complaint."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    folder = Path(export.__file__).parent / "page"
    cells = {"features": ["mass"], "levels": [[]], "groups": [[0]], "size": 1}
    given = json.dumps([{**cells, "units": ["kg"]}, TYPED])
    script = f"""
        {(folder / "reading.js").read_text(encoding="utf-8")}
        const [cells, typed] = {given};
        const read = (text) => {{
          try {{ return readCells(cells, 0, [text])[0]; }}
          catch (error) {{ return error.message; }}
        }};
        console.log(JSON.stringify(typed.map(read)));"""
    done = subprocess.run(
        [node, "-"], input=script, capture_output=True, text=True, check=True
    )
    return dict(zip(TYPED, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("text", TYPED)
def test_a_number_is_read_alike(page_reads, text):
    answers = TableAnswers(["mass"], [()], [(0,)], 1, units=["kg"])
    try:
        expected = answers.read(0, text)[0]
    except InvalidOutcomeError as error:
        expected = str(error)
    assert page_reads[text] == expected
