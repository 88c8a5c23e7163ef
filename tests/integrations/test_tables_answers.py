"""Answers are read as the column of the table was, or refused."""

import warnings

import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.core.errors import InvalidOutcomeError
from icpe.core.family import parameters
from icpe.families import CaseTable
from icpe.families.table.columns import TableAnswers
from icpe.integrations.tables.fit import fit_table
from icpe.integrations.tables.measured import make_artifact, operating_table
from icpe.integrations.tables.reading import columns_of, read_csv


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    """Platelets with points between thousands, lengths with decimal commas."""
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("answers") / "cases.csv"
    lines = ["platelets;length;visits;class"]
    for i in range(80):
        count = random.integers(10_137, 19_000) + 40_000 * (i % 2)
        whole = f"{count // 1000}.{count % 1000:03d}"
        length = f"{random.uniform(2, 180):.1f}".replace(".", ",")
        visits = random.integers(0, 9) + i % 2
        lines.append(f"{whole};{length};{visits};{'ill' if i % 2 else 'well'}")
    path.write_text("\n".join(lines), encoding="utf-8")
    columns, words = read_csv(path, "class")
    classes, labels = np.unique(words, return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platelets tell the class
        fitted = fit_table(columns, labels, [str(it) for it in classes])
    return make_artifact(fitted, operating_table(fitted), seed=0, seconds=0.0)


def test_a_typed_answer_is_the_number_that_it_is_in_the_table(artifact, tmp_path):
    artifact.save(tmp_path / "cases.safetensors")
    answers = Artifact.load(tmp_path / "cases.safetensors").family.answers()
    assert isinstance(answers, TableAnswers)
    assert answers.read(0, "14.000") == (14000.0,)
    assert answers.read(0, "<14.000")[0] == pytest.approx(14000, rel=1e-5)
    assert answers.read(1, "1,234") == (1.234,)
    assert answers.read(1, "1.234") == (1234.0,)
    with pytest.raises(InvalidOutcomeError, match=r"1\.234 may be 1\.2340 or 1234"):
        answers.read(2, "1.234")
    assert answers.read(2, "1.2340") == (1.234,)
    assert answers.read(2, 14.0) == (14.0,)


def test_a_family_made_before_marks_were_kept_refuses_what_may_be_two(artifact):
    kept = parameters(artifact.family)
    assert kept["marks"][:2] == (",.", ",.") and len(kept["ranges"]) == 3
    with pytest.raises(InvalidOutcomeError, match="may be"):
        CaseTable().answers().read(0, "14.000")


def test_columns_of_python_numbers_take_a_point_and_refuse_a_comma():
    column = columns_of(np.array([[1.5], [2.0]]))[0]
    answers = TableAnswers(["x"], [()], [(0,)], 1, marks=[column.marks])
    assert answers.read(0, "1.234") == (1.234,)
    with pytest.raises(InvalidOutcomeError, match="may be"):
        answers.read(0, "1,234")
    assert columns_of(np.array([[1], [2]]))[0].marks == ""


@pytest.mark.parametrize("value", [-5, 15_000, 1e9])
def test_an_answer_far_from_every_row_is_strange(artifact, value):
    why = artifact.family.answers().why_strange(0, (value,))
    assert (why is None) is (value == 15_000)
    assert why is None or "where the rows of the table have " in why
