"""`icpe bounds` and `icpe ids`."""

import math

SMALL = "--family.num-arms 2 --family.max-mean 2.4"


def test_bounds_of_every_task_are_set_apart(icpe):
    called = icpe(f"bounds gaussian-bandit {SMALL} --error-prob 0.1")
    assert called.status == 0
    limits, others = called.out.split("For methods that must keep the error")
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


def test_one_bandit_of_given_means_has_its_own_limits(icpe):
    words = "bounds gaussian-bandit --means 1 0.85 0.8 0.7"
    record = icpe(f"{words} --json").json
    assert record["family"]["parameters"]["num_arms"] == 4
    assert record["means"] == [1, 0.85, 0.8, 0.7]
    assert record["error_prob"] == 0.1 and record["best"] == 0
    time = record["characteristic_time"]
    assert round(time, 3) == 112.467
    queries = record["correct_on_every_task_mean_queries"]
    assert abs(queries / time - 0.8 * math.log(9)) < 1e-9
    assert abs(sum(record["optimal_proportions"]) - 1) < 1e-9
    shown = icpe(f"{words} --error-prob 0.05").out
    assert "112.467" in shown and "(error probability 0.05)" in shown
    noisier = icpe(f"{words} --family.noise 1 --json").json["characteristic_time"]
    assert abs(noisier - 4 * time) < 1e-6 * noisier


def test_means_that_do_not_fit_are_answered_with_one_sentence(icpe):
    for words, part in (
        ("gaussian-bandit --means 1", "--means must be at least two numbers"),
        ("gaussian-bandit --means 1 1 0.2", "arms 0 and 1 both have 1"),
        ("gaussian-bandit --family.num-arms 3 --means 1 0.4", "must be 3 numbers"),
        ("bernoulli-bandit --means 1.2 0.4", "strictly between 0 and 1; got 1.2"),
        ("binary-search --means 1 0.4", "has no arms"),
        ("gaussian-bandit --means 1 0.5 0 --price 1", "--price 1.0 has no meaning"),
    ):
        called = icpe(f"bounds {words}")
        assert called.status == 2
        assert part in called.err and called.err.count("\n") == 1


def test_a_small_noisy_search_has_its_optimum_at_a_price_and_an_error_probability(icpe):
    words = "bounds noisy-binary-search --family.size 4"
    at = icpe(f"{words} --price 0.02 --json").json
    assert at["price"] == 0.02 and at["error_prob"] is None
    error_prob = 1 - at["bayes_accuracy"]
    same = icpe(f"{words} --error-prob {error_prob} --json").json
    # The optimum at a price lies on the frontier of the other problem.
    assert abs(same["bayes_mean_queries"] - at["bayes_mean_queries"]) < 1e-5
    assert same["fano_mean_queries"] < same["bayes_mean_queries"]
    assert "bayes mean queries" in icpe(f"{words} --error-prob 0.05").out


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
