"""Rows that were learned from, in one way or another, are not counted as unseen."""

import numpy as np
import pytest

from icpe import Session, certify
from icpe.core.errors import InvalidParameterError, UnsupportedError
from icpe.families.table.law import CaseTable
from icpe.integrations.tables.fit import fit_table
from icpe.integrations.tables.reading import Column, columns_of
from icpe.integrations.tables.related_rows import copies, subject_columns
from icpe.integrations.tables.rows import prototypes, split_rows
from icpe.sklearn import ActiveClassifier
from support.small_tables import patients

RANDOM = np.random.default_rng(7)


def measurements(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that say nothing about their classes."""
    random = np.random.default_rng(3)
    return random.normal(size=(number, 3)), random.integers(0, 2, number)


def test_copies_are_found_where_chance_makes_none():
    rows, labels = measurements(60)
    twice = np.concatenate([rows, rows[:10]])
    found = copies(columns_of(twice), np.concatenate([labels, labels[:10]]))
    assert found.sum() == 10 and found[60:].all()
    # The same findings with another class are two cases.
    found = copies(columns_of(twice), np.concatenate([labels, 1 - labels[:10]]))
    assert not found.any()


def test_patients_with_the_same_few_symptoms_are_patients_of_their_own():
    rows = (RANDOM.random((400, 12)) < 0.1).astype(float)
    labels = RANDOM.integers(0, 2, 400)
    assert len(np.unique(rows, axis=0)) < 300
    assert not copies(columns_of(rows), labels).any()


def test_a_number_of_the_case_tells_copies_from_cases_alike():
    words = [f"w{i}" for i in np.random.default_rng(1).integers(0, 30, 100)]
    finding = Column("x", None, (*words, *words[:20]))
    ticket = Column("ticket", None, tuple(f"T{i % 100}" for i in range(120)))
    labels = np.tile([0, 1], 60)
    assert not copies([finding], labels).any()
    assert copies([finding], labels, [ticket]).tolist() == [False] * 100 + [True] * 20
    month = Column("month", None, tuple(f"2024-{i % 12 + 1}" for i in range(120)))
    assert not copies([finding], labels, [month]).any()
    with pytest.warns(UserWarning, match="20 of 120 rows are copies"):
        fit_table([finding], labels, ["a", "b"], beside=[ticket])


def test_a_table_that_was_pasted_twice_certifies_nothing_that_it_should_not():
    rows, labels = measurements(150)
    rows, labels = np.concatenate([rows, rows]), np.concatenate([labels, labels])
    classifier = ActiveClassifier(held_out=0.4)
    with pytest.warns(UserWarning, match="150 of 300 rows are copies"):
        artifact = classifier.fit(rows, labels).to_artifact()
    assert isinstance(artifact.family, CaseTable)
    assert len(artifact.family.held_out_labels) == 60
    certificate = certify(artifact, error_prob=0.3)
    # Each answer is right by chance: 60 rows pass with probability 2e-4.
    assert certificate.certified is False


def visits(number: int, each: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Patients with findings of their own, which have nothing to do with classes."""
    random = np.random.default_rng(5)
    patient = np.repeat(random.permutation(number), each)
    own = random.normal(size=(number, 3))
    classes = random.integers(0, 2, number)
    return (
        own[patient] + 0.05 * random.normal(size=(len(patient), 3)),
        classes[patient],
        patient,
    )


def test_rows_about_one_subject_are_held_out_together_and_count_once():
    _, labels, patient = visits(40, 5)
    split = split_rows(labels, 0.25, RANDOM, patient)
    assert not set(patient[split.held_out]) & set(patient[split.fit])
    assert len(set(patient[split.held_out])) == len(split.held_out) == 10
    assert len(split.fit) == 150


def test_of_every_class_a_subject_is_left_and_some_are_judged():
    subjects = np.repeat(np.arange(8), 4)
    labels = (subjects > 0).astype(int)
    cells = RANDOM.integers(1, 5, (len(labels), 3))
    for seed in range(20):
        random = np.random.default_rng(seed)
        found = prototypes(cells, labels, 2, 3, random, subjects)
        rows = found.rows[found.rows >= 0]
        assert len(found.judged) == 2 and set(labels[rows]) == {0, 1}
        assert not set(subjects[found.judged]) & set(subjects[rows])
    with pytest.raises(InvalidParameterError, match="the only one of some class"):
        prototypes(cells, subjects, 8, 3, RANDOM, subjects)


def test_subjects_are_not_recognized_by_their_other_rows():
    rows, labels, patient = visits(80, 4)
    whole = ActiveClassifier(held_out=0.4).fit(rows, labels)
    apart = ActiveClassifier(held_out=0.4).fit(rows, labels, subjects=patient)
    seen = certify(whole.to_artifact(), error_prob=0.3)
    unseen = certify(apart.to_artifact(), error_prob=0.3)
    # Visits are recognized by other visits, which is no diagnosis.
    assert seen.certified is True
    assert unseen.certified is False and unseen.episodes == 32
    # What was measured on rows with known siblings would be as wrong.
    table = apart.to_artifact().table
    assert table is not None
    assert max(row.accuracy for row in table.priced()) < 0.8


def test_a_column_of_subjects_is_pointed_out():
    rows, labels, patient = visits(60, 4)
    age = RANDOM.integers(20, 80, len(labels)) + 10 * labels
    table = np.column_stack([rows, patient, age])
    found = subject_columns(
        columns_of(table, ["a", "b", "c", "patient", "age"]), labels
    )
    assert found == ["patient"]
    with pytest.warns(UserWarning, match="'x3' seems to identify the subject"):
        fit_table(columns_of(table), labels, ["0", "1"])


def test_each_row_has_a_subject():
    rows, labels, patient = visits(20, 2)
    for wrong in (patient[1:], [None, *patient[1:]]):
        with pytest.raises(InvalidParameterError, match="one subject for each"):
            ActiveClassifier().fit(rows, labels, subjects=wrong)


def test_a_class_that_is_not_held_out_is_not_certified():
    rows, labels = measurements(80)
    labels[:2] = 2
    with pytest.warns(UserWarning, match="Class '2' has 2 of 80 rows"):
        artifact = ActiveClassifier().fit(rows, labels).to_artifact()
    with pytest.raises(UnsupportedError, match="No row of class '2' was held out"):
        certify(artifact, error_prob=0.3)


def test_what_is_known_of_all_rows_must_be_known_for_the_certificate_to_hold():
    artifact = ActiveClassifier(held_out=0.4).fit(*patients(200)).to_artifact()
    artifact = artifact.with_certificate(certify(artifact, error_prob=0.25))
    session = Session(artifact, error_prob=0.25)
    assert session.certified and session.ask() is not None
    while session.query_name == "fever":  # which has gaps in the table
        session.tell("fever", None)
        assert session.certified and session.ask() is not None
    name = session.query_name
    assert name is not None
    session.tell(name, None)
    assert session.certificate_lost == (
        f"{name} was not known; every row of the table has a value for it"
    )
