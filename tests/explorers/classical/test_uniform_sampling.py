import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.request import OperatingPoint
from icpe.explorers import make_explorer
from icpe.explorers.classical.uniform_sampling import UniformSampling
from icpe.families import GaussianBandit
from icpe.families.bandit.arms import GaussianArms
from icpe.testing import check_explorer

FAMILY = GaussianBandit(num_arms=3, horizon=8)


def test_it_keeps_the_contract_of_explorers_of_arms():
    """The one of them that is checked among the fast tests."""
    explorer = make_explorer("uniform-sampling", FAMILY)
    check_explorer(explorer, FAMILY, [OperatingPoint.at(8, error_prob=0.4)])


def test_every_query_is_equally_likely():
    rule = UniformSampling(3)
    seen = GaussianArms(3, 0.5).nothing(jnp.float32)
    draw = jax.vmap(lambda key: rule.preferences(None, seen, key=key))
    chosen = np.argmax(draw(jr.split(jr.key(0), 300)), axis=1)
    # A rate of 1/3 in 300 draws is off by 0.14 with probability below 1e-6.
    rates = np.bincount(chosen, minlength=3) / 300
    np.testing.assert_allclose(rates, 1 / 3, atol=0.14)
