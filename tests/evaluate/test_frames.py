"""Episodes on pictures: canvas, strip, animation, and their figures."""

import numpy as np
import pytest
from PIL import Image

from icpe.core.errors import InvalidParameterError, UnsupportedError
from icpe.evaluate.frames import (
    Frame,
    PictureEpisode,
    picture_of,
    save_animation,
    strip_figure,
)
from icpe.families import Patches, TwoPullBandit
from icpe.studies.statistics.adaptivity_plots import (
    chord_figure,
    heat_map_figure,
    num_chords,
    num_tests,
)
from icpe.studies.statistics.regions import num_distinct

P_VALUES = np.array(
    [[np.nan, 0.2, 0.01], [0.2, np.nan, np.nan], [0.01, np.nan, np.nan]]
)
SPEC = Patches(images="drawn-digits", patch_size=14).spec


def episode():
    beliefs = [np.eye(10)[3] * 0.5 + 0.05, np.eye(10)[7]]
    outcomes = [np.full(196, 1.0), np.full(196, 0.5)]
    steps = (Frame(2, outcomes[0], beliefs[0]), Frame(1, outcomes[1], beliefs[1]))
    return PictureEpisode(SPEC, steps, truth=7)


def test_the_canvas_shows_what_was_seen_where_it_lies():
    canvas = episode().canvas(1)
    assert (canvas[14:, :14] == 1.0).all()
    assert np.isnan(canvas[:14]).all() and np.isnan(canvas[14:, 14:]).all()
    assert (episode().canvas(2)[:14, 14:] == 0.5).all()


def test_hidden_tiles_are_blue_and_seen_ones_gray():
    picture = picture_of(episode(), 2)
    red, green, blue = picture[0, 0]
    assert blue > green > red
    assert picture[20, 3].tolist() == [255] * 3
    assert picture[3, 20].tolist() == [128] * 3


def test_frames_need_a_picture():
    with pytest.raises(UnsupportedError, match="tiles of a picture"):
        PictureEpisode(TwoPullBandit().spec, (), 0)


def test_the_strip_has_a_frame_for_every_step_and_the_belief_below():
    figure = strip_figure(episode(), columns=2)
    drawn = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in drawn] == ["start", "patch 1", "patch 2"]
    assert drawn[1].get_xlabel().startswith("3 0.55")
    assert drawn[2].get_xlabel().startswith("7 1.00")


def test_the_animation_has_a_frame_for_every_step(tmp_path):
    path = tmp_path / "episode.gif"
    save_animation(episode(), path, scale=2, milliseconds=100)
    with Image.open(path) as image:
        assert getattr(image, "n_frames") == 3  # noqa: B009
        assert image.size == (56, 56 + 40)
        assert image.info["duration"] == 100
        image.seek(2)
        assert image.info["duration"] == 300
    with pytest.raises(InvalidParameterError, match=r"\.gif"):
        save_animation(episode(), tmp_path / "episode.png")


def test_chords_join_the_pairs_that_are_not_told_apart():
    assert (num_chords(P_VALUES), num_tests(P_VALUES)) == (1, 2)
    none = np.where(P_VALUES > 0.05, 0.01, P_VALUES)
    figure = chord_figure({"it": P_VALUES, "other": none}, "abc")
    assert figure is not None
    (axes,) = figure.axes
    assert len(axes.patches) == 1
    assert axes.get_title() == "it: 1 of 2 pairs alike"
    assert figure.get_supxlabel() == "no pair alike, so no chord: other"
    assert chord_figure({"other": none}, "abc") is None


def test_every_class_has_a_color_of_its_own():
    figure = chord_figure({"it": np.full((10, 10), 0.5)}, "0123456789")
    assert figure is not None
    assert len({line.get_color() for line in figure.axes[0].lines}) == 10
    with pytest.raises(InvalidParameterError, match="at most 10 classes, got 11"):
        chord_figure({"it": np.full((11, 11), 0.5)}, "0123456789X")


def test_the_heat_map_says_how_many_pairs_are_alike():
    heat = heat_map_figure({"it": P_VALUES}, "abc").axes[0]
    assert "1 of 2" in heat.get_title()
    shown = heat.images[0].get_array()
    assert shown is not None and np.ma.count(shown) == 4


def test_a_region_counts_once():
    queries = np.array([[0, 0, 3, -1], [1, 2, 3, 0], [-1, -1, -1, -1]])
    assert num_distinct(queries, 4).tolist() == [2, 4, 0]
