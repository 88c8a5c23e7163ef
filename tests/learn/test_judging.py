"""A judge sees the networks after every chunk; what it says is what happens."""

import dataclasses
import json

import jax
import pytest

from icpe.core.progress import AbstractProgress
from icpe.explorers.neural.networks import ExplorerNets
from icpe.learn.fit import FitOptions, Situation, Verdict, fit
from support.toy_tasks import TwoDoors

pytestmark = pytest.mark.usefixtures("optax_dtypes")
FAMILY = TwoDoors(horizon=3)


class Judge:
    """Gives prepared verdicts by iteration, and keeps what it was told."""

    def __init__(self, verdicts):
        self.verdicts, self.heard = verdicts, []

    def __call__(self, at, nets):
        assert isinstance(nets, ExplorerNets) and nets.predictions is not None
        self.heard.append(at)
        return self.verdicts.get(at.done)


class Notes(AbstractProgress):
    def __init__(self):
        self.totals, self.notes = [], []

    def start(self, label, total):
        self.totals.append(total)

    def advance(self, amount):
        pass

    def note(self, text):
        self.notes.append(text)

    def finish(self):
        pass


def test_training_ends_when_it_is_enough_and_is_complete(whole_config):
    judge = Judge({4: Verdict(is_enough=True, reason="it is good")})
    result = fit(FAMILY, whole_config, judge=judge)
    assert judge.heard == [Situation(2, 6), Situation(4, 6)]
    assert (result.iterations, result.stopped, result.ended) == (4, None, "it is good")


def test_without_a_word_all_iterations_are_made(whole_config):
    result = fit(FAMILY, whole_config, judge=Judge({}))
    assert (result.iterations, result.ended) == (6, "all iterations were made")


@pytest.mark.parametrize("finish", [4, 7])
def test_the_end_is_brought_forward_or_put_off(whole_config, finish):
    judge = Judge({2: Verdict(finish=finish)})
    progress = Notes()
    result = fit(FAMILY, whole_config, judge=judge, progress=progress)
    assert result.iterations == finish
    assert progress.totals == [6, finish]
    assert judge.heard[-1] == Situation(finish, finish)


def test_values_are_kept_over_an_interruption_with_the_end(whole_config, tmp_path):
    options = FitOptions(checkpoint=tmp_path / "checkpoint", time_limit=0.0)
    first = Judge({2: Verdict(value=0.5, finish=8)})
    assert fit(FAMILY, whole_config, options, judge=first).stopped == "time limit"
    options = dataclasses.replace(options, resume=True, time_limit=600.0)
    later = Judge({4: Verdict(value=0.25), 6: Verdict(value=0.75)})
    result = fit(FAMILY, whole_config, options, judge=later)
    assert later.heard == [
        Situation(4, 8, (0.5,)),
        Situation(6, 8, (0.5, 0.25)),
        Situation(8, 8, (0.5, 0.25, 0.75)),
    ]
    assert result.iterations == 8


def test_what_is_said_is_shown_and_recorded(whole_config, tmp_path):
    judge = Judge({4: Verdict(note="0.9 with 2 queries", record={"accuracy": [0.9]})})
    progress, metrics = Notes(), tmp_path / "metrics.jsonl"
    options = FitOptions(metrics=metrics)
    fit(FAMILY, whole_config, options, judge=judge, progress=progress)
    assert progress.notes[1] == "0.9 with 2 queries"
    assert all(note.startswith("loss ") for note in progress.notes[::2])
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    judged = [line.get("judged") for line in lines]
    assert judged == [None, {"accuracy": [0.9]}, None]


def test_a_judge_does_not_change_what_is_learned(whole_config):
    alone, judged = (
        jax.tree.leaves(fit(FAMILY, whole_config, judge=judge).nets)
        for judge in (None, Judge({2: Verdict(value=0.5)}))
    )
    assert all((a == b).all() for a, b in zip(alone, judged, strict=True))
