"""What the recipe makes of a survey, and what it promises; names do not matter."""

import dataclasses

import jax.numpy as jnp
import pytest

from icpe.core.spec import TaskSpec
from icpe.families import NoisyBinarySearch, RandomTests, make
from icpe.learn import recipe as module
from icpe.learn.config import TrainConfig
from icpe.learn.given import operations_of
from icpe.learn.pilot import Pilot
from icpe.learn.recipe import outlook, preset, recipe
from icpe.learn.shape import net_config
from icpe.learn.survey import survey
from icpe.studies.gauntlet import HiddenNumber
from support.toy_tasks import TwoDoors

FAMILY = TwoDoors(0.8, 6)
PILOT = Pilot(
    thresholds=(0.6, 0.9),
    accuracy=(0.7, 0.9),
    mean_cost=(1.0, 12.0),
    mean_queries=(1.0, 12.0),
    at_horizon=0.88,
    before=0.5,
)


class Renamed(TwoDoors):
    """The same family under a name that nobody has heard of."""


@pytest.mark.parametrize("machine", ["cpu", "gpu"])
def test_a_family_under_another_name_gets_the_same_training(machine):
    known, unheard = FAMILY, Renamed(0.8, 6)
    config = recipe(machine, known)
    assert recipe(machine, unheard) == config == preset(machine, known)
    mine, theirs = (
        net_config(config, family.spec, survey(family)) for family in (known, unheard)
    )
    assert mine == theirs


@pytest.mark.slow
def test_a_family_written_anew_gets_the_same_training():
    """Noisy binary search twice; only names and what is drawn by chance differ."""
    ours = NoisyBinarySearch(size=5, noise=0.1, horizon=12)
    theirs = HiddenNumber(size=5, lies=0.1, horizon=12)
    assert recipe("gpu", ours) == recipe("gpu", theirs)
    one, other = (
        net_config(TrainConfig(), family.spec, survey(family))
        for family in (ours, theirs)
    )
    for name in ("summary", "tied_head", "predictions", "compares"):
        assert getattr(one, name) == getattr(other, name)


def found(**changes):
    return dataclasses.replace(survey(FAMILY), **changes)


def test_from_a_good_start_there_is_less_random_play():
    trusting = recipe("cpu", FAMILY, found(trust=1.0))
    doubting = recipe("cpu", FAMILY, found(trust=0.5))
    assert trusting.warmup_iterations < doubting.warmup_iterations
    assert trusting.exploration_anneal < doubting.exploration_anneal
    assert trusting.learning_rate < doubting.learning_rate


@pytest.mark.parametrize(
    ("trust", "steps"),
    # One and a half times the queries of the longest pilot, or half of the horizon.
    [(1.0, 18), (0.5, 50)],
)
def test_most_updates_look_at_the_beginning_of_long_episodes(trust, steps):
    long = TwoDoors(0.8, 100)
    config = recipe("gpu", long, found(trust=trust, pilot=PILOT))
    assert config.crop_steps == steps
    assert 0 < config.cropped_updates < config.updates_per_iteration
    assert recipe("gpu", FAMILY, found(trust=trust)).cropped_updates == 0


@pytest.fixture
def piloted(monkeypatch):
    """A first look that found this."""

    def look(pilot):
        monkeypatch.setattr(module, "survey", lambda *_: found(pilot=pilot))

    return look


def test_the_outlook_is_the_best_that_the_pilot_reached(piloted):
    piloted(PILOT)
    assert outlook(FAMILY, TrainConfig()) == (
        "With the 6 queries of the horizon, a simple rule gets about 0.900 of the "
        "answers right; training may get more."
    )


def test_where_all_answers_are_right_already_fewer_queries_are_hoped_for(piloted):
    piloted(dataclasses.replace(PILOT, at_horizon=1.0))
    assert outlook(FAMILY, TrainConfig()).endswith("training may need fewer queries.")


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (TwoDoors(0.8, 1), "With the 1 query of the horizon, "),
        (TwoDoors(0.8, 400), "With 128 of the 400 queries of the horizon, "),
        (RandomTests(num_conditions=3, num_tests=4), "With all 4 queries, "),
    ],
)
def test_the_outlook_says_with_how_many_queries(piloted, family, words):
    piloted(PILOT)
    sentence = outlook(family, TrainConfig(error_prob=0.01))
    assert sentence.startswith(words)
    assert ("a longer horizon" in sentence) is not family.spec.ask_once


class Known(TwoDoors):
    """The same with the law of its answers."""

    def log_likelihood(self, hypothesis, query, outcome):
        right = jnp.where(outcome[0] > 0.5, self.reliability, 1 - self.reliability)
        return jnp.log(jnp.where(query == 0, right, 0.5))


@pytest.mark.parametrize(("error_prob", "is_refused"), [(0.05, True), (0.2, False)])
def test_an_error_probability_out_of_reach_is_said_to_be(
    piloted, error_prob, is_refused
):
    piloted(PILOT)
    sentence = outlook(Known(0.8, 6), TrainConfig(error_prob=error_prob))
    words = f"An error probability of {error_prob} may be out of reach"
    assert (words in sentence) is is_refused


def test_a_rule_without_an_exact_posterior_cannot_say_what_is_out_of_reach(piloted):
    """Where the family's state matters, training goes far beyond it."""
    piloted(PILOT)
    sentence = outlook(FAMILY, TrainConfig(error_prob=0.05))
    assert "out of reach" not in sentence
    assert "Whether an error probability of 0.05 is within reach this rule" in sentence
    assert "reach" not in outlook(FAMILY, TrainConfig(error_prob=0.2))


class Mastermind(TwoDoors):
    """So many queries and hypotheses that no table holds all pairs."""

    @property
    def spec(self):
        return TaskSpec(1296, 1296, outcome_size=1, horizon=10)


def test_where_a_family_is_too_large_to_count_training_says_so(piloted):
    piloted(None)
    sentence = outlook(Mastermind(0.8, 6), TrainConfig())
    assert sentence.startswith("With 1296 hypotheses and 1296 queries there are too")
    assert "training starts from nothing" in sentence


def test_where_nothing_was_found_out_nothing_is_said(piloted):
    piloted(None)
    assert outlook(FAMILY, TrainConfig(error_prob=0.01)) == ""


def test_the_outlook_of_a_family_is_about_what_is_possible():
    """0.942 by six peeks; 512 episodes, five standard errors."""
    share = float(outlook(FAMILY, TrainConfig()).split("about ")[1].split(" of")[0])
    assert share == pytest.approx(0.942, abs=5 * 0.24 / 512**0.5)


def test_a_belief_that_is_too_slow_names_the_horizon_that_is_not(monkeypatch):
    family = make("network")
    belief, spec = family.exact_belief(), family.spec
    assert belief is not None
    each = operations_of(belief, spec) / (spec.horizon + 1)
    brief = dataclasses.replace(survey(family), given=None, pilot=PILOT)
    monkeypatch.setattr(module, "survey", lambda family, machine: brief)
    size = module.SIZES["cpu"]

    def said(longest):
        now = dataclasses.replace(size, slow_belief=(longest + 1.5) * each)
        monkeypatch.setattr(module, "SIZES", {"cpu": now, "gpu": now})
        return outlook(family, TrainConfig())

    # One and a half times the 12 queries of the pilot.
    assert "and with a horizon of 18 it is fast enough." in said(18)
    assert said(17).endswith("icpe rule makes an explorer of it without training.")
