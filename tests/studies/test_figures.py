"""Figures of studies can be read: names do not collide, intervals are drawn."""

import itertools
import pathlib

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Annotation

from icpe.studies.catalog import make_study
from icpe.studies.digits.figures import NAMES, accuracy_figure
from icpe.studies.figures import LOOKS, Panel, Series, panels_figure

RESULTS = pathlib.Path(__file__).parents[2] / "docs" / "data" / "results"


def test_a_name_stands_beside_its_line_at_the_height_asked_for():
    falling = Series(LOOKS["ours"], [1.0, 2.0, 3.0], [0.4, 0.2, 0.1])
    point = Series(LOOKS["paper"], [3.0], [0.3], [0.25], [0.35], name_at=(0.3, "right"))
    beside = Series(falling.look, falling.x, falling.y, name_at=(0.3, "left"))
    figure = panels_figure([Panel([beside, point], "x", "y", log_y=True)])
    assert figure is not None
    texts = [text for text in figure.axes[0].texts if isinstance(text, Annotation)]
    names = {text.get_text(): text for text in texts}
    assert names["ours"].xy == pytest.approx((1.5, 0.3))
    assert names["ours"].get_horizontalalignment() == "right"
    assert names["paper"].xy == pytest.approx((3.0, 0.3))


def test_a_single_point_has_its_interval_as_a_bar():
    line = Series(LOOKS["ours"], [1.0, 2.0], [0.4, 0.2], [0.3, 0.1], [0.5, 0.3])
    point = Series(LOOKS["paper"], [3.0], [0.3], [0.25], [0.35])
    figure = panels_figure([Panel([line, point], "x", "y")])
    assert figure is not None
    _, bar = figure.axes[0].collections
    (path,) = bar.get_paths()
    assert path.vertices == pytest.approx(np.array([[3.0, 0.25], [3.0, 0.35]]))


def test_errors_down_to_a_half_per_cent_can_be_told_apart():
    study = make_study("any-error-probability")
    figure = study.figures(study.results(RESULTS))["any-error-probability"]
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for axes in figure.axes:
        assert axes.get_yscale() == "log"
        low, high = axes.get_ylim()
        assert low < 0.005 and high > 0.2
        boxes = [text.get_window_extent() for text in axes.texts]
        assert len(boxes) == 3
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_a_line_of_the_digits_has_the_color_of_the_network_that_answers():
    row = {"mean_regions": 1.5, "accuracy": 0.4, "accuracy_interval": (0.3, 0.5)}
    later = {"mean_regions": 3.0, "accuracy": 0.6, "accuracy_interval": (0.5, 0.7)}
    curves = {name: [later, row] for name in NAMES}
    figure = accuracy_figure(curves, 0.9)
    assert figure is not None
    *lines, limit = figure.axes[0].lines
    assert np.asarray(lines[0].get_xdata()).tolist() == [1.5, 3.0]
    assert np.asarray(limit.get_ydata()).tolist() == [0.9, 0.9]
    for name, line in zip(NAMES, lines, strict=True):
        answers = "ours" if name.startswith("ours") else "paper"
        assert line.get_color() == LOOKS[answers].color
    looks = {
        (one.get_color(), one.get_linestyle(), one.get_linewidth()) for one in lines
    }
    assert len(looks) == len(NAMES)
