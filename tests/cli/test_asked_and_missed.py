"""What is said where more was asked for than there is, or where answers never vary."""

from icpe.core.family import AbstractTaskFamily
from icpe.families import BinarySearch, GaussianBandit
from icpe.learn.recipe import without_noise


def test_an_error_probability_that_was_missed_is_named(icpe):
    words = "evaluate uniform --family noisy-binary-search --family.size 8"
    called = icpe(f"{words} --family.horizon 3 --error-prob 0.1 --episodes 200")
    assert called.status == 0, called.err
    text = " ".join(called.out.split())
    assert "uniform: an error probability of 0.1 was asked for; 0." in text
    assert "there was nothing left to ask, so it may be out of reach." in text


def test_one_that_was_kept_is_not(icpe):
    called = icpe("evaluate information-gain --family binary-search --error-prob 0.1")
    assert "was asked for" not in called.out


def test_answers_that_never_vary_are_pointed_out():
    noisy: AbstractTaskFamily = GaussianBandit(num_arms=2, horizon=4)
    assert without_noise(noisy) == ""
    assert "use the key that step is given" in without_noise(BinarySearch(size=4))
