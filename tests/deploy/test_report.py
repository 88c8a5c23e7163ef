"""Reports: complete, readable, and checked bit for bit."""

import copy
import csv
import io
import json

import pytest

from icpe.cli.main import main
from icpe.core.errors import InvalidParameterError
from icpe.deploy import open_session
from icpe.deploy.memory import MemoryStorage
from icpe.deploy.report import read_report, report_problems
from icpe.deploy.report_html import report_page
from icpe.families import BinarySearch, CaseTable
from support.exports import ruled
from support.service_models import small_bandit

ODD_WORDS = CaseTable(levels=((), ("no", "=now()")))


@pytest.fixture(scope="module")
def session():
    session = open_session(small_bandit(), storage=MemoryStorage(), id="t", budget=6)
    session.tell(session.ask(1)[0], 0.3)
    first, second = session.ask(2)
    session.tell(second, -0.2)
    session.undo()
    session.skip(first)
    while (query := session.ask()) is not None:
        session.tell(query, 0.7)
    return session


@pytest.fixture(scope="module")
def report(session):
    return json.loads(json.dumps(session.report(), allow_nan=False))


@pytest.fixture
def model(tmp_path):
    file = tmp_path / "model.safetensors"
    small_bandit().save(file)
    return str(file)


def test_a_report_comes_out_again_bit_for_bit(session, report):
    assert report_problems(read_report(report), session._rules) == []
    assert report["steps"][-1]["posterior"] == session.posterior.tolist()
    assert len(report["steps"]) == 7
    assert report["result"]["stop_reason"] == "budget"
    assert len(report["events"]) == len(session.events)


def test_the_command_says_so(report, model, tmp_path, capsys):
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report))
    assert main(["replay", str(file), "--model", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True
    assert main(["replay", str(file), "--model", model]) == 0
    assert "The same, bit for bit" in capsys.readouterr().out
    assert main(["replay", str(file)]) == 2
    assert "--model is missing" in capsys.readouterr().err
    assert main(["replay", str(file), "--model", "gaussian-bandit-4"]) == 2
    assert "belongs to the artifact" in capsys.readouterr().err


def forged(report, change):
    """A changed report whose digest fits again."""
    from icpe.artifact.certificate import digest

    other = copy.deepcopy(report)
    change(other)
    other.pop("digest")
    return {**other, "digest": digest(other)}


def another_belief(report):
    report["steps"][3]["posterior"][0] *= 1 + 1e-7


def another_answer(report):
    event = next(it for it in report["events"] if it["kind"] == "told")
    event["body"]["outcome"] = [0.8]


def another_question(report):
    event = next(it for it in report["events"] if it["kind"] == "asked")
    event["body"]["queries"] = [(event["body"]["queries"][0] + 1) % 3]


def another_end(report):
    report["result"]["recommendation"] = (report["result"]["recommendation"] + 1) % 3


def an_earlier_stop(report):
    stopped = {"reason": "explorer", "recommendation": 0}
    report["events"][3] |= {"kind": "stopped", "body": stopped}


@pytest.mark.parametrize(
    "change",
    [another_belief, another_answer, another_question, another_end, an_earlier_stop],
    ids=lambda it: it.__name__,
)
def test_a_forged_report_is_found(session, report, change):
    assert report_problems(read_report(forged(report, change)), session._rules)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": "icpe session report"}', "[" * 100_000, "\x00"]
)
def test_what_is_no_report_is_one_sentence(text, tmp_path, capsys):
    file = tmp_path / "report.json"
    file.write_text(text)
    assert main(["replay", str(file)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_changed_report_is_noticed_by_its_digest(report):
    changed = {**report, "session": "other"}
    with pytest.raises(InvalidParameterError, match="has changed"):
        read_report(changed)


def test_the_page_shows_answer_and_reasons_and_escapes_what_people_wrote(report):
    page = report_page({**report, "session": "<script>alert(1)</script>"})
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "The budget of queries was used up, after 6 answers" in page
    assert "Not certified" in page and "http" not in page.replace("http-equiv", "")


def test_the_table_has_one_row_for_each_answer(session):
    head, *rows = csv.reader(io.StringIO(session.answers_csv()))
    assert head[-1] == "reward" and {len(row) for row in rows} == {len(head)}
    assert len(rows) == sum(event.kind == "told" for event in session.events)
    told = [dict(zip(head, row, strict=True)) for row in rows]
    assert [it["answer"] for it in told] == [str(i + 1) for i in range(len(rows))]
    assert [it["counts"] for it in told].count("no") == 1
    assert [it["reward"] for it in told[:2]] == ["0.3", "-0.2"]


@pytest.mark.parametrize(
    ("family", "told", "column", "shown"),
    [
        (CaseTable(), (37.5, None), "outcome", ["37.5", "not known"]),
        (ODD_WORDS, (-3, "=now()"), "outcome", ["-3", "'=now()"]),
        (BinarySearch(size=8), ("higher", -1.0), "outcome", ["higher", "lower"]),
    ],
    ids=["table", "formula", "words"],
)
def test_the_table_has_words_where_people_answer_in_words(family, told, column, shown):
    explorer = ruled(family, "information-gain")
    session = open_session(explorer, storage=MemoryStorage(), id="w", budget=2)
    for query, answer in enumerate(told):
        session.tell(query, answer)
    rows = list(csv.DictReader(io.StringIO(session.answers_csv())))
    assert [row[column] for row in rows] == shown
    report = json.loads(json.dumps(session.report(), allow_nan=False))
    words = [word.removeprefix("'") for word in shown]
    assert [step["words"] for step in report["steps"][1:]] == words
    assert report_problems(read_report(report), session._rules) == []
    page = report_page(report)
    assert all(f"<td>{word}</td>" in page for word in words) and "e+30" not in page
