"""Figures: what is drawn, and that files are written whole or not at all."""

import dataclasses
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from icpe.core.errors import InvalidParameterError, MissingExtraError, WriteError
from icpe.evaluate.plots import check_plot_path, comparison_figure, save_figure
from icpe.evaluate.report import Report, family_record
from icpe.families import BinarySearch


def report(explorer="uniform", **changes) -> Report:
    base = Report(
        explorer=explorer,
        family=family_record(BinarySearch()),
        episodes=100,
        seed=0,
        price=None,
        budget=None,
        error_prob=0.1,
        query_cap=None,
        certified=False,
        confidence=None,
        attempt=None,
        accuracy=0.9,
        accuracy_interval=(0.85, 0.95),
        mean_queries=1.5,
        mean_queries_interval=(1.4, 1.6),
        max_queries=3,
        mean_cost=1.5,
        query_quantiles={},
        survival=(1.0, 0.4, 0.1, 0.0),
        stop_reasons={"explorer": 100},
    )
    return dataclasses.replace(base, **changes)


def curves(*names):
    points = [(1.0, 0.7), (2.0, 0.8), (3.0, 0.99)]
    return {
        name: [report(name, mean_queries=x, accuracy=y) for x, y in points]
        for name in names
    }


def test_every_explorer_is_drawn_and_labeled_in_both_panels():
    names = ("uniform", "top-two")
    figure = comparison_figure([report(name) for name in names], curves(*names))
    assert len(figure.axes) == 2
    for axes in figure.axes:
        legend = axes.get_legend()
        assert legend is not None
        texts = legend.texts
        assert [text.get_text() for text in texts] == list(names)
        assert len({text.get_color() for text in texts}) == 2


def test_the_curve_is_drawn_in_the_order_of_the_queries():
    scrambled = {"uniform": list(reversed(curves("uniform")["uniform"]))}
    figure = comparison_figure([report()], scrambled)
    line = figure.axes[0].lines[0]
    np.testing.assert_array_equal(
        line.get_xydata(), [[1.0, 0.7], [2.0, 0.8], [3.0, 0.99]]
    )


def test_the_survival_function_starts_at_one_at_no_queries():
    figure = comparison_figure([report()], curves("uniform"))
    line = figure.axes[1].lines[0]
    np.testing.assert_array_equal(
        line.get_xydata(), [[0, 1.0], [1, 0.4], [2, 0.1], [3, 0.0]]
    )


def test_a_fixed_budget_has_no_survival_panel():
    figure = comparison_figure([report(budget=3, error_prob=None)], curves("uniform"))
    assert len(figure.axes) == 1


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_the_suffix_decides_the_format(tmp_path, suffix):
    path = tmp_path / f"figure{suffix}"
    save_figure(comparison_figure([report()], curves("uniform")), path)
    magic = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    assert path.read_bytes().startswith(magic[suffix])
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_equal_figures_give_equal_files(tmp_path):
    for name in ("a.svg", "b.svg"):
        figure = comparison_figure([report()], curves("uniform"))
        save_figure(figure, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_failure_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch):
    path = tmp_path / "figure.png"
    path.write_bytes(b"old")

    def fail(self, target, **_):
        target.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(WriteError, match="No space left"):
        save_figure(comparison_figure([report()], curves("uniform")), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_path_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    with pytest.raises(InvalidParameterError, match="there is no folder"):
        check_plot_path(tmp_path / "missing" / "figure.svg")
    with pytest.raises(InvalidParameterError, match="must end in"):
        check_plot_path(tmp_path / "figure.jpeg2000")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(InvalidParameterError, match="is a folder"):
        check_plot_path(tmp_path / "folder.svg")


def test_a_missing_matplotlib_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r'pip install "icpe\[plot\]"'):
        check_plot_path(tmp_path / "figure.svg")


def test_drawing_leaves_pyplot_alone(tmp_path):
    if "matplotlib.pyplot" in sys.modules:
        pytest.skip("another test has imported pyplot")
    save_figure(comparison_figure([report()], curves("uniform")), tmp_path / "f.png")
    assert "matplotlib.pyplot" not in sys.modules
