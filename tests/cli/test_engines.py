"""Which engine a command gets, and what is refused."""

import sys

import pytest

from icpe.cli.engines import make_engine, spread
from icpe.core.engine import chosen_engine
from icpe.core.errors import InvalidParameterError, MissingExtraError


def test_local_work_is_done_by_this_process():
    assert make_engine("local") is None
    with spread("local", None):
        assert chosen_engine() is None


def test_an_address_without_a_cluster_is_refused():
    with pytest.raises(InvalidParameterError, match="--address auto is for --engine"):
        make_engine("local", "auto")


@pytest.mark.parametrize(("cpus", "gpus"), [(0, 0), (-1, 0), (1, -0.5)])
def test_work_that_holds_nothing_is_refused(cpus, gpus):
    with pytest.raises(InvalidParameterError, match="must not be negative, nor both 0"):
        make_engine("ray", cpus=cpus, gpus=gpus)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r'pip install "icpe\[cluster\]"'):
        make_engine("ray")
