"""The demo runs from beginning to end, on explorers of the zoo."""

import re

import pytest

from icpe import zoo
from icpe.cli import demo


@pytest.mark.slow
def test_the_demo_goes_through_its_parts(icpe, monkeypatch):
    # The small one in all three parts, which compiles much faster.
    monkeypatch.setattr(demo, "_ARMS", demo._NUMBERS)
    monkeypatch.setattr(demo, "_RIVALS", ("uniform",))
    monkeypatch.setattr(demo, "_EPISODES", 64)
    called = icpe("demo")
    assert called.status == 0, called.err
    assert called.out.count("The answer:") == 2
    # Random guesses of numbers are never right with probability 0.9 in time.
    assert re.search(r"uniform +never", called.out)
    assert "icpe play binary-search-8" in called.out


def test_the_demo_starts_from_the_zoo():
    assert {demo._ARMS, demo._NUMBERS} <= set(zoo.names())


@pytest.mark.slow
def test_the_demo_solves_two_tasks_and_compares_three_explorers(icpe):
    called = icpe("demo")
    assert called.status == 0, called.err
    assert called.out.count("The answer:") == 2
    assert "which is right" in called.out
    found = re.search(
        r"At equal accuracy, .* saves (\d+) % .*interval (\d+) to (\d+) %", called.out
    )
    assert found is not None
    saving, low, high = map(int, found.groups())
    # About 32 % on many tasks; 2,000 tasks give it to within 3 % or so.
    assert low <= saving <= high and low < 40 and high > 24
    names = ("gaussian-bandit-4", "uniform", "top-two")
    assert all(name in called.out for name in names)
