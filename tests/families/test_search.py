import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.families import BinarySearch, NoisyBinarySearch
from icpe.testing import check_family


def test_binary_search_conforms():
    check_family(BinarySearch(size=5))


def test_every_guess_is_answered_with_the_direction_of_the_number():
    family = BinarySearch(size=5)
    numbers, guesses = np.meshgrid(np.arange(5), np.arange(5), indexing="ij")
    outcomes = jax.vmap(
        lambda number, guess: family.step(None, guess, number, key=jr.key(0)).outcome
    )(jnp.asarray(numbers.ravel()), jnp.asarray(guesses.ravel()))
    np.testing.assert_array_equal(
        outcomes[:, 0].reshape(5, 5), np.sign(numbers - guesses)
    )
    assert int(family.hypothesis(jnp.asarray(3))) == 3


def test_the_number_is_uniform():
    family = BinarySearch(size=5)
    keys = jr.split(jr.key(0), 4000)
    numbers = jax.vmap(lambda key: family.sample_task(key=key))(keys)
    counts = np.bincount(numbers, minlength=5)
    assert counts.size == 5
    # False alarm with probability 1e-6.
    assert scipy.stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize(("size", "horizon"), [(2, 2), (5, 6), (8, 6), (9, 8)])
def test_the_default_horizon_is_twice_the_bits_of_the_size(size, horizon):
    assert BinarySearch(size=size).spec.horizon == horizon
    assert BinarySearch(size=size, horizon=3).spec.horizon == 3


def test_words_for_people_match_the_outcomes():
    labels = dict(BinarySearch().spec.outcome_labels)
    assert labels == {"lower": (-1.0,), "hit": (0.0,), "higher": (1.0,)}


@pytest.mark.parametrize("bad", [{"size": 1}, {"horizon": -1}])
def test_an_impossible_parameter_is_refused(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        BinarySearch(**bad)


@pytest.mark.slow
def test_noisy_binary_search_conforms():
    check_family(NoisyBinarySearch(size=5))


@pytest.mark.parametrize(("guess", "right"), [(1, 1), (2, 0), (4, -1)])
def test_a_wrong_answer_is_either_of_the_others(guess, right, draw_outcomes):
    family = NoisyBinarySearch(size=5, noise=0.3)
    answers = draw_outcomes(family, jnp.asarray(2), guess, 3000)[:, 0].astype(int)
    counts = np.bincount(answers + 1, minlength=3)
    expected = np.where(np.arange(-1, 2) == right, 0.7, 0.15) * 3000
    # False alarm with probability 1e-6.
    assert scipy.stats.chisquare(counts, expected).pvalue > 1e-6


def test_without_noise_the_answers_are_those_of_binary_search():
    family = NoisyBinarySearch(size=5, noise=0.0)
    for guess in range(5):
        result = family.step(None, jnp.asarray(guess), jnp.asarray(2), key=jr.key(0))
        assert result.outcome.tolist() == [np.sign(2 - guess)]
    assert family.spec == BinarySearch(size=5, horizon=30).spec


@pytest.mark.parametrize(
    "bad", [{"size": 1}, {"noise": 0.67}, {"noise": -0.1}, {"horizon": -1}]
)
def test_an_impossible_parameter_of_the_noisy_search_is_refused(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        NoisyBinarySearch(**bad)
