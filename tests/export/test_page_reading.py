"""Pages read what people type as Python does."""

import dataclasses
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from icpe import export
from icpe.core.errors import InvalidOutcomeError
from icpe.core.units import Units
from icpe.deploy.session_state import Answer
from icpe.families import TaskSpec
from icpe.families.best_of_k import BestOfK
from icpe.families.table.columns import TableAnswers
from icpe.portable.cells import NO_ANSWER, UNKNOWN
from icpe.portable.reading import read_outcome

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
    *("1.234", "-1.234", "1,234,567", "1.234.567", "(12)", "<1.234", "0.123", "1.2340"),
    *("k. A.", "Don\u2019t  know", "not known", "n.d."),
    *("kg", "0x10", "1,234", "warm", "5 g", "inf", "1__0", "< x"),
]


MARKS = ["", ".", ",", ".,", ",."]


@pytest.fixture(scope="module", params=MARKS, ids=repr)
def page_reads(request):
    """What the page makes of texts: a number each, or its complaint."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    folder = Path(export.__file__).parent / "page"
    cells = {"features": ["mass"], "levels": [[]], "groups": [[0]], "size": 1}
    given = json.dumps([{**cells, "units": ["kg"], "marks": [request.param]}, TYPED])
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
    return request.param, dict(zip(TYPED, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("text", TYPED)
def test_a_number_is_read_alike(page_reads, text):
    marks, page_read = page_reads
    answers = TableAnswers(["mass"], [()], [(0,)], 1, units=["kg"], marks=[marks])
    try:
        expected = answers.read(0, text)[0]
    except InvalidOutcomeError as error:
        expected = str(error)
    assert page_read[text] == expected


def test_the_words_for_what_is_not_known_are_the_same():
    text = (Path(export.__file__).parent / "page" / "reading.js").read_text("utf-8")
    listed = text.partition("const NOTHING = ")[2].partition(";")[0]
    assert set(json.loads(listed)) == {*UNKNOWN, *NO_ANSWER}


@pytest.mark.parametrize("told", [1.0, [1.0], [1.0, 2.0, 3.0], "hot", [1.0, 2.0]])
@pytest.mark.parametrize("names", [(), ("heat", "count")])
def test_outcomes_of_several_numbers_are_refused_alike(told, names):
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    spec = TaskSpec(
        num_queries=2,
        num_hypotheses=2,
        outcome_size=2,
        horizon=3,
        outcome_names=names,
    )
    known = {"outcome_size": 2, "outcome_names": names}
    script = (Path(export.__file__).parent / "page" / "reading.js").read_text("utf-8")
    script += f"""
        const [told, spec] = {json.dumps([told, known])};
        let said = null;
        try {{ readNumbers("outcome", told, spec); }}
        catch (error) {{ said = error.message; }}
        console.log(JSON.stringify(said));"""
    done = subprocess.run(
        [node, "-"], input=script, capture_output=True, text=True, check=True
    )
    said = None
    try:
        read_outcome(told, spec)
    except InvalidOutcomeError as error:
        said = str(error)
    assert json.loads(done.stdout) == said
    assert said is None or not names or "2 numbers (heat, count); got" in said


@pytest.mark.parametrize("value", [2, 100, -1, -5, 300, 359, 1e9, -1e30])
def test_an_answer_far_from_all_rows_is_strange_alike(value):
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    folder = Path(export.__file__).parent / "page"
    answers = TableAnswers(["mass"], [()], [(0,)], 1, ranges=[(2, 180)])
    text = (folder / "reading.js").read_text(encoding="utf-8")
    text += (folder / "guard.js").read_text(encoding="utf-8")
    cells = json.dumps(dataclasses.asdict(answers.cells))
    text += f"console.log(JSON.stringify(whyStrange({cells}, 0, [{value}])));"
    done = subprocess.run([node, "-"], input=text, capture_output=True, text=True)
    assert json.loads(done.stdout) == answers.why_strange(0, [value])


@pytest.mark.parametrize("noise", [1.5, None])
@pytest.mark.parametrize("digits", [1, 15])
@pytest.mark.parametrize("size", [1.0, 0.01, 5.0])
def test_repeats_are_strange_alike(noise, size, digits):
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    folder = Path(export.__file__).parent / "page"
    known = BestOfK().any_units()
    units = Units("%", noise=noise, matters=1.0)
    reading = known.reading(units, 3)
    noisy = 70.0 + size * np.random.default_rng(0).normal(0.0, 1.5, 12)
    told = [round(x, digits) for x in noisy.tolist()]
    history = [
        Answer(i % 3, np.asarray(reading.outcome(x, told[0]), np.float32), True, x)
        for i, x in enumerate(told)
    ]
    answers = [
        {"query": it.query, "outcome": it.outcome.tolist(), "told": it.told}
        for it in history
    ]
    given = json.dumps([dataclasses.asdict(known), dataclasses.asdict(units), answers])
    script = "\n".join(
        (folder / name).read_text(encoding="utf-8")
        for name in ("reading.js", "guard.js")
    )
    script += f"""
        const [known, units, answers] = {given};
        console.log(JSON.stringify(new Reading(known, units, 3).strangeNoise(answers)));
    """
    done = subprocess.run(
        [node, "-"], input=script, capture_output=True, text=True, check=True
    )
    found = reading.measured(history).strange
    assert json.loads(done.stdout) == found
    if digits > 1:  # coarse readings may well be the same
        assert (found is None) == (size == 1.0)
