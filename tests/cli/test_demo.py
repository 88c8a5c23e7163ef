"""The demo runs from beginning to end, on explorers of the zoo."""

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
    assert "Asking the right questions saves" in called.out
    assert "icpe play binary-search-8" in called.out
    assert called.out.count("certified with confidence 0.95") == 2


def test_the_demo_starts_from_the_zoo():
    assert {demo._ARMS, demo._NUMBERS} <= set(zoo.names())


@pytest.mark.slow
def test_the_demo_solves_two_tasks_and_compares_three_explorers(icpe):
    called = icpe("demo")
    assert called.status == 0, called.err
    assert called.out.count("The answer:") == 2
    assert "which is right" in called.out
    assert "Asking the right questions saves" in called.out
    names = ("gaussian-bandit-4", "uniform", "top-two")
    assert all(name in called.out for name in names)
    assert called.out.count("certified with confidence 0.95") == 2
