"""Answers that cannot all be true are noticed, and possible ones are not."""

import itertools

import numpy as np
import pytest

from icpe.cli.contradictions import contradict
from icpe.cli.episode import Turn
from icpe.families import BinarySearch, DeterministicBandit, GaussianBandit


def turns_of(*pairs):
    return [
        Turn(i + 1, query, np.array([outcome], np.float32), None)
        for i, (query, outcome) in enumerate(pairs)
    ]


def test_two_answers_about_a_number_contradict_when_no_number_fits_them():
    size = 3
    for pairs in itertools.product(
        itertools.product(range(size), (-1, 0, 1)), repeat=2
    ):
        fits = [
            all(np.sign(number - query) == sign for query, sign in pairs)
            for number in range(size)
        ]
        assert contradict(BinarySearch(size=size), turns_of(*pairs)) is not any(fits)


@pytest.mark.parametrize(
    "pairs, expected",
    [
        ([(0, 0.5), (1, 0.7), (0, 0.5)], False),
        ([(0, 0.5), (0, 0.6)], True),
        ([(0, 1.5)], True),
        ([], False),
    ],
)
def test_an_arm_without_noise_has_one_reward_between_0_and_1(pairs, expected):
    assert contradict(DeterministicBandit(), turns_of(*pairs)) is expected


def test_noise_makes_every_answer_possible():
    assert not contradict(GaussianBandit(), turns_of((0, 99.0), (0, -99.0)))
