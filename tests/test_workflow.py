"""Training and calibration in one call, and the files of a training."""

import signal
from pathlib import Path

import jax
import pytest

from icpe.artifact import Artifact
from icpe.artifact.sealed import read_document
from icpe.core.progress import NoProgress
from icpe.learn.config import TrainConfig
from icpe.learn.fit import FitOptions, TrainingInterrupted
from icpe.workflow import checkpoint_path, metrics_path, train
from support.toy_tasks import TwoDoors

FAMILY = TwoDoors(horizon=3)
CONFIG = TrainConfig(
    num_iterations=6,
    batch_size=8,
    minibatch_size=8,
    updates_per_iteration=1,
    replay_size=32,
    warmup_iterations=1,
    width=4,
    num_layers=1,
    num_heads=1,
    log_every=2,
)


@pytest.fixture(autouse=True)
def optax_dtypes():
    """Lets dtypes mix, as optax does in Adam's correction of its start."""
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.mark.slow
def test_a_whole_training_is_calibrated_and_says_where_it_comes_from(tmp_path):
    artifact, stopped = train(FAMILY, CONFIG, calibration_episodes=8)
    assert stopped is None
    assert artifact.table is not None
    assert artifact.table.rows[0].episodes == 8
    assert artifact.training["num_iterations"] == 6
    assert artifact.provenance["iterations"] == 6
    assert artifact.provenance["seconds"] > 0
    path = tmp_path / "file.safetensors"
    artifact.save(path)
    assert Artifact.load(path, FAMILY).table == artifact.table

    tuned = train(FAMILY, CONFIG, start_from=artifact, calibration_episodes=8).artifact
    assert tuned.provenance["started_from"] == artifact.provenance


def test_a_training_that_ended_early_is_not_calibrated():
    trained = train(FAMILY, CONFIG, FitOptions(time_limit=1e-3))
    assert trained.stopped == "time limit"
    assert trained.artifact.table is None
    assert trained.artifact.provenance["iterations"] == 2


class PressingCtrlC(NoProgress):
    """Presses it once, when there is something to keep."""

    def __init__(self):
        self.presses = 1

    def advance(self, amount):
        if amount and self.presses:
            self.presses = 0
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_raises_once_the_checkpoint_is_written(tmp_path, capsys):
    path = tmp_path / "mine.checkpoint"
    options = FitOptions(checkpoint=path)
    with pytest.raises(KeyboardInterrupt) as caught:
        train(FAMILY, CONFIG, options, progress=PressingCtrlC())
    assert isinstance(caught.value, TrainingInterrupted)
    assert f"FitOptions(checkpoint={str(path)!r}, resume=True)" in str(caught.value)
    assert "Stopping after the iterations in flight" in capsys.readouterr().err
    assert read_document(path)["iteration"] == caught.value.iterations == 2


@pytest.mark.slow
def test_ctrl_c_says_where_no_checkpoint_was_kept():
    with pytest.raises(KeyboardInterrupt, match="no checkpoint was asked for"):
        train(FAMILY, CONFIG, progress=PressingCtrlC())


def test_checkpoint_and_metrics_lie_beside_the_file():
    assert checkpoint_path(Path("a/b.x")) == Path("a/b.x.checkpoint")
    assert metrics_path(Path("a/b.x")) == Path("a/b.x.metrics.jsonl")
