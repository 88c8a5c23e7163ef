import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError

from icpe.core.history import History
from icpe.core.memory import Growing, StepCount


def test_only_queries_before_the_length_were_made():
    history = History(jnp.zeros(4, int), jnp.zeros((5, 2)), jnp.asarray(3))
    assert history.made.tolist() == [True, True, True, False]


def test_each_record_of_a_batch_has_its_own_length():
    lengths = jnp.asarray([0, 2, 4])
    history = History(jnp.zeros((3, 4), int), jnp.zeros((3, 5, 1)), lengths)
    assert np.sum(history.made, axis=1).tolist() == [0, 2, 4]
    assert history.made[1].tolist() == [True, True, False, False]


def test_there_is_one_outcome_more_than_queries():
    with pytest.raises(TypeCheckError):
        History(jnp.zeros(4, int), jnp.zeros((4, 2)), jnp.asarray(3))


def test_a_step_count_goes_up_by_one_and_keeps_its_bound():
    count = StepCount(jnp.asarray(3), 7).next()
    assert int(count.value) == 4
    assert count.bound == 7


def test_growing_memory_has_a_length_that_its_unit_divides():
    grown = Growing(jnp.ones((3, 2)), axis=0, unit=8).resized(9)
    assert grown.value.shape == (16, 2)
    assert grown.value.sum() == 6
    assert grown.resized(8).value.shape == (8, 2)


def test_growing_memory_keeps_what_fits_and_is_filled_up_by_zeros():
    memory = Growing({"keys": jnp.arange(6.0).reshape(3, 2)}, axis=-2)
    longer, shorter = memory.resized(4), memory.resized(2)
    assert longer.value["keys"].tolist() == [[0, 1], [2, 3], [4, 5], [0, 0]]
    assert shorter.value["keys"].tolist() == [[0, 1], [2, 3]]
    assert memory.resized(3).value["keys"].tolist() == memory.value["keys"].tolist()
