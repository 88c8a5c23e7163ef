"""A training that is told when it is enough is complete, and says so."""

import jax
import pytest

from icpe.learn.fit import fit
from support.toy_tasks import TwoDoors

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
