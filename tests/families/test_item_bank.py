"""Adaptive tests from a bank: the response models, and the rules of that field."""

import catsim.irt
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import icpe
from icpe.core.errors import IcpeError
from icpe.families import from_item_bank, make
from icpe.testing import check_family
from icpe.theory.item_response import Items, answer_probabilities, fisher_information

BANK = """item,a,b,b1,b2,c,content
one,1.2,-0.8,,,,m
two,0.9,0.4,,,0.2,m
three,1.5,0.0,,,0.25,m
four,0.8,,-0.5,1.1,,n
"""


@pytest.fixture
def bank(tmp_path):
    def write(text=BANK):
        path = tmp_path / "bank.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.slow
def test_it_keeps_its_contract(bank):
    check_family(from_item_bank(bank(), [-0.3, 0.5], content_limits={"m": 2}))
    check_family(make("item-bank"))


def test_the_models_are_those_of_catsim():
    """Probabilities and information of three-parameter items, by another library."""
    random = np.random.default_rng(0)
    slope, place = random.uniform(0.5, 2.0, 8), random.normal(size=8)
    guess = random.uniform(0.0, 0.3, 8)
    items = Items(slope, place[:, None], guess)
    for ability in (-2.0, -0.3, 0.0, 1.4):
        chances = answer_probabilities(items, np.array([ability]))[0, :, 1]
        told = fisher_information(items, np.array([ability]))[0]
        for i in range(8):
            parameters = (slope[i], place[i], guess[i], 1.0)
            assert chances[i] == pytest.approx(catsim.irt.icc(ability, *parameters))
            assert told[i] == pytest.approx(catsim.irt.inf(ability, *parameters))


def test_grades_are_those_of_samejima(bank):
    """By differences of two logistic curves, and P(answer >= 1) at its difficulty."""
    family = from_item_bank(bank(), 0.0)
    chances = answer_probabilities(family.items(), np.array([-0.5]))[0, 3]
    above = [1 / (1 + np.exp(-0.8 * (-0.5 - b))) for b in (-0.5, 1.1)]
    np.testing.assert_allclose(chances, [0.5, above[0] - above[1], above[1]], atol=1e-6)
    assert family.spec.query_outcomes[3] == ("0", "1", "2")
    assert family.spec.query_outcomes[0] == ("wrong", "right")


def test_the_posterior_is_an_integral(bank, posterior_after):
    """By adaptive integration over the ability, which knows no cells."""
    family = from_item_bank(bank(), [-0.3, 0.5], mean=0.2, deviation=1.1)
    found = posterior_after(family, (1, 1.0), (3, 1.0))

    def weight(ability):
        chances = answer_probabilities(family.items(), np.array([ability]))[0]
        return chances[1, 1] * chances[3, 1] * norm.pdf(ability, 0.2, 1.1)

    parts = [quad(weight, *ends)[0] for ends in ((-8, -0.3), (-0.3, 0.5), (0.5, 8))]
    np.testing.assert_allclose(found, np.array(parts) / sum(parts), atol=2e-3)


def test_answers_follow_the_model(bank, draw_outcomes):
    """Of 20,000 answers, by 5 standard errors: a false alarm has probability 2e-6."""
    family = from_item_bank(bank(), 0.0)
    found = draw_outcomes(family, jnp.float32(0.3), 3, 20_000)[:, 0]
    chances = answer_probabilities(family.items(), np.array([0.3]))[0, 3]
    for grade, chance in enumerate(chances):
        error = np.sqrt(chance * (1 - chance) / 20_000)
        assert abs((found == grade).mean() - chance) < 5 * error


def test_content_limits_are_masks(bank):
    family = from_item_bank(bank(), 0.0, content_limits={"m": 1}, bands=["no", "yes"])
    greedy = icpe.make_explorer("information-gain", family)
    session = icpe.Session(greedy, family, budget=3)
    session.tell("two", "right")
    with pytest.raises(IcpeError, match="those allowed are four"):
        session.tell("one", "right")
    session.tell("four", 2)
    assert session.stopped and session.recommendation_name == "yes"


def test_the_rules_of_the_field_serve_every_test_of_items():
    family = make("item-bank")
    names = ("maximum-information", "sprt", "curtailed-sprt", "fixed-form")
    for name in names:
        session = icpe.Session(icpe.make_explorer(name, family), family, error_prob=0.2)
        while (item := session.ask()) is not None:
            session.tell(item, "right")
        assert session.recommendation_name == "band 2", name
    assert set(names) <= set(icpe.explorers.explorers_for(make("adaptive-test")))


def test_the_sprt_stops_where_wald_says(bank):
    """By hand: the sum of log ratios at the cut plus and minus the indifference."""
    family = from_item_bank(
        bank("item,a,b\n" + "".join(f"i{k},2,0\n" for k in range(9))), 0
    )
    session = icpe.Session(
        icpe.make_explorer("sprt", family, indifference=0.5), family, error_prob=0.1
    )
    step = np.log((1 + np.exp(1.0)) / (1 + np.exp(-1.0)))
    needed = int(np.ceil(np.log(9) / step))
    for _ in range(needed):
        assert not session.stopped
        item = session.ask()
        assert item is not None
        session.tell(item, "wrong")
    assert session.stopped and session.recommendation == 0


@pytest.mark.parametrize(
    "change, complaint",
    [
        (("one,1.2", "one,-1.2"), "line 2: the discrimination a must be positive"),
        (("two,", "one,"), "line 3 repeats item 'one'"),
        (("-0.5,1.1", "1.5,1.1"), "line 5: the grades b1, b2 must rise"),
        (("0.4,,,0.2", "0.4,,,1.2"), "line 3: the probability c of guessing"),
        (("0.4,,,0.2", ",,,0.2"), "line 3: an item has a difficulty b"),
        (("1.1,,n", "1.1,0.2,n"), "line 5: a graded item cannot be guessed"),
        (("item,a,b,", "item,a,d,"), "column 'd'"),
    ],
)
def test_a_bad_bank_is_refused_with_its_line(bank, change, complaint):
    before, after = change
    assert before in BANK
    with pytest.raises(IcpeError, match=complaint):
        from_item_bank(bank(BANK.replace(before, after, 1)), 0.0)


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ({"cuts": [0.5, 0.1]}, "cuts must rise"),
        ({"cuts": []}, "one or more numbers"),
        ({"max_items": 0}, "max_items must be at least 1"),
        ({"content_limits": {"x": 1}}, "'x', which no item is about"),
        ({"deviation": 0.0}, "deviation must be a positive"),
    ],
)
def test_bad_arguments_are_refused(bank, arguments, complaint):
    with pytest.raises(IcpeError, match=complaint):
        from_item_bank(**{"bank": bank(), "cuts": 0.0} | arguments)
