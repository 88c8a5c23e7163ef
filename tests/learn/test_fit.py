"""The training loop: it stops, resumes to the same bits, and survives being killed."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading

import equinox as eqx
import jax
import numpy as np
import pytest

from icpe.artifact.sealed import read_document
from icpe.core.errors import InvalidParameterError, TrainingDivergedError
from icpe.core.progress import AbstractProgress
from icpe.learn.fit import FitOptions, Verdict, fit
from icpe.learn.learner import UniversalLearner
from support.toy_tasks import TwoDoors

pytestmark = pytest.mark.usefixtures("optax_dtypes")
FAMILY = TwoDoors(horizon=3)


class Heard(AbstractProgress):
    """Counts; and presses Ctrl-C, once or more, when a count is reached."""

    def __init__(self, interrupt_at=None, presses=1):
        self.done, self.notes, self.finished = 0, [], False
        self.interrupt_at, self.presses = interrupt_at, presses

    def start(self, label, total):
        self.label, self.total = label, total

    def advance(self, amount):
        self.done += amount
        if self.done == self.interrupt_at:
            for _ in range(self.presses):
                signal.raise_signal(signal.SIGINT)

    def note(self, text):
        self.notes.append(text)

    def finish(self):
        self.finished = True


def weights(result):
    arrays = eqx.filter(result.nets, eqx.is_array)
    return [np.asarray(leaf) for leaf in jax.tree.leaves(arrays)]


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def assert_same_bits(result, other):
    for one, two in zip(weights(result), weights(other), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.fixture(scope="module")
def uninterrupted(whole_config):
    with jax.numpy_dtype_promotion("standard"):
        return fit(FAMILY, whole_config)


def run_script(script, *words, **environment):
    """Runs Python beside the tests, with their compiler flags and compiled programs."""
    cache = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    given = {
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        capture_output=True,
        text=True,
        env=os.environ | given | environment,
        timeout=300,
        check=False,
    )


def test_all_iterations_are_done_and_told(uninterrupted, whole_config, tmp_path):
    progress, metrics = Heard(), tmp_path / "metrics.jsonl"
    result = fit(FAMILY, whole_config, FitOptions(metrics=metrics), progress=progress)
    assert (result.iterations, result.stopped) == (6, None)
    assert result.seconds > 0
    assert (progress.total, progress.done, progress.finished) == (6, 6, True)
    assert len(progress.notes) == 3 and progress.notes[0].startswith("loss ")
    lines = read_lines(metrics)
    assert [line["iteration"] for line in lines] == [2, 4, 6]
    assert {"inference_loss", "query_loss", "accuracy", "seconds"} <= set(lines[0])
    assert_same_bits(result, uninterrupted)


def test_why_a_training_grows_is_said_beside_its_progress(whole_config):
    def judge(at, nets):
        if at.done == 2:
            return Verdict("judged", finish=8, why="longer: still improving")
        return None

    progress = Heard()
    assert fit(FAMILY, whole_config, judge=judge, progress=progress).iterations == 8
    assert progress.notes[0] == "judged (longer: still improving)"
    assert progress.notes[-1].startswith("loss ")
    assert progress.notes[-1].endswith(" (longer: still improving)")


def test_ctrl_c_leaves_a_checkpoint_that_resumes_to_the_same_bits(
    uninterrupted, whole_config, tmp_path
):
    handler = signal.getsignal(signal.SIGINT)
    options = FitOptions(
        checkpoint=tmp_path / "checkpoint", metrics=tmp_path / "metrics.jsonl"
    )
    stopped = fit(FAMILY, whole_config, options, progress=Heard(interrupt_at=2))
    assert (stopped.iterations, stopped.stopped) == (2, "interrupted")
    assert signal.getsignal(signal.SIGINT) is handler
    kept = read_document(tmp_path / "checkpoint")
    assert (kept["iteration"], kept["light"]) == (2, False)
    # Lines that were written after the checkpoint are written again, not twice.
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"iteration": 4}\n{"itera')
    resumed = fit(FAMILY, whole_config, dataclasses.replace(options, resume=True))
    assert (resumed.iterations, resumed.stopped) == (6, None)
    assert resumed.seconds > kept["seconds"] > 0
    assert_same_bits(resumed, uninterrupted)
    lines = read_lines(tmp_path / "metrics.jsonl")
    assert [line["iteration"] for line in lines] == [2, 4, 6]
    assert all("accuracy" in line for line in lines)


@pytest.mark.slow
def test_all_chunks_are_one_program(tiny, monkeypatch):
    traces = []
    step = UniversalLearner.step

    def counting(self, state):
        traces.append(1)
        return step(self, state)

    monkeypatch.setattr(UniversalLearner, "step", counting)
    # The seed makes it a training of its own, though not another program.
    fit(FAMILY, tiny(seed=1))
    assert len(traces) == 1


def test_networks_to_start_from_can_still_be_used(uninterrupted, whole_config):
    before = weights(uninterrupted)
    tuned = fit(FAMILY, whole_config, start_from=uninterrupted.nets)
    for one, other in zip(before, weights(uninterrupted), strict=True):
        np.testing.assert_array_equal(one, other)
    changed = zip(before, weights(tuned), strict=True)
    assert any(np.any(one != other) for one, other in changed)


def test_the_end_is_kept_so_that_resuming_a_whole_training_is_done_at_once(
    uninterrupted, whole_config, tmp_path
):
    options = FitOptions(checkpoint=tmp_path / "checkpoint")
    fit(FAMILY, whole_config, options)
    progress = Heard()
    again = fit(
        FAMILY,
        whole_config,
        dataclasses.replace(options, resume=True),
        progress=progress,
    )
    assert (again.iterations, progress.notes) == (6, [])
    assert_same_bits(again, uninterrupted)


def test_a_second_ctrl_c_gives_up(whole_config):
    progress = Heard(interrupt_at=2, presses=2)
    with pytest.raises(KeyboardInterrupt):
        fit(FAMILY, whole_config, progress=progress)
    assert progress.finished


def test_the_time_limit_stops_after_the_chunk_in_flight(whole_config, tmp_path):
    options = FitOptions(checkpoint=tmp_path / "checkpoint", time_limit=1e-3)
    result = fit(FAMILY, whole_config, options)
    assert (result.iterations, result.stopped) == (2, "time limit")
    document = read_document(tmp_path / "checkpoint")
    assert document["iteration"] == 2
    assert document["seconds"] == pytest.approx(result.seconds, abs=5.0)


DIES_WHILE_SAVING = """
import json, os, signal, sys
from pathlib import Path
from icpe.artifact import trees
from icpe.learn.config import TrainConfig
from icpe.learn.fit import FitOptions, fit
from support.brief_surveys import make_brief
from support.toy_tasks import TwoDoors

