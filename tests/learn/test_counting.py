"""How many answers are counted."""

import pytest

from icpe.families import BinarySearch
from icpe.learn import counting
from icpe.learn.fitting import few_answers


class OnHost(BinarySearch):
    @property
    def on_host(self):
        return True


class Enough(Exception):
    pass


@pytest.mark.parametrize(
    ("family", "answers"),
    # 32 tasks for each of 64 hypotheses, or four times 2,048 answers.
    [(BinarySearch(size=64), 32 * 64 * 64), (OnHost(size=64), 4 * 2048)],
)
def test_simulators_in_python_are_not_called_too_often(monkeypatch, family, answers):
    counted = []

    def count(static, chunk, *rest):
        counted.append(chunk * int(rest[-1]) * family.spec.num_queries)
        raise Enough

    few, _ = few_answers(family, seed=0)
    monkeypatch.setattr(counting, "_count", count)
    with pytest.raises(Enough):
        counting.count_by_hypothesis(family, few, 2048, seed=0)
    assert answers <= counted[0] < 1.2 * answers
