"""The moving picture of an episode, read as XML."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from icpe.core.spec import TaskSpec
from icpe.evaluate.moving import Moment, moving_episode

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("oak & ash", "elm", "fir")
SPEC = TaskSpec(2, 3, outcome_size=1, horizon=4, hypothesis_names=NAMES)
MOMENTS = (
    Moment("first <query>", np.array([0.5, 0.25, 0.25])),
    Moment("second", np.array([0.1, 0.8, 0.1]), ("a map",)),
)


def drawn(spec=SPEC, moments=MOMENTS, **others):
    text = moving_episode(spec, moments, title="trees", answer=1, truth=1, **others)
    return ET.fromstring(text)


def bars(root):
    return [it for it in root.iter(f"{SVG}rect") if it.get("class") in ("bar", "right")]


def test_every_bar_ends_at_its_last_probability_and_passes_through_the_others():
    widths = [float(it.get("width", "nan")) for it in bars(drawn())]
    assert np.allclose(np.array(widths) / sum(widths), [0.1, 0.8, 0.1], atol=1e-3)
    moved = bars(drawn())[1].find(f"{SVG}animate")
    assert moved is not None
    values = [float(it) for it in moved.get("values", "").split(";")]
    seen = np.unique(np.round(np.array(values) / 300, 3))
    assert np.allclose(seen, [0.25, 0.333, 0.8], atol=1e-3)


def test_times_of_every_movement_rise_from_0_to_1_and_have_a_value_each():
    for moved in drawn().iter(f"{SVG}animate"):
        times = [float(it) for it in moved.get("keyTimes", "").split(";")]
        assert times == sorted(times) and times[0] == 0
        assert len(times) == len(moved.get("values", "").split(";"))
        if moved.get("calcMode") != "discrete":
            assert times[-1] == 1


def test_the_right_answer_and_the_last_words_are_seen_without_any_motion():
    root = drawn()
    assert [it.get("class") for it in bars(root)] == ["bar", "right", "bar"]
    at_rest = [it for it in root.iter(f"{SVG}g") if it.get("opacity") == "1"]
    words = " ".join("".join(it.itertext()) for it in at_rest)
    assert "Answer: elm, right, after 2 queries." in words
    assert "a map" in words and "first" not in words


def test_a_wrong_answer_is_said_to_be_wrong():
    text = moving_episode(SPEC, MOMENTS, title="trees", answer=1, truth=2)
    assert "Answer: elm; it was fir" in text


@pytest.mark.parametrize("number", [13, 300])
def test_many_hypotheses_are_columns_of_which_the_tallest_has_full_height(number):
    belief = np.full(number, 0.5 / (number - 1))
    belief[7] = 0.5
    spec = TaskSpec(2, number, outcome_size=1, horizon=4)
    text = moving_episode(spec, [Moment("x", belief)], title="many", answer=7)
    heights = [float(it.get("height", "nan")) for it in bars(ET.fromstring(text))]
    assert max(heights) == pytest.approx(184, abs=0.1)
    assert len(heights) == min(number, 128)


def test_uncovered_tiles_stay_where_they_belong():
    spec = TaskSpec(
        4, 2, outcome_size=4, horizon=2, outcome_shape=(2, 2), query_grid=(2, 2)
    )
    moments = [Moment("3", np.array([0.5, 0.5]), (), (3, np.array([0, 1, 0.5, 0])))]
    text = moving_episode(spec, moments, title="tiles", answer=0)
    white = [
        it
        for it in ET.fromstring(text).iter(f"{SVG}rect")
        if it.get("fill") == "#ffffff"
    ]
    corner = white[-1]  # the first is the background
    assert float(corner.get("x", "nan")) == pytest.approx(520 + 3 * 45)
    assert float(corner.get("y", "nan")) == pytest.approx(92 + 2 * 45)