make_brief()
save, saved = trees.save, []

def save_and_die(*args, **kwargs):
    content = save(*args, **kwargs)
    saved.append(1)
    if len(saved) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return content

trees.save = save_and_die
config = TrainConfig(**json.loads(sys.argv[1]))
options = FitOptions(checkpoint=Path(sys.argv[2]), checkpoint_seconds=0.0)
fit(TwoDoors(horizon=3), config, options)
"""


@pytest.mark.slow
def test_a_training_killed_while_it_saves_resumes_to_the_same_bits(
    uninterrupted, whole_config, tmp_path
):
    path = tmp_path / "checkpoint"
    words = json.dumps(dataclasses.asdict(whole_config)), path
    killed = run_script(DIES_WHILE_SAVING, *words)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert list(tmp_path.glob("*.tmp")), "it was not killed while saving"
    assert read_document(path)["iteration"] == 2
    resumed = fit(FAMILY, whole_config, FitOptions(checkpoint=path, resume=True))
    assert resumed.iterations == 6
    assert_same_bits(resumed, uninterrupted)


ON_TWO_DEVICES = """
import dataclasses, json, sys
import equinox as eqx, jax, numpy as np
from icpe.core.errors import InvalidParameterError
from icpe.learn.config import TrainConfig
from icpe.learn.fit import device_mesh, fit
from support.brief_surveys import make_brief
from support.toy_tasks import TwoDoors

make_brief()
assert len(jax.devices()) == 2
config = TrainConfig(**json.loads(sys.argv[1]))
result = fit(TwoDoors(horizon=3), config)
np.savez(sys.argv[2], *jax.tree.leaves(eqx.filter(result.nets, eqx.is_array)))
try:
    device_mesh(dataclasses.replace(config, minibatch_size=7))
except InvalidParameterError as error:
    print(error)
"""


@pytest.mark.slow
def test_two_devices_learn_what_one_learns(uninterrupted, whole_config, tmp_path):
    path = tmp_path / "weights.npz"
    config = json.dumps(dataclasses.asdict(whole_config))
    flags = os.environ["XLA_FLAGS"] + " --xla_force_host_platform_device_count=2"
    done = run_script(ON_TWO_DEVICES, config, path, XLA_FLAGS=flags)
    assert done.returncode == 0, done.stderr
    assert "minibatch_size must be a multiple of the number of devices 2" in done.stdout
    with np.load(path) as file:
        for one, name in zip(weights(uninterrupted), file.files, strict=True):
            # The same sums in another order.
            np.testing.assert_allclose(file[name], one, atol=1e-5)


@pytest.mark.slow
def test_a_loss_that_is_not_finite_ends_training_and_keeps_the_last_good_state(
    tiny, tmp_path
):
    path = tmp_path / "checkpoint"
    options = FitOptions(checkpoint=path, checkpoint_seconds=0.0)
    # The first step has size 0, the second throws the weights out of range.
    config = tiny(learning_rate=1e30, log_every=1)
    with pytest.raises(TrainingDivergedError, match="became nan") as caught:
        fit(FAMILY, config, options)
    assert "smaller learning_rate" in str(caught.value)
    assert f"the last good state is in {path}" in str(caught.value)
    kept = read_document(path)["iteration"]
    assert 1 <= kept < 6
    assert f"before iteration {kept + 1}" in str(caught.value)


def test_resuming_needs_a_checkpoint(whole_config):
    with pytest.raises(InvalidParameterError, match="resume needs a checkpoint"):
        fit(FAMILY, whole_config, FitOptions(resume=True))


@pytest.mark.slow
def test_outside_the_main_thread_ctrl_c_is_left_alone(whole_config):
    found = []

    def train():
        with jax.numpy_dtype_promotion("standard"):
            found.append(fit(FAMILY, whole_config).iterations)

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert found == [6]
