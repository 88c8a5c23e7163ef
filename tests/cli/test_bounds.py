"""`icpe bounds` and `icpe ids`."""

SMALL = "--family.num-arms 2 --family.max-mean 2.4"


def test_bounds_of_every_task_are_set_apart(icpe):
    called = icpe(f"bounds gaussian-bandit {SMALL} --error-prob 0.1")
    assert called.status == 0
    limits, others = called.out.split("For methods that are correct on every task")
    assert "mean queries" in limits and "correct on every task" not in limits
    assert "may need fewer" in " ".join(others.split())
    assert "correct on every task mean queries" in others


def test_a_seed_changes_what_is_averaged_over_tasks(icpe):
    name = "characteristic_time_mean"
    one, same, other = (
        icpe(f"bounds gaussian-bandit {SMALL} --json --seed {seed}").json[name]
        for seed in (0, 0, 1)
    )
    assert one == same != other


def test_infinite_means_are_null_and_said_to_be_infinite(icpe):
    words = f"bounds gaussian-bandit {SMALL} --family.min-gap 0"
    assert icpe(f"{words} --json").json["characteristic_time_mean"] is None
    shown = icpe(words).out
    assert "infinite" in shown and "standard error" not in shown


def test_the_optimum_of_the_chain_is_printed(icpe):
    called = icpe("bounds magic-chain --family.num-magic 4 --error-prob 0.01 --json")
    assert round(called.json["bayes_mean_queries"], 2) == 3.71
    assert "characteristic_time_mean" not in called.json


def test_ids_shows_that_arm_zero_is_not_pulled_first(icpe):
    rows = icpe("ids --fewest-arms 7 --most-arms 8 --json").json
    assert [(row["example"], row["num_arms"]) for row in rows] == [
        ("two-pull-bandit", 7),
        ("two-pull-bandit", 8),
        ("two-link-chain", 7),
        ("two-link-chain", 8),
    ]
    for row in rows:
        assert row["starts_with_arm_zero"] is False
        assert row["gain_arm_zero"] < row["gain_other_arm"]
        assert row["least_mean_queries"] > row["optimum"] == 2
        assert row["simulated"] is None
    shown = icpe("ids --fewest-arms 7 --most-arms 7").out
    assert shown.count("another") >= 2 and "≥ 32.63" in shown


def test_ids_refuses_impossible_numbers_of_arms(icpe):
    for words, part in (
        ("ids --fewest-arms 3", "--fewest-arms must be between 4 and 12; got 3"),
        ("ids --most-arms 3", "--most-arms must be at least 4; got 3"),
        ("ids --episodes -1", "--episodes must be at least 0; got -1"),
        ("ids --error-prob 1", "error_prob must lie strictly between 0 and 1"),
    ):
        called = icpe(words)
        assert called.status == 2
        assert part in called.err
