"""What people type wrong in their first hour, and what they are told."""

import pytest

TOLD = {
    "tasks bandit": "did you mean 'bernoulli-bandit', 'deterministic-bandit', "
    "'gaussian-bandit', 'shifted-gaussian-bandit' or 'two-pull-bandit'?",
    "zoo gaussian": "did you mean 'gaussian-bandit-10', 'gaussian-bandit-4' or "
    "'gaussian-bandits'?",
    "study run bandits": "did you mean 'stochastic-bandits'",
    "show .": "'.' is a folder; name the file of an explorer.",
    "show track-and-stop": "'track-and-stop' is a baseline and has no file",
    "show gaussian-bandit": "'gaussian-bandit' is a family, not an explorer; the zoo "
    "has gaussian-bandit-10, gaussian-bandit-4, gaussian-bandits for it",
    "play gaussian-bandit --budget 3": "'gaussian-bandit' is a family",
    "play binary-search-8 --error-prob 10": "--error-prob must lie strictly between 0 "
    "and 1; got 10.0. For 10 % write 0.1.",
    "play binary-search-8 --error-prob 10%": "got '10%'; write 0.1;",
    "play binary-search-8 --error-prob 0,1": "got '0,1'; write 0.1;",
    "bounds gaussian-bandit --means 1,2,3": "got '1,2,3'; write 1 2 3;",
    "play binary-search-8 --delta 0.1": "did you mean --error-prob?",
    "play binary-search-8 -e 0.1": "There is no option -e;",
    "play binary-search-8 --budget 9": "--budget must be between 1 and the family's "
    "horizon 6; got 9.",
    "play binary-search-8 --price 2": "--price must lie in the trained range",
    "train gaussian-bandit --out x --num-arms 4": "did you mean --family.num-arms?",
    "train --items x.csv --cuts 0 --out x --max-items 20": (
        "There is no option --max-items; did you mean --family.max-items?"
    ),
    "train --network x.bif --target y --out x --horizon 3": (
        "did you mean --family.horizon?"
    ),
    "train gaussian-bandit --out x --iterations 4": "mean --train.num-iterations?",
    "train gaussian-bandit --out x --lr 4": "did you mean --train.learning-rate?",
    "evaluate lucb --out x --budget 3": "There is no option --out; see icpe evaluate",
    "train cases.csv --out x": "icpe train-table cases.csv --target COLUMN",
    "train net.bif --out x": "--network net.bif --target VARIABLE",
    "train mine.safetensors --out x": "icpe train --from mine.safetensors",
    "certify binary-search-8 --confidence 95 --error-prob 0.1": "--confidence must",
    "certify binary-search-8": "exactly one of --error-prob and --budget",
    "sessions trial.db": "for a file write sqlite:///trial.db.",
    "serve --storage trial.db": "--storage must be sqlite:///FILE",
    "token list --storage sqlite:///none.db": "there is no file none.db.",
    "token create ann": "--name ann says whose it is.",
    "export binary-search-8 --to onnx x.html": "name a file that ends in .onnx.",
    "bench --width 0": "--width must be at least 1; got 0.",
    "--verbose": "There is no option --verbose before a command",
}


@pytest.mark.parametrize("words", TOLD)
def test_a_mistake_is_answered_by_what_to_do(icpe, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    called = icpe(words)
    assert called.status == 2 and not called.out
    assert TOLD[words] in called.err
    assert called.err.count("\n") == 1 and not list(tmp_path.iterdir())


def test_a_setting_that_can_never_be_is_refused_before_the_family_is_studied(
    icpe, monkeypatch
):
    def studied(*_):
        raise AssertionError("the survey takes long")

    monkeypatch.setattr("icpe.learn.recipe.preset", studied)
    for words, told in {
        "--train.learning-rate -1": "--train.learning-rate must be a positive",
        "--train.decay-fraction 2": "--train.decay-fraction must be between 0.0 and",
        "--learner paper --train.dropout 1": "--train.dropout must be at least 0",
    }.items():
        called = icpe(f"train binary-search --out x.safetensors {words}")
        assert called.status == 2 and told in called.err


def test_help_and_version_are_words_too(icpe):
    assert icpe("help").out == icpe("--help").out
    assert icpe("version").out == icpe("--version").out == icpe("-V").out
    assert icpe("help zoo").out == icpe("zoo --help").out
