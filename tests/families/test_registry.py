import json

import pytest

from icpe.cli import catalog
from icpe.core.errors import InvalidParameterError, UnknownNameError
from icpe.core.family import parameters
from icpe.families import BinarySearch, GaussianBandit, make, register
from icpe.families.registry import (
    describe,
    describe_record,
    family_name,
    family_names,
    get_factory,
    parameter_fields,
)
from support.toy_tasks import TwoDoors


def test_make_builds_a_family_with_its_parameters():
    assert make("gaussian-bandit", num_arms=4) == GaussianBandit(num_arms=4)


@pytest.mark.parametrize("name", family_names())
def test_every_registered_family_is_rebuilt_from_name_and_parameters(name):
    family = make(name)
    assert family_name(family) == name
    assert make(name, **parameters(family)) == family


@pytest.mark.parametrize("name", family_names())
def test_every_parameter_of_a_registered_family_has_a_help_text(name):
    for field in parameter_fields(name).values():
        assert field.metadata["help"]


def test_an_unknown_name_is_refused_with_the_closest_one():
    with pytest.raises(UnknownNameError) as caught:
        make("gausian-bandit")
    assert str(caught.value).endswith("did you mean 'gaussian-bandit'?")


def test_a_name_like_no_other_is_refused_without_a_guess():
    with pytest.raises(UnknownNameError) as caught:
        get_factory("zzz")
    assert "did you mean" not in str(caught.value)
    assert "binary-search" in str(caught.value)


def test_an_unknown_parameter_is_refused_with_the_closest_one():
    with pytest.raises(UnknownNameError) as caught:
        make("gaussian-bandit", num_arm=4)
    assert "has no parameter 'num_arm'" in str(caught.value)
    assert "did you mean 'num_arms'?" in str(caught.value)


def test_an_impossible_value_is_refused_by_the_family():
    with pytest.raises(InvalidParameterError, match="num_arms must be at least 2"):
        make("gaussian-bandit", num_arms=1)


def test_a_name_can_be_taken_only_by_one_family():
    register("binary-search", BinarySearch)
    with pytest.raises(InvalidParameterError, match="already registered"):
        register("binary-search", TwoDoors)
    assert get_factory("binary-search") is BinarySearch


def test_a_family_without_a_name_goes_by_its_class():
    assert family_name(TwoDoors()) == "TwoDoors"
    assert describe(TwoDoors()) == "TwoDoors(reliability=1.0, horizon=4)"


def test_a_description_lists_parameters_and_leaves_out_rare_ones():
    described = describe(BinarySearch(size=16))
    assert described == "binary-search(size=16)"
    assert "vary_arms" not in describe(GaussianBandit())
    assert "vary_arms=True, most_arms=4" in describe(
        GaussianBandit(vary_arms=True, most_arms=4)
    )


def test_a_record_is_described_like_its_family():
    family = make("feedback-graph", num_arms=4)
    record = json.loads(json.dumps(parameters(family)))
    assert describe_record("feedback-graph", record) == describe(family)
    assert "matrix" not in describe(family) and "num_arms=4" in describe(family)
    assert describe_record("no-such-family", {"a": 1}) == "no-such-family(a=1)"


def test_limits_by_name_are_shown_as_a_mapping():
    """Lists where files record them, tuples where families have them."""
    shown = "item-bank(content_limits={algebra: 6, sums: 2})"
    for pair in (tuple, list):
        limits = [pair(("algebra", 6)), pair(("sums", 2))]
        assert describe_record("item-bank", {"content_limits": limits}) == shown
        assert catalog.describe_record("item-bank", {"content_limits": limits}) == shown
