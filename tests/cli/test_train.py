"""`icpe train`: from words to a file, with every way to stop in between."""

import json
import signal

import jax
import numpy as np
import pytest

from icpe import workflow
from icpe.artifact import Artifact
from icpe.cli import terminal
from icpe.cli.main import main
from icpe.cli.train import parse_duration
from icpe.cli.train_settings import read_settings
from icpe.core.errors import IcpeError, InvalidParameterError, UnknownNameError
from icpe.core.progress import AbstractProgress
from icpe.learn.config import TrainConfig

SMALL = (
    "--family.size 3 --train.num-iterations 4 --train.batch-size 8 "
    "--train.minibatch-size=8 --train.replay_size 32 --train.updates-per-iteration 1 "
    "--train.warmup-iterations 1 --train.width 4 --train.num-layers 1 "
    "--train.num-heads 1 --train.log-every 2 --preset cpu --calibration-episodes 8 "
    "--seed 5"
)
TRAIN = f"train binary-search {SMALL}"


@pytest.fixture(autouse=True)
def optax_dtypes():
    """Lets dtypes mix, as optax does."""
    with jax.numpy_dtype_promotion("standard"):
        yield


class Interrupting(AbstractProgress):
    """Presses Ctrl-C in the middle of some work."""

    def __init__(self, label):
        self.label = label

    def start(self, label, total):
        self.reached = label == self.label

    def advance(self, amount):
        if self.reached and amount:
            self.reached = False
            signal.raise_signal(signal.SIGINT)

    def finish(self):
        """Nothing to do."""


def weights(path):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(Artifact.load(path).nets)]


