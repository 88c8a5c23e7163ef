"""What training gains over a rule, in words."""

import pytest

from icpe.artifact.rule_gain import RuleGain

RULE = "the rule top-two, which needs no training"
TIMES = "one decision takes 3.3 ms, the rule's 0.24 ms."


def gain(mean_cost, rule_mean_cost, saving=None, interval=None):
    costs = (mean_cost, rule_mean_cost)
    return RuleGain(
        "top-two", 0.8, 600, 0, "queries", *costs, saving, interval, 3.3, 0.24, "cpu"
    )


@pytest.mark.parametrize(
    ("own", "of_rule", "words"),
    [
        (2.5, None, f"It reaches accuracy 0.8 with 2.50 queries; {RULE}, does not "),
        (None, 4.0, f"It does not reach accuracy 0.8; {RULE}, reaches it with 4.00 "),
        (None, None, f"Neither it nor {RULE}, reaches accuracy 0.8; "),
    ],
)
def test_who_does_not_reach_the_accuracy_is_said(own, of_rule, words):
    sentence = gain(own, of_rule).sentence
    assert sentence.startswith(words) and sentence.endswith(TIMES)


def test_what_is_saved_is_said_with_its_interval():
    sentence = gain(3.0, 4.0, 0.25, (0.2, 0.3)).sentence
    assert "training saves 25.0 % (20.0 to 30.0)" in sentence
    small = gain(3.1e-6, 4.2e-6, 0.25, (0.2, 0.3)).sentence
    assert "needs 3.1e-06 " in small and "needs 4.2e-06:" in small
