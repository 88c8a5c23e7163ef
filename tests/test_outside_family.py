"""A family with belief, limits and a picture, added from outside by one line."""

import sys

import numpy as np
import pytest

from icpe.cli.main import main
from icpe.families import registry
from icpe.testing import check_family

MODULE = '''
import icpe
import jax.numpy as jnp
import jax.random as jr


class Doors(icpe.AbstractTaskFamily):
    """A prize is behind one of several doors; each can be opened once."""

    num_doors: int = icpe.parameter(4, "how many doors there are")

    @property
    def spec(self):
        n = self.num_doors
        return icpe.TaskSpec(n, n, outcome_size=1, horizon=n, ask_once=True)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, self.num_doors)

    def reset(self, task, *, key):
        return icpe.plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        return icpe.plain_step(self.spec, jnp.float32(query == task)[None])

    def hypothesis(self, task):
        return task

    def log_likelihood(self, hypothesis, query, outcome):
        same = (query == hypothesis) == (outcome[0] > 0.5)
        return jnp.where(same, 0.0, -jnp.inf)

    def known_limits(self, error_prob, *, key):
        n = self.num_doors
        return {"mean_queries": (n + 1) / 2 - 1 / n, "max_queries": n - 1}

    def episode_picture(self, history):
        opened = set(history.queries[: int(history.length)].tolist())
        return ("".join("." if d in opened else "#" for d in range(self.num_doors)),)


icpe.register("doors", Doors)
'''


@pytest.fixture
def doors(tmp_path, monkeypatch):
    (tmp_path / "doors.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
    yield
    sys.modules.pop("doors", None)


def test_it_conforms_and_gains_everything_that_ours_have(doors, capsys):
    assert main(["bounds", "doors", "--import", "doors"]) == 0
    assert "max queries   3" in capsys.readouterr().out
    check_family(registry.make("doors"))
    words = "evaluate uniform information-gain --family doors --import doors"
    assert main(f"{words} --error-prob 0.01 --episodes 400 --json".split()) == 0
    import json

    reports = json.loads(capsys.readouterr().out.splitlines()[-1])
    for report in reports:
        assert report["accuracy"] == 1.0 and report["max_queries"] == 3
        # The mean of 1, 2, 3, 3 with standard deviation 0.83: five errors.
        assert abs(report["mean_queries"] - 2.25) < 5 * 0.83 / np.sqrt(400)


def test_it_is_drawn_and_played_by_a_person(doors, capsys, monkeypatch):
    play = "play uniform --family doors --import doors --budget 4"
    assert main(play.split()) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    pictures = [line for line in lines if line and set(line) <= {"#", "."}]
    assert [line.count(".") for line in pictures] == [1, 2, 3, 4]
    monkeypatch.setattr("builtins.input", lambda prompt="": "0")
    assert main([*play.split(), "--human"]) == 0
    asked = [line for line in capsys.readouterr().out.splitlines() if "Query " in line]
    assert len(asked) == len(set(asked)) == 4