def assert_same_weights(one, other):
    for a, b in zip(weights(one), weights(other), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A file that was trained without a break."""
    path = tmp_path_factory.mktemp("trained") / "trained.safetensors"
    with jax.numpy_dtype_promotion("standard"), pytest.MonkeyPatch.context() as patch:
        compiled = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
        patch.setenv("JAX_COMPILATION_CACHE_DIR", compiled)
        assert main(f"{TRAIN} --out {path}".split()) == 0
    return path


@pytest.mark.slow
def test_a_training_ends_in_a_file(trained):
    artifact = Artifact.load(trained)
    assert artifact.family.spec.num_queries == 3
    assert (artifact.training["seed"], artifact.training["width"]) == (5, 4)
    assert artifact.provenance["iterations"] == 4
    assert artifact.table is not None
    assert (artifact.table.seed, artifact.table.rows[0].episodes) == (5, 8)
    metrics = trained.with_name("trained.safetensors.metrics.jsonl")
    assert set(trained.parent.iterdir()) == {trained, metrics}
    lines = metrics.read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [2, 4]


@pytest.mark.slow
def test_ctrl_c_says_how_to_resume_and_resuming_gives_the_same_bits(
    trained, icpe, tmp_path, monkeypatch
):
    path = tmp_path / "interrupted.safetensors"
    path.write_text("what was there before")
    words = f"{TRAIN} --out {path}"
    with monkeypatch.context() as patch:
        patch.setattr(terminal, "progress_meter", lambda: Interrupting("training"))
        called = icpe(f"{words} --overwrite")
    assert called.status == 130
    assert called.err.endswith(
        f"icpe: Interrupted after 2 of 4 iterations; the training is kept in "
        f"{path}.checkpoint, and {path} is written when it is complete. "
        f"To go on: icpe {words} --overwrite --resume\n"
    )
    assert path.read_text() == "what was there before"
    refused = icpe(f"{words} --overwrite")
    assert refused.status == 2
    assert "add --resume to continue it, or remove it to start again" in refused.err
    other = icpe(f"{words} --resume --train.learning-rate 0.1")
    assert other.status == 2
    assert "learning_rate is 0.0005 there and 0.1 here" in other.err
    resumed = icpe(f"{words} --resume")
    assert resumed.status == 0, resumed.err
    assert "explores binary-search(size=3)" in resumed.out
    assert "A budget of queries, at most 4:" in resumed.out
    assert_same_weights(path, trained)
    assert not path.with_name(path.name + ".checkpoint").exists()


@pytest.mark.slow
def test_ctrl_c_while_measuring_loses_no_training(icpe, tmp_path, monkeypatch):
    path = tmp_path / "measured.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(terminal, "progress_meter", lambda: Interrupting("calibrating"))
        called = icpe(f"{TRAIN} --out {path}")
    assert called.status == 130
    assert called.err.endswith(f"To go on: icpe {TRAIN} --out {path} --resume\n")
    assert not path.exists()
    assert icpe(f"{TRAIN} --out {path} --resume").status == 0
    assert Artifact.load(path).provenance["iterations"] == 4


@pytest.mark.slow
def test_the_time_limit_is_no_failure(icpe, tmp_path):
    path = tmp_path / "limited.safetensors"
    called = icpe(f"{TRAIN} --out {path} --time-limit 0.001s --light-checkpoint")
    assert called.status == 0
    assert "Time limit reached after 2 of 4 iterations" in called.err
    assert f"{path} is written when it is complete" in called.err
    assert called.err.endswith(" --light-checkpoint --resume\n")
    assert not path.exists()
    assert icpe(f"{TRAIN} --out {path} --resume").status == 0
    assert path.exists()


@pytest.mark.slow
def test_a_trained_explorer_can_be_tuned_further(trained, icpe, tmp_path):
    path, tuned = trained, tmp_path / "tuned.safetensors"
    words = TRAIN.replace("--train.width 4", "")
    called = icpe(f"{words} --out {tuned} --from {path}")
    assert called.status == 0, called.err
    artifact = Artifact.load(tuned)
    assert artifact.training["width"] == 4
    earlier = Artifact.load(path).provenance
    assert artifact.provenance["started_from"] == earlier
    changed = zip(weights(path), weights(tuned), strict=True)
    assert any(np.any(one != other) for one, other in changed)

    words += " --overwrite"
    misfit = icpe(f"{words} --out {tuned} --from {path} --train.width 8")
    assert misfit.status == 2
    assert "their width is 4, and 8 is asked for" in misfit.err
    other = icpe(f"{words} --out {tuned} --from {path} --family.size 4")
    assert other.status == 2
    assert "their num_queries is 3, and 4 is asked for" in other.err
    missing = icpe(f"{words} --out {tuned} --from {tmp_path / 'nothing'}")
    assert missing.status == 2
    assert "cannot be read" in missing.err


BAD_INPUT = {
    "no file": (TRAIN, "--out"),
    "a folder that does not exist": (
        f"{TRAIN} --out no/such/folder/x.safetensors",
        "--out no/such/folder/x.safetensors cannot be written: there is no folder",
    ),
    "a folder for a file": (f"{TRAIN} --out src", "src is a folder, not a file"),
    "this folder for a file": (f"{TRAIN} --out .", "--out . cannot be written: . is a"),
    "an unknown family": ("train chess --out x", "no family 'chess'"),
    "an unknown parameter": (f"{TRAIN} --out x --family.arms 3", "no parameter 'arms'"),
    "an unknown setting": (
        f"{TRAIN} --out x --train.learning-rat 1",
        "did you mean 'learning_rate'?",
    ),
    "the seed as a setting": (f"{TRAIN} --out x --train.seed 1", "no setting 'seed'"),
    "a word for a number": (
        f"{TRAIN} --out x --train.batch-size many",
        "--train.batch-size must be a whole number; got 'many'",
    ),
    "an impossible setting": (
        f"{TRAIN} --out x --train.trace-decay 2",
        "--train.trace-decay must be between 0.0 and 1.0; got 2",
    ),
    "an unknown preset": (f"{TRAIN} --out x --preset tpu", "--preset"),
    "a time that is none": (
        f"{TRAIN} --out x --time-limit soon",
        "--time-limit must be a time such as 90, 90s, 9m or 1h; got 'soon'",
    ),
    "nothing to resume": (
        f"{TRAIN} --out x --resume",
        "There is no checkpoint x.checkpoint to resume from",
    ),
    "no episodes": (
        f"{TRAIN} --out x --calibration-episodes 0",
        "--calibration-episodes must be at least 1; got 0",
    ),
    "settings of a training elsewhere": (
        "bounds binary-search --train.width 3",
        "--train.width has no meaning for icpe bounds",
    ),
}


@pytest.mark.parametrize("words, part", BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_sentence_before_any_training(
    icpe, words, part, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    called = icpe(words)
    assert called.status == 2
    assert called.err.startswith("icpe: ") and called.err.count("\n") == 1
    assert part in called.err
    assert {p.name for p in tmp_path.iterdir()} <= {"src", "cache"}


def test_a_file_that_is_there_is_replaced_only_when_told_so(icpe, tmp_path):
    path = tmp_path / "trained.safetensors"
    path.write_text("trained for hours")
    called = icpe(f"{TRAIN} --out {path}")
    assert called.status == 2
    assert called.err == (
        f"icpe: --out {path} exists; choose a new name, or add --overwrite to replace "
        "it.\n"
    )
    assert path.read_text() == "trained for hours"
    assert "There is no checkpoint" in icpe(f"{TRAIN} --out {path} --resume").err
    impossible = icpe(f"{TRAIN} --out {path} --overwrite --train.width 0")
    assert "width must be" in impossible.err


@pytest.mark.parametrize(
    "text, seconds",
    [("90", 90), ("90s", 90), ("1.5m", 90), ("9m", 540), ("1h", 3600), ("inf", np.inf)],
)
def test_times_have_units(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-5", "1d", "m", "1h30m", "nan"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(InvalidParameterError, match="--time-limit must be a time"):
        parse_duration(text)


def test_settings_are_read_by_their_types():
    words = {"learning_rate": "1e-3", "batch_size": "64", "bfloat16": "true"}
    assert read_settings(TrainConfig, words) == {
        "learning_rate": 1e-3,
        "batch_size": 64,
        "bfloat16": True,
    }
    with pytest.raises(UnknownNameError, match="it has num_iterations, batch_size"):
        read_settings(TrainConfig, {"speed": "1"})


@pytest.mark.slow
def test_binary_search_is_learned_to_its_optimum(icpe, tmp_path):
    path = tmp_path / "search.safetensors"
    called = icpe(f"train binary-search --family.size 8 --preset cpu --out {path}")
    assert called.status == 0, called.err
    found = icpe(f"evaluate {path} --error-prob 0.01 --episodes 20000 --json").json
    assert found["accuracy"] >= 0.999
    # The optimum is 2.125; the mean of 20,000 episodes is off by 0.005.
    assert found["mean_queries"] <= 2.15
    assert found["max_queries"] == 3


@pytest.mark.slow
def test_the_papers_learner_makes_a_file_for_one_request(icpe, tmp_path):
    out = tmp_path / "paper.safetensors"
    words = SMALL.replace("--train.warmup-iterations 1 ", "")
    called = icpe(
        f"train binary-search {words} --learner paper --train.error-prob 0.2 "
        f"--out {out}"
    )
    assert called.status == 0, called.err
    assert "it serves error_prob=0.2 alone" in " ".join(called.out.split())
    evaluated = icpe(f"evaluate {out} --error-prob 0.2 --episodes 8 --json")
    assert evaluated.json["episodes"] == 8
    refused = icpe(f"evaluate {out} --error-prob 0.1 --episodes 8")
    assert refused.status == 2
    assert "trained for error_prob=0.2 alone" in refused.err
    again = icpe(f"{TRAIN} --learner paper --from {out} --out {tmp_path / 'x'}")
    assert again.status == 2
    assert "--from cannot be combined with --learner paper" in again.err


def test_settings_of_one_learner_are_unknown_to_the_other(icpe, tmp_path):
    out = tmp_path / "out.safetensors"
    for learner, setting in (("paper", "trace-decay"), ("universal", "dual-rate")):
        called = icpe(
            f"train binary-search --learner {learner} --train.{setting} 0.5 "
            f"--preset cpu --out {out}"
        )
        assert called.status == 2
        assert "Training has no setting" in called.err


@pytest.fixture
def no_training(monkeypatch):
    """Tells what would be trained for, instead of training."""

    def train(family, config, *rest, **options):
        raise IcpeError(f"Trained for {config.objective}.")

    monkeypatch.setattr(workflow, "train", train)


@pytest.mark.parametrize(
    "words, request_",
    [
        ("gaussian-bandit", "error_prob=0.1"),
        ("gaussian-bandit --train.error-prob 0.2", "error_prob=0.2"),
        ("gaussian-bandit --train.budget 7", "budget=7"),
        ("binary-search", "error_prob=0.01"),
        ("deterministic-bandit --family.num-arms 4", "budget=4"),
        ("deterministic-bandit --train.error-prob 0.2", "error_prob=0.2"),
    ],
)
@pytest.mark.slow
def test_the_papers_learner_says_what_it_trains_for_before_it_begins(
    icpe, tmp_path, no_training, words, request_
):
    out = tmp_path / "paper.safetensors"
    called = icpe(f"train {words} --learner paper --preset cpu --out {out}")
    assert called.err.splitlines() == [
        f"icpe: Training for {request_} alone; --train.error-prob P or "
        "--train.budget N asks for another request.",
        f"icpe: Trained for {request_}.",
    ]


def test_two_requests_are_one_too_many_for_the_papers_learner(
    icpe, tmp_path, no_training
):
    called = icpe(
        "train gaussian-bandit --learner paper --train.error-prob 0.1 --train.budget 9 "
        f"--out {tmp_path / 'x'}"
    )
    assert called.status == 2
    assert "--train.error-prob cannot be combined with --train.budget" in called.err
