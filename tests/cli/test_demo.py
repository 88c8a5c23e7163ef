"""The demo runs from beginning to end."""

import pytest

from icpe.cli import demo
from icpe.tasks import DeterministicBandit


def test_the_demo_goes_through_its_parts(icpe, monkeypatch):
    # Without noise the posterior is a formula, which compiles much faster.
    monkeypatch.setattr(demo, "_bandit", lambda: DeterministicBandit(num_arms=3))
    monkeypatch.setattr(demo, "_EPISODES", 64)
    called = icpe("demo")
    assert called.status == 0
    assert called.out.count("The answer:") == 2
    assert "Asking the right questions saves" in called.out


@pytest.mark.slow
def test_the_demo_solves_two_tasks_and_compares_two_explorers(icpe):
    called = icpe("demo")
    assert called.status == 0
    assert called.out.count("The answer:") == 2
    assert "which is right" in called.out
    assert "Asking the right questions saves" in called.out
    assert all(name in called.out for name in ("uniform", "top-two"))
