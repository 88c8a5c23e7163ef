"""Certificates as records: seals, JSON, and which of them serves a request."""

import dataclasses
import json

import jax.numpy as jnp
import pytest

from icpe.artifact.certificate import Certificate, Group, PriceTest, covering
from icpe.artifact.document import certified_error_probs
from icpe.artifact.trees import hash_arrays
from icpe.core.errors import ArtifactError
from support.certificates import unearned_certificate as example


def served(records, error_prob, **wanted):
    kept = [record.to_dict() for record in records]
    return covering(kept, error_prob, weights="w", table="t", **wanted)


def test_a_certificate_survives_json_with_its_seal():
    read = Certificate.from_dict(json.loads(json.dumps(example().to_dict())))
    assert read == example()
    assert read.is_intact


def changed(value):
    """Another value of the same kind."""
    match value:
        case None:
            return 1
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "!"
    return type(value)()


@pytest.mark.parametrize(
    "field", [field.name for field in dataclasses.fields(Certificate)]
)
def test_a_change_of_any_field_breaks_the_seal(field):
    planned = {"planned_error_prob": 0.1, "planned_confidence": 0.95}
    promised = {
        "promise": "every-hypothesis",
        "groups": ((0,), (1,)),
        "bound_counts": ((480, 500), (465, 500)),
        "shown": ("0", "1"),
        "by_answer": (Group("0", 515, 480, 3.0),),
        "cases": "images",
    }
    values = example(
        test="betting", level=0.01, document="d", **planned, **promised
    ).to_dict()
    edited = Certificate.from_dict({**values, field: changed(values[field])})
    assert not edited.is_intact


def test_a_changed_count_deep_inside_breaks_the_seal():
    values = example().to_dict()
    values["ladder"][1]["successes"] += 1
    assert not Certificate.from_dict(values).is_intact


def test_a_record_from_before_betting_keeps_its_keys_and_its_seal():
    values = example().to_dict()
    assert not {"test", "level", "planned_error_prob"} & set(values)
    assert set(values["ladder"][0]) == {"price", "successes", "passed"}
    betting = example(test="betting", ladder=(PriceTest(0.02, 0, False, 0),))
    assert betting.to_dict()["ladder"][0]["episodes"] == 0
    assert Certificate.from_dict(betting.to_dict()) == betting


@pytest.mark.parametrize("missing", ["price", "ladder"])
def test_a_missing_field_is_named(missing):
    values = example().to_dict()
    del values[missing]
    with pytest.raises(ArtifactError, match=rf"{missing}.*make it again"):
        Certificate.from_dict(values)


def test_a_certificate_serves_its_error_probability_and_larger_ones_only():
    assert served([example()], 0.1) == example()
    assert served([example()], 0.5) == example()
    assert served([example()], 0.09) is None
    assert served([], 0.1) is None


def test_the_largest_error_probability_that_serves_is_taken():
    loose, strict = example(price=0.02), example(error_prob=0.05, price=0.01)
    assert served([loose, strict], 0.2) == loose
    assert served([loose, strict], 0.07) == strict


def test_of_equals_the_surest_is_taken_then_that_of_the_table_then_the_first_attempt():
    first, again = example(), example(attempt=2, price=0.03)
    sure = example(attempt=3, confidence=0.99, price=0.04)
    stale = example(table="before")
    assert served([first, again], 0.1) == first
    assert served([again, first], 0.1) == first
    assert served([stale, again], 0.1) == again
    assert served([first, again, sure], 0.1) == sure
    on = example(ladder=(PriceTest(0.03, 1900, True, 2000),), price=0.03)
    assert served([first, on, again], 0.1) == on


def test_a_certificate_of_less_confidence_than_asked_for_does_not_serve():
    weak, strict = example(error_prob=0.3, confidence=0.05), example(error_prob=0.05)
    assert served([strict, weak], 0.3) == strict
    assert served([weak], 0.3) is None
    assert served([weak, strict], 0.3, confidence=0.05) == weak
    assert served([weak, strict], 0.3, confidence=0.99) is None


@pytest.mark.parametrize(
    "useless",
    [
        example(certified=False),
        example(certified=None, error_prob=None, budget=5),
        example(weights="others"),
        dataclasses.replace(example(), price=0.05),
    ],
)
def test_failures_budgets_other_networks_and_broken_seals_do_not_serve(useless):
    assert served([useless], 0.5) is None


def test_the_hash_of_arrays_sees_bits_names_types_and_shapes():
    tree = {"a": jnp.arange(4.0), "b": jnp.ones(2)}
    changed = [
        {"a": jnp.arange(4.0).at[0].set(1e-30), "b": jnp.ones(2)},
        {"c": jnp.arange(4.0), "b": jnp.ones(2)},
        {"a": jnp.arange(4.0).reshape(2, 2), "b": jnp.ones(2)},
        {"a": jnp.arange(4), "b": jnp.ones(2)},
    ]
    assert hash_arrays(tree) == hash_arrays({"b": tree["b"], "a": tree["a"]})
    assert len({hash_arrays(other) for other in [tree, *changed]}) == 5


def test_lists_name_only_certificates_that_serve():
    document = {
        "weights": "w",
        "operating_table": None,
        "certificates": [
            it.to_dict()
            for it in (
                example(error_prob=0.1),
                example(error_prob=0.05, certified=False),
                example(error_prob=0.04, confidence=0.9),
                example(error_prob=0.03, promise="belief"),
                example(error_prob=0.02, weights="others"),
                example(error_prob=None, budget=3, certified=None),
            )
        ],
    }
    assert certified_error_probs(document) == [0.1]
