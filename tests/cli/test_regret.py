import pytest

from support.toy_artifacts import guesser

SMALL = "--family deterministic-bandit --family.num-arms 3 --horizon 8 --episodes 16"


@pytest.mark.slow
def test_regret_is_printed_and_drawn(icpe, tmp_path):
    figure = tmp_path / "regret.svg"
    called = icpe(f"regret ucb {SMALL} --json --plot {figure}")
    assert called.status == 0, called.err
    assert called.json["horizon"] == 8 and len(called.json["curve"]) == 8
    assert called.json["regret"] > 0
    assert figure.read_text().count("<svg") == 1
    assert "best arm" in icpe(f"regret ucb {SMALL}").out


@pytest.mark.slow
def test_a_trained_explorer_commits_first(icpe, tmp_path):
    path = tmp_path / "explorer.safetensors"
    guesser(size=2).save(path)
    called = icpe(f"regret {path}")
    assert called.status == 2
    assert f"write explore-then-commit:{path}" in called.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (f"uniform {SMALL} --horizon 0", "horizon must be at least 1"),
        ("uniform --family binary-search --horizon 9 --episodes 2", "choose a bandit"),
        (
            "explore-then-commit:top-two,error_prob=2 --family gaussian-bandit",
            "error_prob must lie strictly between 0 and 1",
        ),
    ],
)
def test_bad_input_is_one_sentence(icpe, words, sentence):
    called = icpe(f"regret {words}")
    assert called.status == 2
    assert sentence in called.err
