"""What a family says about its problems is what it draws."""

import jax
import jax.random as jr
import pytest

from icpe import zoo
from icpe.cli.registry_cards import in_words
from icpe.families import make


@pytest.mark.parametrize(
    "name, parameters, words",
    [
        (
            "gaussian-bandit",
            {"num_arms": 4},
            "4 arms with means between 0 and 1.6; the best leads by at least 0.4; a "
            "reward has standard deviation 0.5",
        ),
        (
            "gaussian-bandit",
            {"num_arms": 5, "max_mean": 3.0, "vary_arms": True},
            "2 to 5 arms with means between 0 and 3; the best leads by at least 0.4; a "
            "reward has standard deviation 0.5",
        ),
        ("noisy-binary-search", {"noise": 0.2}, "wrong with probability 0.2"),
        ("bernoulli-bandit", {"batch_size": 20}, "shows one to 20 visitors"),
        ("magic-chain", {"noise": 0.1}, "rewards with standard deviation 0.1"),
    ],
)
def test_the_numbers_are_those_of_the_parameters(name, parameters, words):
    assert words in make(name, **parameters).in_words()


def test_means_lie_where_the_words_say():
    family = make("gaussian-bandit", num_arms=4)
    means = jax.vmap(lambda key: family.sample_task(key=key))(jr.split(jr.key(0), 500))
    assert means.min() >= 0 and 1.4 < means.max() <= 1.6
    best = jax.lax.top_k(means, 2)[0]
    assert (best[:, 0] - best[:, 1] >= 0.4 - 1e-6).all()


def test_every_card_of_the_zoo_but_that_of_images_has_words():
    records = {name: zoo.card(name).family for name in zoo.names()}
    silent = {
        name
        for name, record in records.items()
        if not in_words(record["name"], record["parameters"])
    }
    assert silent == {"digits"}
