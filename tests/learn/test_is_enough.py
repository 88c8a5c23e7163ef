"""A training that is told when it is enough is complete, and says so."""

import equinox as eqx
import jax
import pytest

from icpe.artifact.certificate import hash_arrays
from icpe.evaluate.training_rule import TrainingRule
from icpe.learn.fit import fit
from icpe.testing.toy_tasks import TwoDoors
from icpe.workflow import train

pytestmark = pytest.mark.usefixtures("optax_dtypes")
FAMILY = TwoDoors(horizon=3)


def test_training_ends_when_it_is_enough_and_is_complete(whole_config):
    heard = []

    def is_enough(iteration, nets):
        heard.append((iteration, len(jax.tree.leaves(nets)) > 0))
        return iteration == 4

    result = fit(FAMILY, whole_config, is_enough=is_enough)
    assert heard == [(2, True), (4, True)]
    assert (result.iterations, result.stopped) == (4, None)


@pytest.mark.slow
def test_a_rule_that_sees_no_evidence_changes_nothing_and_is_recorded(
    whole_config, monkeypatch
):
    """An error below 0.01 % is out of reach of three epochs, whoever plays."""
    rule = TrainingRule(FAMILY, price=0.1, error_prob=1e-4, batch_size=8)
    monkeypatch.setattr("icpe.workflow.calibrate", lambda *_, **__: None)
    with_rule = train(FAMILY, whole_config, rule=rule)
    assert with_rule.stopped is None
    made = with_rule.artifact.provenance
    assert made["iterations"] == whole_config.num_iterations
    assert made["training_rule"]["epochs"] == 3
    assert made["training_rule"]["ended_at"] is None
    assert with_rule.artifact.certificates == ()
    without = fit(FAMILY, whole_config)
    weights = hash_arrays(eqx.filter(without.nets, eqx.is_array))
    assert with_rule.artifact.weights_hash == weights
