"""The figure of an episode shows its queries, outcomes, belief and truth."""

import numpy as np
import pytest

from icpe.evaluate.episode_figure import episode_figure
from icpe.evaluate.frames import Frame
from icpe.families import BinarySearch

SPEC = BinarySearch(size=4).spec
BELIEFS = np.array([[0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.52, 0.48]])


@pytest.fixture(scope="module")
def figure():
    frames = [
        Frame(query, np.array([outcome]), belief)
        for query, outcome, belief in zip((1, 2), (1.0, 0.0), BELIEFS, strict=True)
    ]
    return episode_figure(SPEC, frames, truth=2, title="an episode")


def test_queries_stand_above_with_their_outcomes_in_words(figure):
    above, _ = figure.axes
    (line,) = above.lines
    assert line.get_xydata().tolist() == [[1, 1], [2, 2]]
    words = {word for word, value in SPEC.outcome_labels if value in ((1.0,), (0.0,))}
    assert {text.get_text() for text in above.texts} == words


def test_beliefs_are_lines_with_names_and_the_truth_is_heavy(figure):
    _, below = figure.axes
    names = [text.get_text() for text in below.texts]
    assert f"{SPEC.hypothesis_name(2)} (truth)" in names
    heavy = max(below.lines, key=lambda line: line.get_linewidth())
    assert heavy.get_ydata().tolist() == [0.5, 0.52]
    assert len(below.lines) == 2  # the others were never likely


def test_names_of_lines_that_end_together_do_not_touch(figure):
    heights = sorted(text.xyann[1] for text in figure.axes[1].texts)
    assert np.diff(heights).min() >= 0.09 - 1e-9
