"""A cluster of several nodes whose workers die: every cell is recorded, once."""

import dataclasses
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from icpe.core.engine import spread_over
from icpe.core.errors import InvalidParameterError
from icpe.evaluate import evaluate
from icpe.explorers import make_explorer
from icpe.families import BinarySearch
from icpe.studies.jobs import sharing_models
from icpe.studies.measures import Baseline, Evaluation, Trained
from icpe.studies.models import Model
from icpe.studies.runner import run_study
from icpe.studies.study import AbstractMeasure, Cell, Study

pytestmark = [
    pytest.mark.services,
    # The cluster starts other programs, which jax takes for forks that go on.
    pytest.mark.filterwarnings("ignore:os.fork\\(\\) was called:RuntimeWarning"),
]


@dataclasses.dataclass(frozen=True)
class Slow(AbstractMeasure):
    """Leaves a mark with the number of its process, takes a moment, gives a number."""

    number: int
    marks: str

    def run(self, bench, seed):
        mark = Path(self.marks) / f"{self.number}-{os.getpid()}-{time.time_ns()}"
        mark.touch()
        time.sleep(0.02)
        if self.number % 100 == 99:
            raise InvalidParameterError("number must not end in 99.")
        return {"number": self.number}


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray", reason="the extra cluster is not installed")
    utils = pytest.importorskip("ray.cluster_utils")
    started = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(2):
        started.add_node(num_cpus=1)
    ray.init(address=started.address, log_to_driver=False, logging_level="error")
    from icpe.integrations.cluster import RayEngine

    yield RayEngine(started.address)
    ray.shutdown()
    started.shutdown()


def dummies(number, marks):
    cells = (Cell(f"n={i}", "it", Slow(i, str(marks)), i) for i in range(number))
    return Study("dummies", "Dummies", "Nothing.", tuple(cells), lambda results: [])


def test_every_cell_is_recorded_once_though_workers_are_killed(cluster, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    over, killed = threading.Event(), []

    def kill_now_and_then():
        chooses = random.Random(0)
        while not over.wait(0.7) and len(killed) < 15:
            alive = sorted(marks.iterdir())[-20:]
            if alive:
                process = int(chooses.choice(alive).name.split("-")[1])
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(process)

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    said = []
    try:
        study = dummies(500, marks)
        outcome = run_study(study, tmp_path, engine=cluster, say=said.append)
    finally:
        over.set()
        killer.join()
    assert len(killed) >= 3, "too quick to be killed"
    assert len(outcome.done) == len(set(outcome.done)) == 495
    assert [name for name, _ in outcome.failed] == [
        f"n={i}/it/seed={i}" for i in (99, 199, 299, 399, 499)
    ] or len(outcome.failed) == 5
    written = list((tmp_path / "dummies").iterdir())
    assert len(written) == 495
    results = study.results(tmp_path)
    assert all(results.first(f"n={i}", "it") == {"number": i} for i in range(99))
    again = run_study(study, tmp_path, engine=cluster)
    assert len(again.skipped) == 495 and len(again.failed) == 5


def test_episodes_played_on_a_cluster_are_the_same_to_the_bit(cluster):
    family = BinarySearch(size=8)
    explorer = make_explorer("uniform", family)
    asked = {"error_prob": 0.1, "episodes": 40_000, "seed": 2}
    (here,) = evaluate({"it": explorer}, family, **asked)
    with spread_over(cluster):
        (there,) = evaluate({"it": explorer}, family, **asked)
    assert here == there


def test_more_than_the_cluster_has_is_refused(cluster):
    from icpe.integrations.cluster import RayEngine

    with pytest.raises(InvalidParameterError, match="wants 64 CPU"):
        RayEngine(cpus=64)


def test_cells_that_share_a_model_are_run_together():
    family = BinarySearch(size=8)
    trained = [
        Evaluation(family, Trained(Model(family, seed=seed)), (0.1,)) for seed in (0, 1)
    ]
    free = Evaluation(family, Baseline("uniform"), (0.1,))
    cells = [
        Cell("a", "ours", trained[0], 0),
        Cell("a", "uniform", free),
        Cell("b", "ours", trained[1], 1),
        Cell("c", "ours", trained[0], 0),
    ]
    groups = [[cell.row for cell in group] for group in sharing_models(cells)]
    assert sorted(groups) == [["a"], ["a", "c"], ["b"]]
