import dataclasses
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.core.family import parameter, parameters, plain_reset, plain_step
from icpe.families import BinarySearch, TaskSpec


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"num_queries": 0}, "TaskSpec.num_queries must be at least 1; got 0"),
        ({"num_hypotheses": 1}, "TaskSpec.num_hypotheses must be at least 2; got 1"),
        ({"outcome_size": 0}, "TaskSpec.outcome_size must be at least 1; got 0"),
        ({"horizon": 0}, "TaskSpec.horizon must be at least 1; got 0"),
        ({"outcome_shift": (0.0,)}, "outcome_shift must be empty or have 2 entries"),
        ({"outcome_size": 3, "outcome_flags": True}, "outcome_size must be even"),
        ({"queries_alike": True}, "num_hypotheses must equal num_queries"),
        (
            {"outcome_flags": True, "outcome_scale": (1.0, 2.0)},
            "outcome_shift must be 0 and the outcome_scale of flags 1",
        ),
        ({"outcome_scale": (1.0,) * 3}, "outcome_scale must be empty or have 2"),
        ({"outcome_names": ("a",)}, "outcome_names must be empty or have 2 entries"),
        ({"costs": (1.0,)}, "costs must be empty or have 3 entries; got 1"),
        ({"query_names": ("a",)}, "query_names must be empty or have 3 entries"),
        ({"hypothesis_names": ("a",)}, "hypothesis_names must be empty or have 4"),
        ({"outcome_scale": (1.0, 0.0)}, "outcome_scale must be positive"),
        ({"outcome_scale": (1.0, float("nan"))}, "outcome_scale must be positive"),
        ({"costs": (1.0, -1.0, 1.0)}, "costs must be positive"),
    ],
)
def test_an_inconsistent_spec_is_refused(change, sentence):
    sound = TaskSpec(num_queries=3, num_hypotheses=4, outcome_size=2, horizon=5)
    with pytest.raises(InvalidParameterError) as caught:
        dataclasses.replace(sound, **change)
    assert sentence in str(caught.value)


def test_names_default_to_numbers():
    plain = TaskSpec(2, 2, 1, 1)
    named = TaskSpec(2, 2, 1, 1, query_names=("a", "b"), hypothesis_names=("x", "y"))
    assert (plain.query_name(1), plain.hypothesis_name(0)) == ("1", "0")
    assert (named.query_name(1), named.hypothesis_name(0)) == ("b", "x")


def test_costs_default_to_one_each():
    assert TaskSpec(3, 2, 1, 1).cost_array.tolist() == [1.0, 1.0, 1.0]
    spec = TaskSpec(2, 2, 1, 1, costs=(0.5, 2.0))
    assert spec.cost_array.tolist() == [0.5, 2.0]


def test_outcomes_are_shifted_and_scaled_entry_by_entry_in_any_batch():
    spec = TaskSpec(2, 2, 2, 1, outcome_shift=(1.0, 2.0), outcome_scale=(2.0, 4.0))
    one = jnp.asarray([3.0, -2.0])
    np.testing.assert_allclose(spec.normalize(one), [1.0, -1.0])
    batch = jnp.broadcast_to(one, (3, 5, 2))
    np.testing.assert_allclose(
        spec.normalize(batch), np.broadcast_to([1.0, -1.0], (3, 5, 2))
    )


def test_outcomes_are_left_alone_without_shift_and_scale():
    one = jnp.asarray([3.0, -2.0])
    assert TaskSpec(2, 2, 2, 1).normalize(one).tolist() == [3.0, -2.0]


def test_a_plain_family_has_no_state_no_mask_and_no_end():
    spec = TaskSpec(3, 2, 2, 1)
    result = plain_step(spec, jnp.asarray([1.0, 2.0]))
    assert result.state is None
    assert result.query_mask.tolist() == [True] * 3
    assert not result.terminated
    assert plain_reset(spec).outcome.tolist() == [0.0, 0.0]


def test_parameters_are_the_fields_by_name():
    assert parameters(BinarySearch(size=5)) == {"size": 5, "horizon": 0}


NO_TUPLES = """
import icpe, jax
import jax.numpy as jnp
for make in (
    lambda: icpe.TaskSpec(4, 4, 1, 4, outcome_scale=2.0),
    jax.jit(lambda: icpe.TaskSpec(4, 4, 1, 4, costs=jnp.arange(1.0, 5.0)) and 0),
):
    try:
        make()
    except icpe.IcpeError as error:
        print(error)
"""


def test_what_stands_where_a_tuple_should_is_named():
    """In a process of its own, where types are not checked before."""
    done = subprocess.run(
        [sys.executable, "-c", NO_TUPLES], capture_output=True, text=True, check=True
    )
    number, array = done.stdout.splitlines()
    assert number == "TaskSpec.outcome_scale must be a tuple, such as (2.0,); got 2.0."
    assert array.startswith("TaskSpec.costs must be a tuple, not an array of jax.numpy")


class Ranged(BinarySearch):
    share: float = parameter(0.5, "a share", at_least=0, at_most=1)
    width: float = parameter(1.0, "a width", positive=True)
    kind: str = parameter("a", "a kind", one_of=("a", "b"))


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"size": 1}, "size must be at least 2; got 1"),
        ({"share": 1.5}, "share must be between 0 and 1; got 1.5"),
        ({"share": float("nan")}, "share must be between 0 and 1; got nan"),
        ({"width": 0.0}, "width must be a positive finite number; got 0.0"),
        ({"kind": "c"}, "kind must be one of 'a', 'b'; got 'c'"),
    ],
)
def test_a_parameter_outside_its_range_is_refused(bad, sentence):
    with pytest.raises(InvalidParameterError, match=sentence):
        Ranged(**bad)
