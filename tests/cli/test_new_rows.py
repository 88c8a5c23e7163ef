"""An explorer made from a table, on rows of a file that it has never seen."""

import csv
import json

import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.cli.main import main
from icpe.deploy import Session

HEADER = ["id", "temp", "crp", "rash", "diagnosis"]
CLASSES = {"viral": (37.8, 12), "bacterial": (38.9, 80), "other": (37.0, 5)}


def rows_of(number: int, seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(number):
        name = rng.choice(list(CLASSES), p=[0.6, 0.28, 0.12])
        temp, crp = CLASSES[name]
        fever = f"{rng.normal(temp, 0.5):.1f}".replace(".", ",")
        protein = f"{max(0.1, rng.normal(crp, 8)):.1f}".replace(".", ",")
        rash = "yes" if rng.random() < (0.8 if name == "other" else 0.1) else "no"
        rows.append([str(i), f"{fever} °C", protein, rash, str(name)])
    return rows


def write(path, rows, header=HEADER):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows([header, *rows])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("rows")
    write(found / "past.csv", rows_of(240, 0))
    made = ["train-table", str(found / "past.csv"), "--target", "diagnosis"]
    assert main([*made, "--out", str(found / "made.safetensors"), "--json"]) == 0
    return found


def evaluated(folder, name: str, *more: str) -> int:
    asked = ["--error-prob", "0.2"] if "--budget" not in more else []
    file = str(folder / "made.safetensors")
    return main(["evaluate", file, "--rows", str(folder / name), *asked, *more])


def test_it_is_right_where_sessions_about_the_rows_are(folder, capsys):
    rows = rows_of(60, 1)
    write(folder / "new.csv", rows)
    assert evaluated(folder, "new.csv", "--budget", "2", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    artifact = Artifact.load(folder / "made.safetensors")
    right = 0
    for row in rows:
        case, session = dict(zip(HEADER, row, strict=True)), Session(artifact, budget=2)
        while (name := session.query_name) is not None:
            session.tell(name, case[name])
        right += session.recommendation_name == case["diagnosis"]
    assert report["episodes"] == 60
    assert report["accuracy"] == pytest.approx(right / 60)


def test_it_says_what_the_rows_show(folder, capsys):
    rows = rows_of(100, 2)
    write(folder / "new.csv", [row[::-1] for row in rows], HEADER[::-1])
    assert evaluated(folder, "new.csv") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Right by class: bacterial " in text
    assert "By these rows alone the error probability is 0." in text
    changed = {"viral": "other", "other": "bacterial", "bacterial": "viral"}
    wrong = [[*row[:4], changed[row[4]]] for row in rows]
    write(folder / "wrong.csv", wrong)
    assert evaluated(folder, "wrong.csv") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "more than 0.2. So these rows are not like those of the table" in text


def test_the_rows_of_the_certificate_are_no_new_evidence(folder, capsys):
    file = str(folder / "made.safetensors")
    assert main(["evaluate", file, "--error-prob", "0.2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "a certificate and this are the same evidence" in text


def test_rows_unlike_all_others_are_counted(folder, capsys):
    rows = rows_of(20, 3)
    rows[0][1] = "395 °C"
    write(folder / "new.csv", rows)
    assert evaluated(folder, "new.csv") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "1 row is unlike all rows of the table, in temp (1): a session" in text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({4: "virl"}, "line 4 of {path}: there is no class 'virl'; did you mean"),
        ({2: "high"}, "line 4 of {path}: crp must be a number"),
        ({3: "perhaps"}, "line 4 of {path}: rash cannot be 'perhaps'"),
    ],
)
def test_a_cell_that_is_none_of_the_tables_is_named(folder, capsys, change, sentence):
    rows = rows_of(10, 4)
    for place, value in change.items():
        rows[2][place] = value
    path = write(folder / "bad.csv", rows)
    assert evaluated(folder, "bad.csv") == 2
    assert sentence.format(path=path) in capsys.readouterr().err


def test_other_mistakes_are_answered_in_a_sentence(folder, capsys):
    write(
        folder / "few.csv",
        [row[:3] + row[4:] for row in rows_of(5, 5)],
        [*HEADER[:3], *HEADER[4:]],
    )
    assert evaluated(folder, "few.csv") == 2
    assert "no column 'rash', which the explorer asks for" in capsys.readouterr().err
    write(folder / "new.csv", rows_of(5, 5))
    assert evaluated(folder, "new.csv", "--target", "diagnose") == 2
    assert "did you mean 'diagnosis'?" in capsys.readouterr().err
    words = ["evaluate", "gaussian-bandit-4", "--rows", str(folder / "new.csv")]
    assert main([*words, "--error-prob", "0.1"]) == 2
    assert "made by icpe train-table" in capsys.readouterr().err
    assert main([words[0], "top-two", *words[1:], "--error-prob", "0.1"]) == 2
    assert "--rows is for one explorer" in capsys.readouterr().err
