"""Answers that cannot all be true are noticed, and possible ones are not."""

import itertools

import numpy as np
import pytest

from icpe.families import BinarySearch, DeterministicBandit, GaussianBandit


def test_two_answers_about_a_number_contradict_when_no_number_fits_them(history_of):
    size = 3
    for pairs in itertools.product(
        itertools.product(range(size), (-1, 0, 1)), repeat=2
    ):
        fits = [
            all(np.sign(number - query) == sign for query, sign in pairs)
            for number in range(size)
        ]
        assert BinarySearch(size=size).contradicts(history_of(*pairs)) is not any(fits)


@pytest.mark.parametrize(
    "pairs, expected",
    [
        ([(0, 0.5), (1, 0.7), (0, 0.5)], False),
        ([(0, 0.5), (0, 0.6)], True),
        ([(0, 1.5)], True),
        ([], False),
    ],
)
def test_an_arm_without_noise_has_one_reward_between_0_and_1(
    pairs, expected, history_of
):
    assert DeterministicBandit().contradicts(history_of(*pairs)) is expected


def test_noise_makes_every_answer_possible(history_of):
    assert not GaussianBandit().contradicts(history_of((0, 99.0), (0, -99.0)))
