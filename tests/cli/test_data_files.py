"""Options about data of the user's own."""

import inspect

import pytest

from icpe.cli import own_data
from icpe.cli.data_files import SETTINGS, content_limits
from icpe.cli.options import Source
from icpe.families.item_bank import ItemBank

BANK = "item,b,Content\none,0,algebra\ntwo,1,algebra\nthree,0.5,plane geometry\n"


@pytest.fixture
def bank(tmp_path):
    path = tmp_path / "bank.csv"
    path.write_text(BANK)
    return path


def test_settings_are_keywords_of_what_reads_the_data():
    builders = {
        "likelihoods": own_data.from_likelihoods,
        "network": own_data.from_network,
        "items": own_data.from_item_bank,
    }
    assert set(builders) == set(SETTINGS)
    for kind, build in builders.items():
        assert set(SETTINGS[kind]) <= set(inspect.signature(build).parameters)


def test_limits_and_bands_reach_the_bank(bank):
    source = Source(
        items=bank,
        cuts=(0.0,),
        bands=("fail", "pass"),
        content_limits=("algebra=1", "plane geometry=2"),
    )
    family = own_data.family_from(source, {"max_items": "2", "mean": "0.5"})
    assert isinstance(family, ItemBank)
    assert family.spec.hypothesis_names == ("fail", "pass")
    assert content_limits(source) == {"algebra": 1, "plane geometry": 2}
    assert dict(family.content_limits) == content_limits(source)
    assert family.spec.horizon == 2
    assert family.mean == 0.5


@pytest.mark.parametrize(
    "words, complaint",
    [
        ("--content-limits algebr=1", "did you mean 'algebra'? Their contents are"),
        ("--content-limits algebra", "must be words such as algebra=6"),
        ("--content-limits algebra=-1", "must be words such as algebra=6"),
        ("--content-limits algebra=1 algebra=2", "names 'algebra' twice"),
        ("--bands fail", "--bands must be 2 names, one more than there are cuts"),
        ("--bands pass pass", "must have different names"),
        ("--family.max-item 2", "did you mean 'max_items'?"),
        ("--family.max-items two", "--family.max-items must be a whole number"),
    ],
)
def test_what_does_not_fit_the_bank_is_refused(icpe, bank, words, complaint):
    called = icpe(f"evaluate sprt --items {bank} --cuts 0 {words} --budget 2")
    assert called.status == 2
    assert complaint in called.err


def test_limits_need_contents_and_a_bank(icpe, tmp_path):
    path = tmp_path / "bank.csv"
    path.write_text("item,b\none,0\ntwo,1\n")
    called = icpe(f"bounds --items {path} --cuts 0 --content-limits algebra=1")
    assert (called.status, "no column 'content'" in called.err) == (2, True)
    called = icpe("bounds --content-limits algebra=1")
    assert "--content-limits goes with --items FILE" in called.err
