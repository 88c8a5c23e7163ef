"""Cases like the rows of a table: its law, its exact posterior, and its words."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.errors import InvalidOutcomeError, InvalidParameterError
from icpe.families.table import MISSING, CaseTable, TableAnswers
from icpe.testing import check_family


@pytest.fixture(scope="module")
def family():
    return CaseTable()


def probability_of(family, label, row, cells):
    """P(cells | row), feature by feature, by the definition."""
    kernel, own = np.asarray(family.kernel, float), np.asarray(family.cells)[label, row]
    return np.prod([kernel[f, own[f], cells[f]] for f in range(len(cells))])


def joint_by_enumeration(family):
    """P(class, all cells) by going through rows and cells."""
    weight = np.exp(np.asarray(family.log_weight, float))
    size = family.kernel.shape[1]
    return {
        (label, cells): sum(
            weight[label, row] * probability_of(family, label, row, cells)
            for row in range(weight.shape[1])
        )
        for label in range(len(family.classes))
        for cells in itertools.product(range(size), repeat=len(family.features))
    }


def test_it_keeps_the_contract_of_a_family(family):
    check_family(family)


def test_the_posterior_is_that_of_enumeration(family):
    joint = joint_by_enumeration(family)
    belief = family.exact_belief()
    for fever, cough in ((37.0, 1.0), (39.0, 2.0), (38.0, 1.0)):
        state = belief.init(jnp.zeros(1))
        for query, value in enumerate((fever, cough)):
            outcome = jnp.float32(value)[None]
            state = belief.update(state, jnp.asarray(query), outcome)
        cells = tuple(
            int(family.cells_of(jnp.array([f]), jnp.array([value]))[0])
            for f, value in enumerate((fever, cough))
        )
        wanted = np.array([joint[label, cells] for label in range(2)])
        found = np.exp(belief.log_posterior(state))
        np.testing.assert_allclose(found, wanted / wanted.sum(), rtol=1e-5)


def test_information_is_that_of_enumeration(family):
    joint = joint_by_enumeration(family)
    belief = family.exact_belief()
    gains = belief.information_gains(belief.init(jnp.zeros(1)))
    for feature in range(2):
        table = np.zeros((2, family.kernel.shape[1]))
        for (label, cells), chance in joint.items():
            table[label, cells[feature]] += chance
        apart = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
        seen = table > 0
        wanted = np.sum(table[seen] * np.log(table[seen] / apart[seen]))
        np.testing.assert_allclose(gains[feature], wanted, rtol=1e-4)


def test_cases_are_drawn_by_the_law(family, draw_tasks):
    """Each of 16 counts lies within 5 deviations, so false alarms are below 1e-5."""
    number = 20_000
    drawn = draw_tasks(family, number)
    joint = joint_by_enumeration(family)
    for (label, cells), chance in joint.items():
        if chance == 0:
            continue
        count = np.sum(
            (drawn.label == label) & (drawn.cells == np.array(cells)).all(axis=1)
        )
        spread = np.sqrt(number * chance * (1 - chance))
        assert abs(count - number * chance) <= 5 * spread + 1


def test_what_is_not_known_is_a_cell_of_its_own(family):
    cells = family.cells_of(jnp.array([0, 0, 0]), jnp.array([MISSING, -5.0, 99.0]))
    assert cells.tolist() == [0, 1, 3]


def test_a_step_shows_a_value_that_lies_in_the_cell_of_the_case(family):
    for key in jr.split(jr.key(1), 5):
        case = family.sample_task(key=key)
        for query in range(2):
            step = family.step(None, jnp.asarray(query), case, key=key)
            seen = family.cells_of(jnp.array([query]), step.outcome)
            assert int(seen[0]) == int(case.cells[query])


def test_a_group_reveals_all_its_features_and_updates_by_each(family):
    both = jax.tree.map(lambda leaf: leaf, family)
    grouped = CaseTable(
        groups=((0, 1),),
        query_names=("both",),
        horizon=1,
        codes=family.codes[:, :, :1],
        code_kernel=family.code_kernel[:1],
    )
    assert grouped.spec.outcome_size == 2
    single, several = both.exact_belief(), grouped.exact_belief()
    state = single.init(jnp.zeros(1))
    for query, value in ((0, 39.0), (1, 2.0)):
        state = single.update(state, jnp.asarray(query), jnp.float32(value)[None])
    at_once = several.update(
        several.init(jnp.zeros(2)), jnp.asarray(0), jnp.array([39.0, 2.0])
    )
    np.testing.assert_allclose(
        several.log_posterior(at_once), single.log_posterior(state), rtol=1e-5
    )


def test_parameters_that_do_not_fit_the_data_are_refused():
    with pytest.raises(InvalidParameterError, match="classes must have 2 entries"):
        CaseTable(classes=("a", "b", "c"))


@pytest.fixture
def answers():
    return TableAnswers(
        ("age", "color", "wbc"), ((), ("red", "Blue"), ()), ((0,), (1,), (0, 2)), 2
    )


def test_answers_are_numbers_words_or_nothing(answers):
    assert answers.read(0, "41.5") == (41.5, 0.0)
    assert answers.read(0, 41) == (41.0, 0.0)
    for nothing in (None, "", "  ", "missing", "NA", float("nan")):
        assert answers.read(0, nothing) == (pytest.approx(MISSING), 0.0)
    assert answers.read(1, "blue") == (2.0, 0.0)


def test_answers_about_a_group_come_by_name_or_in_order(answers):
    assert answers.read(2, {"wbc": 7.0, "age": 30}) == (30.0, 7.0)
    assert answers.read(2, [30, 7.0]) == (30.0, 7.0)
    assert answers.read(2, "30, 7") == (30.0, 7.0)
    assert answers.read(2, {"age": 30}) == (30.0, pytest.approx(MISSING))


def test_an_outcome_of_a_history_can_be_told_again(answers):
    once = np.array(answers.read(1, "red"), np.float32)
    assert answers.read(1, once) == tuple(once)


@pytest.mark.parametrize(
    ("query", "answer", "sentence"),
    [
        (0, "tall", "age must be a number, or empty if it is not known; got 'tall'."),
        (0, float("inf"), "age must be a number"),
        (
            1,
            "rod",
            "color cannot be 'rod'; did you mean 'red'? It must be one of red, Blue.",
        ),
        (2, [1.0], "Please give 2 values, for age, wbc; got"),
        (
            2,
            {"wbx": 1.0},
            "There is no 'wbx' to be told here; did you mean 'wbc'? Tell age, wbc.",
        ),
    ],
)
def test_answers_that_make_no_sense_are_refused_in_a_sentence(
    answers, query, answer, sentence
):
    with pytest.raises(InvalidOutcomeError) as caught:
        answers.read(query, answer)
    assert sentence in str(caught.value)


def test_outcomes_are_worded_as_they_are_answered(answers):
    assert answers.words(1, [2.0, 0.0]) == "Blue"
    assert answers.words(0, [MISSING, 0.0]) == "not known"
    assert answers.words(2, [30.0, 7.5]) == "age 30, wbc 7.5"
    assert "one of red, Blue" in answers.hint(1)
    assert answers.hint(0).startswith("a number")


def test_answers_are_read_in_the_units_of_the_table():
    answers = TableAnswers(
        ("pressure", "noise"), ((), ("none", "hum")), ((0,), (1,)), 1, units=("bar", "")
    )
    for typed in ("5.4", "5,4", "5,4 bar", 5.4, [5.4]):
        assert answers.read(0, typed) == (5.4,)
    assert answers.hint(0).startswith("a number in bar;")
    assert answers.words(0, [5.4]) == "5.4 bar"
    with pytest.raises(InvalidOutcomeError, match=r"a number in bar, .* '5400 mbar'"):
        answers.read(0, "5400 mbar")
    assert answers.read(1, "None") == (1.0,)
    assert answers.read(0, "none") == answers.read(0, "-") == (MISSING,)
    assert answers.read(1, "-") == (MISSING,)


def test_several_values_can_be_told_with_decimal_commas():
    answers = TableAnswers(("a", "b"), ((), ()), ((0, 1),), 2)
    assert answers.read(0, "1,5; 2") == (1.5, 2.0)
    assert answers.read(0, "1.5, 2") == (1.5, 2.0)


def test_it_is_known_when_nothing_is():
    answers = TableAnswers(("a", "b"), ((), ()), ((0, 1), (0,)), 2)
    assert answers.is_unknown(0, answers.read(0, ["", "?"]))
    assert not answers.is_unknown(0, answers.read(0, ["", "3"]))
    assert answers.is_unknown(1, answers.read(1, ""))


def test_units_belong_to_features():
    with pytest.raises(InvalidParameterError, match="units must have 2 entries"):
        CaseTable(units=("bar",))
